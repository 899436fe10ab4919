"""The transport: bytes to and from one server, by TLS if that is wanted, until a deadline."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
import time

from thrift.transport.TTransport import TTransportBase

from lanceyard.catalog.hive.metastore.settings import Address, Tls
from lanceyard.errors import InvalidInputError

LARGEST_READ = 1 << 20
"""What is asked for at once: lengths that a server sends are not believed."""


class SocketTransport(TTransportBase):  # type: ignore[misc]  # the runtime has no types
    """A socket whose calls end at a deadline, which whoever makes a call sets."""

    def __init__(self, address: Address, timeout: float, tls: Tls | None) -> None:
        """Connect. Raises `OSError`, and `InvalidInputError` for certificates that are none."""
        self.deadline = time.monotonic() + timeout
        context = None if tls is None else _context(tls)
        opened = socket.create_connection((address.host, address.port), timeout)
        try:
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            if context is not None:
                opened = context.wrap_socket(opened, server_hostname=address.host)
            self._socket = opened
        except BaseException:
            opened.close()
            raise

    def isOpen(self) -> bool:  # noqa: N802 - the runtime's name
        return self._socket.fileno() != -1

    def is_quiet(self) -> bool:
        """Whether nothing came without being asked for: the end of a connection, for example."""
        waiting = select.poll()
        waiting.register(self._socket, select.POLLIN)
        return not waiting.poll(0)

    def read(self, size: int) -> bytes:
        self._socket.settimeout(self._remaining())
        found = self._socket.recv(min(size, LARGEST_READ))
        if not found:
            raise ConnectionResetError("the server closed the connection")
        return found

    def write(self, data: bytes) -> None:
        self._socket.settimeout(self._remaining())
        self._socket.sendall(data)

    def flush(self) -> None:
        """Do nothing: `write` has sent it."""

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def _remaining(self) -> float:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left


def _context(tls: Tls) -> ssl.SSLContext:
    """Files are read anew for every connection: certificates are renewed."""
    try:
        context = ssl.create_default_context(cafile=tls.ca_cert)
        if tls.cert_file is not None:
            context.load_cert_chain(tls.cert_file, tls.key_file)
    except OSError as failure:
        files = ", ".join(filter(None, (tls.ca_cert, tls.cert_file, tls.key_file)))
        raise InvalidInputError(
            f"properties 'tls.*': no certificates can be read from {files} ({failure})"
        ) from failure
    context.check_hostname = tls.assert_hostname
    return context
