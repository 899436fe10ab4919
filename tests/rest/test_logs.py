"""Logs tell who asked for what and what became of it, and nothing that is secret."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

import lanceyard
from lanceyard.rest.protocol import BY_NAME
from lanceyard.server.exchange import Exchange
from lanceyard.server.logs import AccessLog, AuditLog, find_objects

from .serving import server

SECRET = "ly_secret"


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    """A file for lines; afterwards the loggers are as before."""
    yield tmp_path / "lines"
    for name in ("lanceyard.access", "lanceyard.audit"):
        logger = logging.getLogger(name)
        for handler in list(logger.handlers):
            logger.removeHandler(handler)
            handler.close()
        logger.setLevel(logging.NOTSET)
        logger.propagate = True


def exchange(operation: str | None = "DescribeTable", /, **more: Any) -> Exchange:
    """An exchange that has ended."""
    found = Exchange("r1", "POST", "/v1/table/a$t/describe", {}, "127.0.0.1", principal="alice")
    found.operation = BY_NAME[operation] if operation else None
    found.said, found.status = {"id": ["a", "t"]}, 200
    for name, value in more.items():
        setattr(found, name, value)
    return found


def lines(file: Path) -> list[dict[str, Any]]:
    """What was written, without the time."""
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert all(each.pop("time").endswith("+00:00") for each in found)
    return found


def wait_for(count: int, file: Path) -> None:
    """A line is written a little after its answer came."""
    for _ in range(500):
        if len(file.read_text().splitlines()) >= count:
            return
        time.sleep(0.01)


def test_a_line_tells_a_request(file: Path) -> None:
    AccessLog(str(file)).write(exchange(seconds=0.25, received=2, sent=30))
    assert lines(file) == [
        {
            "request_id": "r1",
            "client": "127.0.0.1",
            "principal": "alice",
            "operation": "DescribeTable",
            "object": "a$t",
            "method": "POST",
            "path": "/v1/table/a$t/describe",
            "status": 200,
            "code": None,
            "seconds": 0.25,
            "received": 2,
            "sent": 30,
        }
    ]


def test_a_request_for_no_operation_is_told_too(file: Path) -> None:
    AccessLog(str(file)).write(exchange(None, said={}, status=404, code=0))
    (line,) = lines(file)
    assert (line["operation"], line["object"], line["status"]) == (None, None, 404)


@pytest.mark.parametrize(
    "name", ['x"}\n{"principal": "root', "a\r\nb", "\u2028", "\x1b[2J", "\ud800"]
)
def test_a_name_cannot_begin_a_line(file: Path, name: str) -> None:
    AccessLog(str(file)).write(exchange(said={"id": [name]}, path=name, principal=name))
    (line,) = lines(file)
    assert line["object"] == line["path"] == line["principal"] == name
    assert file.read_bytes().count(b"\n") == 1
    assert file.read_bytes().strip().isascii()
    assert b"\x1b" not in file.read_bytes()


def test_no_log_tells_secrets(file: Path) -> None:
    said = {
        "id": ["t"],
        "identity": {"api_key": SECRET},
        "context": {"header.x": SECRET},
        "storage_options": {"secret_access_key": SECRET},
        "properties": {"x": SECRET},
        "new_table_name": "u",
    }
    told = exchange("RenameTable", said=said, headers={b"authorization": SECRET.encode()})
    AccessLog(str(file)).write(told)
    AuditLog(str(file)).write(told)
    assert len(lines(file)) == 2
    assert SECRET not in file.read_text()


@pytest.mark.parametrize("length", [10_000, 10_000_000])
def test_a_line_is_short_whatever_is_asked_for(file: Path, length: int) -> None:
    said = {"id": ["x" * length] * 3, "new_table_name": "y" * length}
    told = exchange("RenameTable", said=said, path="/" * length)
    AccessLog(str(file)).write(told)
    AuditLog(str(file)).write(told)
    assert file.stat().st_size < 20_000


@pytest.mark.parametrize(
    ("operation", "more", "outcome"),
    [
        ("DropTable", {}, "done"),
        ("DropTable", {"status": 404, "code": 4}, "failed"),
        ("DropTable", {"status": 500, "code": 18}, "failed"),
        ("DropTable", {"status": 0}, "failed"),
        ("DropTable", {"status": 403, "code": 15}, "refused"),
        ("DescribeTable", {"status": 403, "code": 15}, "refused"),
        ("DescribeTable", {"status": 401, "code": 16}, "refused"),
        (None, {"status": 401, "code": 16}, "refused"),
        ("DescribeTable", {}, None),
        ("DescribeTable", {"status": 404, "code": 4}, None),
        ("QueryTable", {}, None),
        (None, {"status": 404, "code": 0}, None),
    ],
)
def test_changes_and_refusals_are_audited(
    file: Path, operation: str | None, more: dict[str, Any], outcome: str | None
) -> None:
    AuditLog(str(file)).write(exchange(operation, **more))
    assert [line["outcome"] for line in lines(file)] == ([outcome] if outcome else [])


def test_reads_are_audited_on_request(file: Path) -> None:
    AuditLog(str(file), reads=True).write(exchange())
    assert lines(file) == [
        {
            "request_id": "r1",
            "who": "alice",
            "what": "DescribeTable",
            "objects": ["a$t"],
            "outcome": "done",
            "code": None,
        }
    ]


@pytest.mark.parametrize(
    ("operation", "said", "objects"),
    [
        ("CreateNamespace", {"id": ["a"]}, ["a"]),
        ("ListNamespaces", {"id": []}, ["$"]),
        ("ListAllTables", {}, []),
        ("RenameTable", {"id": ["a", "t"], "new_table_name": "u"}, ["a$t", "a$u"]),
        (
            "RenameTable",
            {"id": ["a", "t"], "new_table_name": "u", "new_namespace_id": []},
            ["a$t", "u"],
        ),
        ("BatchCreateTableVersions", {"entries": [{"id": ["t"]}, {"id": ["u"]}]}, ["t", "u"]),
        (
            "BatchCommitTables",
            {"operations": [{"declare_table": {"id": ["t"]}}, {"drop_table": {"id": ["a", "u"]}}]},
            ["t", "a$u"],
        ),
        ("ExplainTableQueryPlan", {"id": ["t"], "query": {"id": ["u"]}}, ["t", "u"]),
        (
            "CreateMaterializedView",
            {"id": ["v"], "source_query": '{"sql": "…", "tables": {"x": ["a", "t"], "y": "a$u"}}'},
            ["v", "a$t", "a$u"],
        ),
    ],
)
def test_every_object_that_a_request_names_is_found(
    operation: str, said: dict[str, Any], objects: list[str]
) -> None:
    assert find_objects(BY_NAME[operation], said) == objects


@pytest.mark.parametrize("value", [1, "text", None, {"id": 1}, [1], [[1]], [{"id": [[]]}], "[[["])
@pytest.mark.parametrize(
    "operation", ["RenameTable", "BatchCommitTables", "CreateMaterializedView", "DropTable"]
)
def test_what_no_client_should_send_is_told_all_the_same(
    file: Path, operation: str, value: Any
) -> None:
    names = ("id", "new_namespace_id", "new_table_name", "operations", "entries", "source_query")
    AuditLog(str(file)).write(exchange(operation, said=dict.fromkeys(names, value), code=13))
    assert lines(file)[0]["what"] == operation


def test_a_log_that_is_moved_away_is_begun_anew(file: Path) -> None:
    log = AccessLog(str(file))
    log.write(exchange())
    file.rename(file.with_suffix(".1"))
    log.write(exchange())
    assert len(lines(file)) == len(lines(file.with_suffix(".1"))) == 1


def test_a_log_goes_on_where_it_ended(file: Path) -> None:
    AccessLog(str(file)).write(exchange())
    AccessLog(str(file)).write(exchange())
    assert len(lines(file)) == 2


def test_a_dash_is_the_standard_error_stream(file: Path, capfd: pytest.CaptureFixture[str]) -> None:
    AccessLog("-").write(exchange())
    assert json.loads(capfd.readouterr().err)["operation"] == "DescribeTable"


def test_without_a_place_the_logger_decides(caplog: pytest.LogCaptureFixture) -> None:
    log = AccessLog()
    log.write(exchange())
    with caplog.at_level(logging.INFO, "lanceyard.access"):
        log.write(exchange())
    (record,) = caplog.records
    assert isinstance(record.msg, dict)
    assert record.msg["operation"] == "DescribeTable"


def test_a_server_logs_what_it_answers(file: Path) -> None:
    audit = file.with_suffix(".audit")
    places = {"access_log": str(file), "audit_log": str(audit)}
    address = server().serve(lanceyard.MemoryNamespace(), server=places)
    url = f"{address}/v1/namespace/a/create?secret={SECRET}"
    for _ in range(2):
        urllib3.request("POST", url, json={"identity": {"api_key": SECRET}})
    urllib3.request("GET", f"{address}/v1/table", headers={"x-api-key": SECRET})
    while len(lines(file)) < 3:  # a line is written once its answer is sent
        time.sleep(0.01)
    assert [line["operation"] for line in lines(file)] == [
        *["CreateNamespace"] * 2,
        "ListAllTables",
    ]
    told = [(line["what"], line["objects"], line["outcome"]) for line in lines(audit)]
    assert told == [("CreateNamespace", ["a"], "done"), ("CreateNamespace", ["a"], "failed")]
    assert SECRET not in file.read_text() + audit.read_text()
