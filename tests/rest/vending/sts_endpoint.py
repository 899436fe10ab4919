"""An STS over HTTP that counts what it is asked, and fails as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qsl

ROLE = "arn:aws:iam::123456789012:role/tables"
TOLD = "nobody-should-read-this"
"""What STS says in its errors."""
GIVEN = """<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">
<AssumeRoleResult><Credentials><AccessKeyId>ASIA{number}</AccessKeyId>
<SecretAccessKey>hidden{number}</SecretAccessKey><SessionToken>token{number}</SessionToken>
<Expiration>{end}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""
REFUSED = f"""<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error>
<Type>Sender</Type><Code>AccessDenied</Code><Message>{TOLD}</Message></Error></ErrorResponse>"""
HANGING = 10.0
"""Seconds that it hangs at most."""
Answer = tuple[int, str]


class StsEndpoint:
    """A server whose answers are those of `answer`; it gives credentials from the start."""

    def __init__(self, life: float = 3600, now: float = 1_000_000.0) -> None:
        self.asked: list[dict[str, str]] = []
        """The fields of each request."""
        self.signers: list[str] = []
        self.life, self.now = life, now
        self.answer: Callable[[], Answer] = self.give
        self.released = threading.Event()
        self._lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                endpoint.hear(dict(parse_qsl(body)), self.headers["authorization"])
                status, text = endpoint.answer()
                self.send_response(status)
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: object) -> None:
                """Nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def hear(self, fields: dict[str, str], authorization: str) -> None:
        with self._lock:
            self.asked.append(fields)
            self.signers.append(authorization.split("Credential=")[1].split("/", maxsplit=1)[0])

    def clock(self) -> float:
        return self.now

    @property
    def settings(self) -> dict[str, object]:
        """Settings of vending by it."""
        return {
            "kind": "sts",
            "role_arn": ROLE,
            "endpoint": self.address,
            "region": "us-east-1",
            "access_key_id": "SERVER",
            "secret_access_key": "server-secret",
        }

    def give(self) -> Answer:
        end = datetime.fromtimestamp(self.now + self.life, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return 200, GIVEN.format(number=len(self.asked), end=end)

    def refuse(self) -> Answer:
        return 403, REFUSED

    def hang(self) -> Answer:
        self.released.wait(HANGING)
        return self.give()

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
