"""What our clients send, and what they keep to themselves."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import pytest

import lanceyard
from lanceyard import errors
from lanceyard.rest.settings import RestSettings

from .scripted import Act, Scripted, answer, hang_up

Connect = Callable[..., Any]


def test_context_and_identity_travel_in_headers(connect: Connect) -> None:
    context = {"header.X-Trace": "7", "colour": "blue"}
    identity = {"api_key": "mine", "auth_token": "t0ken"}
    with Scripted(answer({"location": "x"})) as server:
        client = connect(server, api_key="configured")
        client.describe_table({"id": ["t"], "context": context, "identity": identity})
    (request,) = server.requests
    assert request.headers["x-trace"] == "7"
    assert request.headers["x-api-key"] == "mine"
    assert request.headers["authorization"] == "Bearer t0ken"
    assert request.said == {"id": ["t"], "context": {"colour": "blue"}}


@pytest.mark.parametrize(
    "said",
    [
        {"context": {"header.Content-Length": "0"}},
        {"context": {"header.transfer-encoding": "chunked"}},
        {"context": {"header.host": "elsewhere"}},
        {"context": {"header.x": "a\r\nx-api-key: stolen"}},
        {"context": {"header.x y": "a"}},
        {"context": {"header.": "a"}},
        {"context": {"header.x": 1}},
        {"context": "header.x"},
        {"identity": {"api_key": "secret-\n"}},
        {"identity": {"auth_token": "secret-\N{SNOWMAN}"}},
        {"identity": ["secret-"]},
    ],
)
def test_what_cannot_be_a_header_is_refused(connect: Connect, said: dict[str, Any]) -> None:
    with Scripted() as server, pytest.raises(errors.InvalidInputError) as failure:
        connect(server).describe_table({"id": ["t"], **said})
    assert not server.requests
    assert "secret-" not in str(failure.value)


@pytest.mark.parametrize("rows", [None, "text", 7])
def test_what_are_no_rows_is_refused(connect: Connect, rows: Any) -> None:
    with Scripted() as server, pytest.raises(errors.InvalidInputError, match="Arrow"):
        connect(server).insert_into_table({"id": ["t"]}, rows)
    assert not server.requests


@pytest.mark.parametrize("name", [".", ".."])
def test_a_name_that_makes_another_path_is_refused(connect: Connect, name: str) -> None:
    with Scripted() as server:
        client = connect(server)
        with pytest.raises(errors.InvalidInputError):
            client.drop_table_index({"id": ["t"], "index_name": name})
        with pytest.raises(errors.InvalidInputError):
            client.describe_transaction({"id": [name]})
    assert not server.requests


@pytest.mark.parametrize("names", [["a-b"], ["-"], ["a", "-b"]])
def test_a_name_with_the_delimiter_in_it_is_refused(connect: Connect, names: list[str]) -> None:
    with Scripted() as server, pytest.raises(errors.InvalidInputError, match="delimiter"):
        connect(server, delimiter="-").drop_table({"id": names})
    assert not server.requests


@pytest.mark.parametrize("name", ["ü x", "a+b", "50%", "a&b=c?d#e", '[x]{y}|^`"<>'])
def test_a_name_arrives_as_it_is(connect: Connect, name: str) -> None:
    with Scripted(answer()) as server:
        connect(server).drop_table({"id": ["a", name]})
    assert unquote(server.requests[0].path) == f"/v1/table/a${name}/drop"


SECRETS = {
    "api_key": "hush-key-1",
    "oauth2.client_id": "me",
    "oauth2.client_secret": "hush-secret",
    "headers.x-mine": "hush-header",
}


def test_settings_and_clients_show_no_secrets() -> None:
    settings = RestSettings.from_properties({"uri": "http://h", **SECRETS})
    assert "hush" not in repr(settings)
    assert "hush" not in repr(lanceyard.RestNamespace(uri="http://h", **SECRETS))


def test_an_error_that_repeats_a_secret_is_told_without_it(connect: Connect) -> None:
    def choose(request: Any) -> Act:
        return answer({"error": f"bad {request.headers}", "code": 13}, 400)

    with Scripted(choose=choose) as server, pytest.raises(errors.InvalidInputError) as failure:
        connect(server, api_key="hush-key-1", token="hush-token-2").list_all_tables(
            {"context": {"header.x-my-token": "hush-token-3"}}
        )
    assert "hush" not in str(failure.value)
    assert "Bearer ***" in str(failure.value)


def test_an_error_on_the_way_does_not_show_storage_options(connect: Connect) -> None:
    request = {"id": ["t"], "storage_options": {"aws_secret_access_key": "hush-hush"}}
    with Scripted(hang_up()) as server, pytest.raises(errors.UnknownOutcomeError) as failure:
        connect(server).create_table(request, b"x")
    assert "hush" not in str(failure.value)


@pytest.mark.parametrize(
    "properties",
    [
        {"token": "hush-1", "token_file": "x"},
        {"token": "hush-1", "headers.Authorization": "hush-2"},
        {"api_key": "hush-1", "headers.X-Api-Key": "hush-2"},
        {"api_key": "hush-\n1"},
        {"headers.x": "hush-\r\n"},
        {"headers.Content-Length": "7"},
        {"oauth2.client_id": "me"},
        {"oauth2.client_id": "me", "oauth2.client_secret": "hush-1", "oauth2.token_uri": "h"},
        {"oauth2.client_sekret": "hush-1"},
        {"uri": "http://me:hush-1@h"},
        {"uri": "http://h?x=1"},
        {"uri": "http://h:99999"},
        {"uri": "http://[h"},
        {"deadline": "0"},
        {"read_timeout": "nan"},
        {"cache": "-1"},
        {"retries": "many"},
        {"tokens": "hush-1"},
    ],
    ids=lambda properties: next(iter(properties)),
)
def test_properties_that_make_no_sense_are_refused(properties: dict[str, str]) -> None:
    with pytest.raises(errors.InvalidInputError) as failure:
        lanceyard.RestNamespace(**{"uri": "http://h", **properties})
    assert "hush" not in str(failure.value)


@pytest.mark.parametrize(
    "name",
    ["ops_metrics_enabled", "dynamic_context_provider.impl", "tls.reload_interval_seconds"],
)
def test_properties_of_other_clients_have_no_effect_and_that_is_told(name: str) -> None:
    with pytest.warns(UserWarning, match="no effect"):
        lanceyard.RestNamespace(uri="http://h", **{name: "1"})


def test_a_fork_speaks_on_connections_of_its_own() -> None:
    with Scripted(answer({"tables": ["t"]})) as server:
        client = lanceyard.RestNamespace(uri=server.address)
        client.list_all_tables({})
        child = os.fork()
        if not child:
            os._exit(0 if client.list_all_tables({}).tables == ["t"] else 1)
        assert os.waitpid(child, 0)[1] == 0
        client.list_all_tables({})
    assert [request.connection for request in server.requests] == [1, 2, 1]


def test_a_client_is_pickled_with_all_its_properties() -> None:
    with Scripted(answer({"tables": ["t"]})) as server:
        client = lanceyard.RestNamespace(uri=server.address, api_key="sesame")
        pickle.loads(pickle.dumps(client)).list_all_tables({})
    assert server.requests[0].headers["x-api-key"] == "sesame"


@pytest.mark.parametrize(
    "ask",
    [
        lambda yard: yard.transaction(),
        lambda yard: yard.transaction("x"),
        lambda yard: yard.tags.create("x"),
        lambda yard: yard.tags.list(),
        lambda yard: yard.tags.delete("x"),
        lambda yard: yard.as_of(1),
        lambda yard: yard.diff(1),
        lambda yard: yard.states(),
        lambda yard: yard.dropped(),
        lambda yard: yard.undrop("t"),
        lambda yard: yard.repair(),
        lambda yard: yard.migrate(),
        lambda yard: yard.manage_versions(),
    ],
)
def test_what_the_protocol_has_no_route_for_is_unsupported(ask: Callable[[Any], Any]) -> None:
    with pytest.raises(errors.UnsupportedOperationError, match="no route"):
        ask(lanceyard.open("http://127.0.0.1:9"))
