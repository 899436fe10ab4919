"""Kerberos: the SASL mechanism GSSAPI (RFC 4752), as Thrift frames it."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator
from typing import Any

from thrift.transport.TTransport import TTransportBase

from lanceyard.catalog.hive.metastore.settings import Principal
from lanceyard.catalog.hive.metastore.transport import SocketTransport
from lanceyard.errors import InvalidInputError, UnauthenticatedError

MECHANISM = b"GSSAPI"
START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5
PLAIN, SIGNED, SEALED = 1, 2, 4
"""The layers of protection that a server may offer, and a client chooses from."""


class KerberosTransport(TTransportBase):  # type: ignore[misc]  # the runtime has no types
    """A transport on which both sides have proved who they are.

    The weakest layer of protection that the server offers is taken: it knows what it asks for.
    """

    def __init__(self, below: SocketTransport, server: Principal, host: str) -> None:
        """Shake hands with the server, by the ticket that this user has.

        Raises
        ------
        UnauthenticatedError
            There is no ticket, or the server does not accept it.
        InvalidInputError
            The package ``gssapi`` is not installed.
        """
        self._below = below
        self._read = b""
        self._written: list[bytes] = []
        self._context, self._layer = self._shake_hands(_context(server, host))

    def _shake_hands(self, context: Any) -> tuple[Any, int]:
        import gssapi

        try:
            self._tell(START, MECHANISM)
            self._tell(OK, context.step() or b"")
            status, said = self._hear()
            while not context.complete:
                self._tell(OK, context.step(said) or b"")
                status, said = self._hear()
            offer = context.unwrap(said).message
            layer = next(each for each in (PLAIN, SIGNED, SEALED) if offer[0] & each)
            self._tell(OK, context.wrap(bytes([layer]) + offer[1:4], False).message)
            status, _ = self._hear()
        except gssapi.exceptions.GSSError as failure:
            raise UnauthenticatedError(
                f"Kerberos does not let this user speak to the metastore ({failure}): see `klist`, "
                "and get a ticket by `kinit`"
            ) from failure
        if status != COMPLETE:
            raise ConnectionError("the server does not end the handshake of Kerberos")
        return context, layer

    def isOpen(self) -> bool:  # noqa: N802 - the runtime's name
        return self._below.isOpen()

    def close(self) -> None:
        self._below.close()

    def read(self, size: int) -> bytes:
        if not self._read:
            (length,) = struct.unpack(">I", self._below.readAll(4))
            self._read = self._unprotected(self._below.readAll(length))
        found, self._read = self._read[:size], self._read[size:]
        return found

    def write(self, data: bytes) -> None:
        self._written.append(data)

    def flush(self) -> None:
        data, self._written = b"".join(self._written), []
        data = self._protected(data)
        self._below.write(struct.pack(">I", len(data)) + data)

    def _protected(self, data: bytes) -> bytes:
        if self._layer == PLAIN:
            return data
        with _broken_by_kerberos():
            return bytes(self._context.wrap(data, self._layer == SEALED).message)

    def _unprotected(self, data: bytes) -> bytes:
        if self._layer == PLAIN:
            return data
        with _broken_by_kerberos():
            return bytes(self._context.unwrap(data).message)

    def _tell(self, status: int, data: bytes) -> None:
        self._below.write(struct.pack(">BI", status, len(data)) + data)

    def _hear(self) -> tuple[int, bytes]:
        status, length = struct.unpack(">BI", self._below.readAll(5))
        said = self._below.readAll(length)
        if status in (BAD, ERROR):
            text = said.decode(errors="replace")
            raise UnauthenticatedError(f"the metastore does not accept Kerberos' ticket: {text}")
        return status, said


@contextlib.contextmanager
def _broken_by_kerberos() -> Iterator[None]:
    """A ticket that expires on the way ends a connection, and not more."""
    import gssapi

    try:
        yield
    except gssapi.exceptions.GSSError as failure:
        raise ConnectionError(f"Kerberos: {failure}") from failure


def _context(server: Principal, host: str) -> Any:
    """How a conversation begins with a server that is to prove who it is."""
    try:
        import gssapi
    except ImportError as missing:
        raise InvalidInputError(
            "property 'kerberos.principal' needs the package gssapi: "
            "install lanceyard[hive-kerberos]"
        ) from missing
    host = server.host or host
    flag = gssapi.RequirementFlag
    if server.realm is None:
        name = gssapi.Name(f"{server.service}@{host}", gssapi.NameType.hostbased_service)
    else:
        principal = f"{server.service}/{host}@{server.realm}"
        name = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
    wanted = [flag.mutual_authentication, flag.integrity, flag.confidentiality]
    return gssapi.SecurityContext(name=name, usage="initiate", flags=wanted)
