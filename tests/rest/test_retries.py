"""What is tried again, and how long that may take."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lanceyard
from lanceyard import errors
from lanceyard.rest.messages import Reply
from lanceyard.rest.protocol import BY_NAME
from lanceyard.rest.retries import Attempts, allowed, read_wish
from lanceyard.rest.steps import Deadline, Fate

from .scripted import (
    Act,
    Received,
    Scripted,
    answer,
    cut,
    drip,
    drip_body,
    forward,
    hang_up,
    silence,
)
from .serving import server as our_server

LISTED = answer({"tables": ["t"]})
BUSY = answer({"error": "later", "code": 17}, 503)
Connect = Callable[..., Any]


@pytest.mark.parametrize(
    "failing",
    [
        BUSY,
        answer({"error": "slowly", "code": 21}, 429),
        answer(b"<html>", 502),
        answer(b"<html>", 504),
        hang_up(),
        hang_up(b"HTTP/1.1 2"),
        hang_up(b"\x00\x01 garbage\r\n\r\n"),
        cut({"tables": []}),
    ],
    ids=["503", "429", "502", "504", "lost", "line", "garbage", "cut"],
)
def test_a_read_is_tried_again(connect: Connect, failing: Act) -> None:
    with Scripted(failing, LISTED) as server:
        assert connect(server).list_all_tables({}).tables == ["t"]
        assert len(server.requests) == 2


def test_a_read_is_not_tried_for_ever(connect: Connect) -> None:
    with Scripted(BUSY) as server:
        with pytest.raises(errors.ServiceUnavailableError, match="later"):
            connect(server, retries="2").list_all_tables({})
        assert len(server.requests) == 3


@pytest.mark.parametrize("failing", [hang_up(), cut({})], ids=["lost", "cut"])
def test_a_write_whose_reply_is_lost_is_not_tried_again(connect: Connect, failing: Act) -> None:
    with Scripted(failing, answer()) as server:
        with pytest.raises(errors.UnknownOutcomeError, match="may or may not"):
            connect(server).drop_table({"id": ["t"]})
        assert len(server.requests) == 1


def test_a_write_is_tried_again_that_was_refused_for_now(connect: Connect) -> None:
    with Scripted(BUSY, answer(status=429), answer()) as server:
        connect(server).drop_table({"id": ["t"]})
        assert len(server.requests) == 3


def test_a_commit_is_tried_again_only_if_the_server_did_not_begin_with_it(connect: Connect) -> None:
    commit = {"id": ["t"], "version": 1, "manifest_path": "p"}
    with Scripted(answer(status=429), BUSY, answer({})) as server:
        with pytest.raises(errors.ServiceUnavailableError):
            connect(server).create_table_version(commit)
        assert len(server.requests) == 2


def test_a_stream_is_not_sent_twice(connect: Connect) -> None:
    with Scripted(BUSY, answer()) as server:
        with pytest.raises(errors.ServiceUnavailableError):
            connect(server).insert_into_table({"id": ["t"]}, iter([b"one", b"two"]))
        assert [request.body for request in server.requests] == [b"onetwo"]


def test_bytes_are_sent_twice_if_need_be(connect: Connect) -> None:
    with Scripted(BUSY, answer({"version": 1})) as server:
        connect(server).insert_into_table({"id": ["t"]}, memoryview(b"onetwo"))
        assert [request.body for request in server.requests] == [b"onetwo"] * 2


def test_a_server_that_wants_to_be_left_alone_for_long_is_not_asked_again(connect: Connect) -> None:
    with Scripted(answer(status=503, retry_after="3600")) as server:
        with pytest.raises(errors.ServiceUnavailableError):
            connect(server).list_all_tables({})
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("text", "seconds"), [("7", 7), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("soon", 0), ("-1", 0)]
)
def test_the_wish_of_a_server_is_seconds_or_a_date(text: str, seconds: float) -> None:
    assert read_wish(Reply(503, {"retry-after": text}, b"")) == seconds


def test_pauses_grow_and_are_never_shorter_than_wished() -> None:
    tries = Attempts(3, lambda _: True, Deadline(None))
    pauses = [tries.after(Fate.UNSENT) for _ in range(2)]
    assert 0.05 <= (pauses[0] or 0) <= 0.1 <= (pauses[1] or 0) <= 0.2
    assert tries.after(Fate.THROTTLED, Reply(429, {"retry-after": "9"}, b"")) == 9
    assert tries.after(Fate.UNSENT) is None


def test_nobody_pauses_beyond_the_deadline() -> None:
    wish = Reply(503, {"retry-after": "20"}, b"")
    assert Attempts(3, lambda _: True, Deadline(1)).after(Fate.UNAVAILABLE, wish) is None


@pytest.mark.parametrize(
    ("name", "fates"),
    [
        ("DescribeTable", set(Fate)),
        ("QueryTable", set(Fate)),
        ("DropTable", {Fate.UNSENT, Fate.THROTTLED, Fate.UNAVAILABLE}),
        ("CreateTableVersion", {Fate.UNSENT, Fate.THROTTLED}),
        ("BatchCommitTables", {Fate.UNSENT, Fate.THROTTLED}),
        ("DeclareTable", set(Fate)),
    ],
)
def test_what_is_tried_again_depends_on_the_operation(name: str, fates: set[Fate]) -> None:
    found = {f for f in Fate if allowed(BY_NAME[name], f, repeats=True, replays=True)}
    assert found == fates


def test_a_create_carries_a_key_of_its_own(connect: Connect) -> None:
    with Scripted(BUSY, answer()) as server:
        client = connect(server)
        client.declare_table({"id": ["t"]})
        client.declare_table({"id": ["t"]})
        client.drop_table({"id": ["t"]})
    first, again, second, dropped = (r.headers.get("idempotency-key") for r in server.requests)
    assert first == again
    assert None not in {first, second}
    assert first != second
    assert dropped is None


@pytest.mark.parametrize("body", [None, b"arrow"], ids=["json", "bytes"])
def test_a_lost_create_is_tried_again_once_the_server_is_known_to_replay(
    connect: Connect, body: bytes | None
) -> None:
    shown = answer({"tables": []}, idempotency_key_supported="true")
    with Scripted(shown, hang_up(), answer({"location": "x"})) as server:
        client = connect(server)
        client.list_all_tables({})
        operation = client.declare_table if body is None else client.create_table
        operation({"id": ["t"]}, body)
    _, first, again = server.requests
    assert first.headers["idempotency-key"] == again.headers["idempotency-key"]


def test_a_lost_create_is_not_tried_again_with_a_server_that_may_not_replay(
    connect: Connect,
) -> None:
    with Scripted(LISTED, hang_up(), answer()) as server:
        client = connect(server)
        client.list_all_tables({})
        with pytest.raises(errors.UnknownOutcomeError):
            client.create_namespace({"id": ["a"]})
        assert len(server.requests) == 2


def test_a_replay_waits_for_the_first_try_to_end(connect: Connect) -> None:
    shown = answer({"tables": []}, idempotency_key_supported="true")
    going_on = answer({"error": "still being carried out", "code": 14}, 409)
    with Scripted(shown, hang_up(), going_on, answer({"properties": {"a": "1"}})) as server:
        client = connect(server)
        client.list_all_tables({})
        assert client.create_namespace({"id": ["a"]}).properties == {"a": "1"}


def test_a_conflict_of_a_create_is_told_at_once(connect: Connect) -> None:
    with Scripted(answer({"error": "exists", "code": 2}, 409)) as server:
        with pytest.raises(errors.NamespaceAlreadyExistsError):
            connect(server).create_namespace({"id": ["a"]})
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    "slow",
    [silence, drip(b"HTTP/1.1 200 OK\r\nx: "), drip_body()],
    ids=["silent", "head", "body"],
)
def test_a_call_ends_by_its_deadline(connect: Connect, slow: Act) -> None:
    with Scripted(slow) as server:
        client = connect(server, deadline="0.5")
        began = time.monotonic()
        with pytest.raises(errors.ServiceUnavailableError, match="gave no answer"):
            client.list_all_tables({})
        assert time.monotonic() - began < 3


def test_a_write_that_took_too_long_may_have_been_carried_out(connect: Connect) -> None:
    with (
        Scripted(silence) as server,
        pytest.raises(errors.UnknownOutcomeError, match="may or may not"),
    ):
        connect(server, deadline="0.5").drop_table({"id": ["t"]})


def test_a_body_that_nobody_takes_ends_by_the_deadline(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        uri = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        client = connect(uri=uri, deadline="0.5")
        began = time.monotonic()
        with pytest.raises(errors.UnknownOutcomeError):
            client.insert_into_table({"id": ["t"]}, bytes(64 * 2**20))
        assert time.monotonic() - began < 5


def test_a_server_that_takes_no_connection_was_not_reached(connect: Connect) -> None:
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        client = connect(uri=f"http://127.0.0.1:{full.getsockname()[1]}", deadline="0.5")
        with pytest.raises(errors.ServiceUnavailableError, match="cannot be reached"):
            client.drop_table({"id": ["t"]})


def test_an_answer_that_stops_is_waited_for_no_longer_than_said(connect: Connect) -> None:
    with (
        Scripted(silence) as server,
        pytest.raises(errors.ServiceUnavailableError, match="gave no answer"),
    ):
        connect(server, read_timeout="0.5", retries="0").list_all_tables({})


def test_a_deadline_does_not_hurry_answers_that_come_in_time(connect: Connect) -> None:
    big = answer({"tables": ["t" * 1_000] * 2_000})
    with Scripted(big) as server:
        client = connect(server, deadline="30", read_timeout="10")
        assert len(client.list_all_tables({}).tables) == 2_000
        assert len(client.list_all_tables({}).tables) == 2_000
    assert {request.connection for request in server.requests} == {1}


# Our own server


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where our server serves a catalog."""
    namespace = lanceyard.DirectoryNamespace(root=str(tmp_path), dir_listing_enabled="false")
    yield our_server().serve(namespace)
    namespace.close()


def test_a_create_whose_reply_is_lost_is_carried_out_once(connect: Connect, address: str) -> None:
    lost: list[Received] = []

    def choose(request: Received) -> Act:
        reply = forward(request, address)
        if "/b/create" in request.path and not lost:
            lost.append(request)
            return hang_up()
        return reply

    with Scripted(choose=choose) as between:
        client = connect(between)
        client.create_namespace({"id": ["a"]})
        client.create_namespace({"id": ["b"], "properties": {"x": "1"}})
        assert client.list_namespaces({}).namespaces == ["a", "b"]
    assert [request.path for request in between.requests].count("/v1/namespace/b/create") == 2


def test_our_server_says_that_nothing_changed(connect: Connect, address: str) -> None:
    statuses: list[int] = []

    def choose(request: Received) -> Act:
        return forward(request, address, statuses)

    with Scripted(choose=choose) as between:
        client = connect(between, cache="10")
        found = [client.list_namespaces({}).namespaces for _ in range(2)]
        client.create_namespace({"id": ["a"]})
        found += [client.list_namespaces({}).namespaces for _ in range(2)]
    assert found == [[], [], ["a"], ["a"]]
    assert statuses == [200, 304, 200, 200, 304]
