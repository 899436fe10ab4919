"""An issuer for tests: a small OpenID provider with real keys, over real HTTP."""

from __future__ import annotations

import json
import ssl
import threading
import time
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives import serialization as pem
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

AUDIENCE = "yard"
PART = 1024
"""Bytes that are sent at a time."""
CONFIGURATION = "/.well-known/openid-configuration"


def private_key(kind: str, number: int = 0) -> Any:
    """A private key for an algorithm; each number has its own."""
    return _private_key(kind, number)


@cache
def _private_key(kind: str, number: int) -> Any:
    if kind.startswith(("RS", "PS")):
        return rsa.generate_private_key(65537, 2048)
    if kind == "EdDSA":
        return ed25519.Ed25519PrivateKey.generate()
    curves = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
    return ec.generate_private_key(curves[kind])


def private_pem(kind: str) -> bytes:
    """It as a file holds it."""
    form = (pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
    content: bytes = private_key(kind).private_bytes(*form)
    return content


def public_jwk(kind: str, number: int = 0) -> dict[str, Any]:
    """Its public half as an issuer publishes it."""
    algorithm = jwt.get_algorithm_by_name(kind)
    jwk = algorithm.to_jwk(private_key(kind, number).public_key(), as_dict=True)
    return {**jwk, "kid": kid(kind, number), "use": "sig"}


def kid(kind: str, number: int = 0) -> str:
    """The id of a key."""
    return f"{kind}-{number}"


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Clients may go away in the middle of an answer."""


class TestIssuer:
    """A running issuer. `keys` are what it publishes, `fetches` the paths it was asked for."""

    __test__ = False

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.keys: list[Any] = [public_jwk("EdDSA")]
        self.configuration: dict[str, Any] = {}
        self.status = 200
        self.delay = 0.0
        """Seconds before each answer."""
        self.pause = 0.0
        """Seconds before each part of it."""
        self.fetches: list[str] = []
        self._server = _Server(("127.0.0.1", 0), self._handler())
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        scheme = "http" if tls is None else "https"
        self.address = f"{scheme}://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, args=[0.01], daemon=True).start()

    def close(self) -> None:
        """Stop answering."""
        self._server.shutdown()
        self._server.server_close()

    def token(self, kind: str = "EdDSA", number: int = 0, **claims: Any) -> str:
        """A token for alice, with other claims if given; those that are None are left out."""
        said = {
            "iss": self.address,
            "aud": AUDIENCE,
            "sub": "alice",
            "exp": time.time() + 600,
            **claims,
        }
        kept = {name: value for name, value in said.items() if value is not None}
        headers = {"kid": kid(kind, number)}
        return jwt.encode(kept, private_key(kind, number), kind, headers)

    def answer(self, path: str) -> Any:
        """The document at a path."""
        if path == CONFIGURATION:
            place = f"{self.address}/keys"
            return {"issuer": self.address, "jwks_uri": place, **self.configuration}
        return {"keys": self.keys}

    def _handler(issuer) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - self is the handler's
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.fetches.append(self.path)
                time.sleep(issuer.delay)
                self.send_response(issuer.status)
                self.send_header("location", "/elsewhere")
                self.end_headers()
                content = json.dumps(issuer.answer(self.path)).encode()
                for start in range(0, len(content), PART):
                    time.sleep(issuer.pause)
                    self.wfile.write(content[start : start + PART])

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        return Handler
