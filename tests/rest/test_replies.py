"""Replies that are no answers, that send elsewhere, and that say that nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lanceyard import errors

from .scripted import Scripted, answer

Connect = Callable[..., Any]


@pytest.mark.parametrize(
    "body",
    [b"<html>", b"{", b"[1]", b'{"tables": 3}', b"null", b"[" * 100_000, b"\xff"],
    ids=["html", "open", "list", "types", "null", "deep", "bytes"],
)
def test_what_is_no_answer_is_an_internal_error(connect: Connect, body: bytes) -> None:
    with (
        Scripted(answer(body)) as server,
        pytest.raises(errors.InternalError, match="ListAllTables"),
    ):
        connect(server).list_all_tables({})


def test_rows_that_are_no_arrow_file_are_an_internal_error(connect: Connect) -> None:
    with Scripted(answer(b"<html>")) as server, pytest.raises(errors.InternalError, match="Arrow"):
        connect(server).query_table({"id": ["t"], "k": 1})


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (500, b"<html>it broke", errors.InternalError),
        (401, b"", errors.UnauthenticatedError),
        (403, b"[]", errors.PermissionDeniedError),
        (404, b'{"code": "x"}', errors.TableNotFoundError),
        (400, b'{"code": Infinity}', errors.InvalidInputError),
        (405, b"", errors.UnsupportedOperationError),
        (413, b"too large", errors.InvalidInputError),
        (500, b'{"code": 999, "error": "e"}', errors.InternalError),
        (409, b'{"code": 5, "error": "e", "type": "os"}', errors.TableAlreadyExistsError),
        (
            409,
            b'{"code": 5, "error": "e", "type": "InternalError"}',
            errors.TableAlreadyExistsError,
        ),
        (304, b"", errors.InternalError),
        (303, b"", errors.InternalError),
    ],
)
def test_an_error_is_told_by_its_code_or_else_its_status(
    connect: Connect, status: int, body: bytes, kind: type[Exception]
) -> None:
    with Scripted(answer(body, status)) as server, pytest.raises(kind) as failure:
        connect(server).register_table({"id": ["t"], "location": "x"})
    assert type(failure.value) is kind


def test_a_success_without_a_body_is_an_empty_response(connect: Connect) -> None:
    with Scripted(answer(b"", 204)) as server:
        assert connect(server).drop_namespace({"id": ["a"], "mode": "Skip"}).properties is None


def test_a_redirect_on_the_same_host_is_followed_with_everything(connect: Connect) -> None:
    with Scripted(answer(status=307, location="/elsewhere?x=1"), answer()) as server:
        connect(server, api_key="sesame12").drop_table({"id": ["t"]})
    first, second = server.requests
    assert (second.method, second.path) == ("POST", "/elsewhere")
    assert first.headers["x-api-key"] == second.headers["x-api-key"] == "sesame12"


def test_a_redirect_to_another_host_carries_no_credentials(connect: Connect) -> None:
    secrets = {"api_key": "sesame12", "token": "sesame34", "headers.x-mine": "sesame56"}
    with Scripted(answer()) as other, Scripted() as server:
        server._choose = lambda _: answer(status=308, location=f"{other.address}/v1/there")
        identity = {"api_key": "sesame78"}
        context = {"header.cookie": "sesame90"}
        connect(server, **secrets).declare_table(
            {"id": ["t"], "identity": identity, "context": context}
        )
    (arrived,) = other.requests
    assert "sesame" not in str(arrived)
    assert arrived.said == {"id": ["t"]}
    assert arrived.headers["idempotency-key"] == server.requests[0].headers["idempotency-key"]


@pytest.mark.parametrize(
    "location",
    ["/again", "", "file:///etc/passwd", "http://", "http://x:pass@127.0.0.1:9/", "http://[/"],
)
def test_a_redirect_to_nowhere_is_told(connect: Connect, location: str) -> None:
    with (
        Scripted(answer(status=302, location=location)) as server,
        pytest.raises(errors.ServiceUnavailableError, match="sends its clients"),
    ):
        connect(server, retries="0").list_all_tables({})
    assert len(server.requests) <= 4


def test_a_stream_is_not_redirected(connect: Connect) -> None:
    with (
        Scripted(answer(status=307, location="/there")) as server,
        pytest.raises(errors.ServiceUnavailableError, match="as uri"),
    ):
        connect(server).insert_into_table({"id": ["t"]}, iter([b"one"]))


def test_an_answer_that_did_not_change_is_not_sent_again(connect: Connect) -> None:
    first = answer({"tables": ["t"]}, etag='"1"')
    with Scripted(first, answer(b"", 304), answer({"tables": []}, etag='"2"')) as server:
        client = connect(server, cache="2")
        found = [client.list_all_tables({}) for _ in range(3)]
    assert [each.tables for each in found] == [["t"], ["t"], []]
    assert found[0] is not found[1]
    tags = [request.headers.get("if-none-match") for request in server.requests]
    assert tags == [None, '"1"', '"1"']


def test_only_so_many_answers_are_remembered_each_for_its_own_question(connect: Connect) -> None:
    with Scripted(answer({"location": "x"}, etag='"1"')) as server:
        client = connect(server, cache="2")
        for name in ("a", "b", "c", "a"):
            client.describe_table({"id": [name]})
        client.describe_table({"id": ["a"], "identity": {"api_key": "other-one"}})
        client.describe_table({"id": ["a"], "vend_credentials": True})
        client.describe_table({"id": ["a"]})
    tags = [request.headers.get("if-none-match") for request in server.requests]
    assert tags == [None] * 6 + ['"1"']


def test_nothing_is_remembered_unless_asked_for(connect: Connect) -> None:
    with Scripted(answer({"tables": []}, etag='"1"')) as server:
        client = connect(server)
        client.list_all_tables({})
        client.list_all_tables({})
    assert "if-none-match" not in server.requests[1].headers
