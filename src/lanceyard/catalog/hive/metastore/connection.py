"""One connection: calls, one at a time, and what their failures mean."""

from __future__ import annotations

import time
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TException
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from lanceyard.catalog.hive.metastore.failures import refusal
from lanceyard.catalog.hive.metastore.generated.ThriftHiveMetastore import Client
from lanceyard.catalog.hive.metastore.settings import Address, MetastoreSettings
from lanceyard.catalog.hive.metastore.transport import SocketTransport

LONGEST_REST = 60.0
"""Seconds after which a connection is not used again: what lies between may have forgotten it."""
BROKEN = (OSError, EOFError, UnicodeDecodeError, TTransportException, TProtocolException)


class BrokenConnectionError(Exception):
    """Raised when no answer came, or none that can be read; what was asked may be done or not."""


class Connection:
    """A connection to one server, as one user."""

    def __init__(self, address: Address, settings: MetastoreSettings) -> None:
        """Connect, and say who asks. Raises what `BROKEN` names, or `MetastoreError`."""
        self.address = address
        self._timeout = settings.read_timeout
        self._used = time.monotonic()
        self._socket = SocketTransport(address, settings.connect_timeout, settings.tls)
        try:
            self._client = Client(self._protocol(settings))
            if settings.user is not None:
                self.call("set_ugi", settings.user.name, list(settings.user.groups))
        except BaseException:
            self.close()
            raise

    def _protocol(self, settings: MetastoreSettings) -> Any:
        transport: Any = self._socket
        if settings.kerberos is not None:
            from lanceyard.catalog.hive.metastore.kerberos import KerberosTransport

            transport = KerberosTransport(self._socket, settings.kerberos, self.address.host)
        return TBinaryProtocolAccelerated(TBufferedTransport(transport), fallback=True)

    def call(self, method: str, *arguments: Any) -> Any:
        """What the server answers.

        Raises
        ------
        MetastoreError
            It says no.
        BrokenConnectionError
            It says nothing that can be read. The connection is of no more use.
        """
        self._socket.deadline = time.monotonic() + self._timeout
        try:
            return getattr(self._client, method)(*arguments)
        except BROKEN as failure:
            self.close()
            raise BrokenConnectionError(f"{self.address}: {_reason(failure)}") from failure
        except TException as answer:
            raise refusal(answer) from answer
        except BaseException:
            self.close()
            raise
        finally:
            self._used = time.monotonic()

    def is_open(self) -> bool:
        """Whether it has not broken."""
        return self._socket.isOpen()

    def is_usable(self) -> bool:
        """Whether it is open, as far as can be told without a call."""
        rested = time.monotonic() - self._used
        return self.is_open() and rested < LONGEST_REST and self._socket.is_quiet()

    def close(self) -> None:
        """Close it; for a copy in a forked process, that closes the copy alone."""
        self._socket.close()


def _reason(failure: BaseException) -> str:
    return str(failure) or type(failure).__name__
