"""Tokens: got when they are needed, kept while they hold, and shown to nobody else."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lanceyard
from lanceyard import errors
from lanceyard.rest.async_client import AsyncRestNamespace

from .scripted import Act, Received, Scripted, answer, hang_up, silence
from .serving import server as our_server

LISTED = answer({"tables": ["t"]})
REFUSED = answer({"error": "who are you?", "code": 16}, 401)
CLIENT = {"oauth2.client_id": "me:1", "oauth2.client_secret": "hush hush/%"}
Connect = Callable[..., Any]


class Issuer:
    """A server that grants tokens, and serves those who show the last one."""

    def __init__(self, life: float | None = 3600, pause: float = 0.0) -> None:
        self.grants: list[Received] = []
        self.refusal: Act | None = None
        self._life = life
        self._pause = pause

    @property
    def last(self) -> str:
        return f"Bearer token-{len(self.grants)}"

    def choose(self, request: Received) -> Act:
        if request.path != "/oauth/token":
            return LISTED if request.headers.get("authorization") == self.last else REFUSED
        if self.refusal is not None:
            return self.refusal
        time.sleep(self._pause)
        self.grants.append(request)
        told = {"access_token": self.last.removeprefix("Bearer "), "token_type": "Bearer"}
        return answer(told if self._life is None else {**told, "expires_in": self._life})

    def revoke(self) -> None:
        """Let the last token be one that nobody has."""
        self.grants.append(self.grants[-1])


@pytest.fixture
def issuer() -> Issuer:
    return Issuer()


@pytest.fixture
def server(issuer: Issuer) -> Iterator[Scripted]:
    with Scripted(choose=issuer.choose) as found:
        yield found


def test_a_token_is_got_when_it_is_needed_and_kept(
    connect: Connect, issuer: Issuer, server: Scripted
) -> None:
    client = connect(server, **CLIENT, **{"oauth2.scope": "all of it"})
    assert not server.requests
    assert [client.list_all_tables({}).tables for _ in range(3)] == [["t"]] * 3
    (grant,) = issuer.grants
    assert grant.body == b"grant_type=client_credentials&scope=all+of+it"
    _, _, basic = grant.headers["authorization"].partition(" ")
    assert base64.b64decode(basic) == b"me%3A1:hush%20hush%2F%25"


def test_a_token_that_is_refused_is_replaced_once(
    connect: Connect, issuer: Issuer, server: Scripted
) -> None:
    client = connect(server, **CLIENT)
    client.list_all_tables({})
    issuer.revoke()
    assert client.list_all_tables({}).tables == ["t"]
    assert len(server.requests) == 5


def test_whoever_is_refused_with_a_new_token_is_told(connect: Connect) -> None:
    def choose(request: Received) -> Act:
        return answer({"access_token": "t"}) if request.path == "/oauth/token" else REFUSED

    with Scripted(choose=choose) as server:
        with pytest.raises(errors.UnauthenticatedError, match="who are you"):
            connect(server, **CLIENT).list_all_tables({})
        assert len(server.requests) == 4


def test_a_stream_is_not_sent_twice_for_a_new_token(
    connect: Connect, issuer: Issuer, server: Scripted
) -> None:
    client = connect(server, **CLIENT)
    client.list_all_tables({})
    issuer.revoke()
    with pytest.raises(errors.UnauthenticatedError):
        client.insert_into_table({"id": ["t"]}, iter([b"one"]))


def test_threads_that_need_a_token_get_one_together() -> None:
    issuer = Issuer(pause=0.2)
    with (
        Scripted(choose=issuer.choose) as server,
        ThreadPoolExecutor(8) as pool,
    ):
        client = lanceyard.RestNamespace(uri=server.address, **CLIENT)
        found = pool.map(lambda _: client.list_all_tables({}).tables, range(16))
        assert [*found] == [["t"]] * 16
        client.close()
    assert len(issuer.grants) == 1


def test_tasks_that_need_a_token_get_one_together() -> None:
    issuer = Issuer(pause=0.2)

    async def main(address: str) -> list[Any]:
        async with AsyncRestNamespace(uri=address, **CLIENT) as client:
            return await asyncio.gather(*(client.list_all_tables({}) for _ in range(16)))

    with Scripted(choose=issuer.choose) as server:
        assert len(asyncio.run(main(server.address))) == 16
    assert len(issuer.grants) == 1


@pytest.mark.parametrize(
    ("refusal", "kind", "text"),
    [
        (
            answer({"error": "invalid_client", "error_description": "no: hush hush/%"}, 401),
            errors.UnauthenticatedError,
            "invalid_client no",
        ),
        (answer(b"<html>", 404), errors.UnauthenticatedError, "status 404"),
        (answer(b"<html>"), errors.UnauthenticatedError, "no token"),
        (answer({"access_token": ""}), errors.UnauthenticatedError, "no token"),
        (answer({"access_token": "a\nb"}), errors.UnauthenticatedError, "no token"),
        (
            answer({"access_token": "a", "token_type": "mac"}),
            errors.UnauthenticatedError,
            "no token",
        ),
        (answer(status=307, location="/elsewhere"), errors.UnauthenticatedError, "status 307"),
        (answer(status=503), errors.ServiceUnavailableError, "status 503"),
        (hang_up(), errors.ServiceUnavailableError, "no token could be got"),
    ],
    ids=["refused", "lost", "html", "empty", "lines", "kind", "moved", "down", "cut"],
)
def test_whoever_gets_no_token_is_told_why_without_the_secret(
    connect: Connect, issuer: Issuer, server: Scripted, refusal: Act, kind: Any, text: str
) -> None:
    issuer.refusal = refusal
    with pytest.raises(kind, match=text) as failure:
        connect(server, retries="0", **CLIENT).list_all_tables({})
    assert "hush" not in str(failure.value)
    assert {request.path for request in server.requests} == {"/oauth/token"}


def test_a_token_that_never_comes_is_waited_for_until_the_deadline(
    connect: Connect, issuer: Issuer, server: Scripted
) -> None:
    issuer.refusal = silence
    with pytest.raises(errors.ServiceUnavailableError, match="no token could be got"):
        connect(server, deadline="0.5", **CLIENT).list_all_tables({})


def test_others_wait_for_a_token_no_longer_than_until_their_deadline(
    issuer: Issuer, server: Scripted
) -> None:
    issuer.refusal = silence
    client = lanceyard.RestNamespace(uri=server.address, deadline="0.5", **CLIENT)

    def ask(_: int) -> bool:
        with pytest.raises(errors.ServiceUnavailableError):
            client.list_all_tables({})
        return True

    with ThreadPoolExecutor(4) as pool:
        began = time.monotonic()
        assert all(pool.map(ask, range(4)))
    assert time.monotonic() - began < 5


# Tokens that are given


def test_a_token_in_a_file_is_read_again_when_it_changes(connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("first\n")
    with Scripted(LISTED) as server:
        client = connect(server, token_file=str(file))
        client.list_all_tables({})
        (tmp_path / "next").write_text("second\n")
        (tmp_path / "next").rename(file)
        client.list_all_tables({})
        file.unlink()
        client.list_all_tables({})
    shown = [request.headers["authorization"] for request in server.requests]
    assert shown == ["Bearer first", "Bearer second", "Bearer second"]


def test_a_token_in_a_file_is_looked_at_again_when_it_is_refused(
    connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text("first")
    state = os.stat(file)

    def choose(request: Received) -> Act:
        file.write_text("other")
        os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns))
        return LISTED if request.headers["authorization"] == "Bearer other" else REFUSED

    with Scripted(choose=choose) as server:
        assert connect(server, token_file=str(file)).list_all_tables({}).tables == ["t"]


@pytest.mark.parametrize("content", [None, "", " \n", "a\nb"])
def test_a_file_without_a_token_is_told(
    connect: Connect, tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content)
    with Scripted(LISTED) as server, pytest.raises(errors.LanceNamespaceError, match="token"):
        connect(server, token_file=str(file)).list_all_tables({})
    assert not server.requests


@pytest.mark.parametrize("kind", ["token", "token_file"])
def test_a_token_that_stays_the_same_is_not_shown_twice(
    connect: Connect, tmp_path: Path, kind: str
) -> None:
    (tmp_path / "token").write_text("same")
    given = {kind: "same" if kind == "token" else str(tmp_path / "token")}
    with Scripted(REFUSED) as server, pytest.raises(errors.UnauthenticatedError):
        connect(server, **given).list_all_tables({})
    assert len(server.requests) == 1


def test_who_a_request_says_it_is_comes_before_who_the_client_is(
    connect: Connect, issuer: Issuer, server: Scripted
) -> None:
    with pytest.raises(errors.UnauthenticatedError):
        connect(server, **CLIENT).list_all_tables({"identity": {"auth_token": "mine"}})
    (request,) = server.requests
    assert request.headers["authorization"] == "Bearer mine"
    assert not issuer.grants


# Our own server


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where our server serves a catalog to those who show a key or a token."""
    namespace = lanceyard.DirectoryNamespace(root=str(tmp_path), dir_listing_enabled="false")
    digest = {name: hashlib.sha256(name.encode()).hexdigest() for name in ("hush key", "hush / ü")}
    security = {
        "keys": [{"name": "alice", "sha256": digest["hush key"]}],
        "clients": [{"id": "bob", "sha256": digest["hush / ü"]}],
    }
    yield our_server().serve(namespace, security=security)
    namespace.close()


def test_our_server_knows_our_clients(connect: Connect, address: str) -> None:
    grant = {"oauth2.client_id": "bob", "oauth2.client_secret": "hush / ü"}
    connect(uri=address, **grant).create_namespace({"id": ["a"]})
    assert connect(uri=address, api_key="hush key").list_namespaces({}).namespaces == ["a"]
    said = {"identity": {"api_key": "hush key"}}
    assert connect(uri=address).list_namespaces(said).namespaces == ["a"]


@pytest.mark.parametrize(
    "who",
    [
        {},
        {"api_key": "wrong key"},
        {"token": "wrong token"},
        {"oauth2.client_id": "bob", "oauth2.client_secret": "wrong secret"},
    ],
    ids=["nobody", "key", "token", "secret"],
)
def test_our_server_knows_nobody_else(connect: Connect, address: str, who: dict[str, str]) -> None:
    with pytest.raises(errors.UnauthenticatedError):
        connect(uri=address, **who).list_namespaces({})
