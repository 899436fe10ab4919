"""Whatever a client makes of the OpenAPI document is answered as the document says.

Requests are made by schemathesis: such as the document allows, and such as it does not. Most of
them are about things that exist, or they would say little.
"""

from __future__ import annotations

import random
import shutil
import socket
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

import lanceyard
from lanceyard.rest.protocol import BY_NAME
from lanceyard.server.openapi import ARROW_STREAM, describe
from tests.rest.walk import ROWS, VIEW, Step, stream, walk
from tests.versions.managed import open_managed

from .serving import server

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
SETTINGS = {"dir_listing_enabled": "false", "durability": "os"}
FEW, MANY = 12, 200
"""Requests for each operation."""
TABLE_IDS = ["t", "ns$t", "ns$view", "ns$declared", "nope", "ns$nope", "nope$t"]
IDS = {"namespace": ["$", "ns", "ns$inner", "nope", "t"], "transaction": ["nope", "a$b"]}
COLUMNS = ["n", "text", "v", "nope", "", "n.m", "`n`", "_rowid", "\0"]
FILTERS = ["n > 1", "n = 'x'", "nope = 1", "(", "", "text IS NULL", "1", "n > 1; DROP", "\0"]
VERSIONS = [0, 1, 2, 99, 2**63 - 1, 2**64, -1]
WORDS: dict[str, list[Any]] = {
    "aggregate": ["sum"],
    "alias": ["n", ""],
    "behavior": ["Cascade", "restrict", "nope"],
    "branch": ["b", "main", "nope", ""],
    "column": COLUMNS,
    "columns": COLUMNS,
    "distance_type": ["l2", "cosine", "nope"],
    "expression": ["n * 2", "nope", "(", "n"],
    "filter": FILTERS,
    "from_branch": ["b", "nope"],
    "full_text_query": [{"string_query": {"query": "two"}}, {"string_query": {"query": ""}}],
    "id": [["t"], ["ns", "t"], ["nope"], [], ["ns"], ["", "t"], ["x" * 300]],
    "index_name": ["n_idx", "nope", ""],
    "index_type": ["BTREE", "IVF_FLAT", "FTS", "IVF_PQ", "BITMAP", "nope"],
    "k": [0, 1, 3, 2**31, 2**63],
    "kind": ["query", "udtf", "nope"],
    "limit": [0, 1, 2, 2**31, 2**63, -1],
    "manifest_path": ["_versions/x", "../x", "/etc/passwd", ""],
    "metadata": [{}, {"a": "b"}],
    "mode": ["create", "overwrite", "append", "exist_ok", "skip", "fail", "nope"],
    "name": ["n_idx", "b", "nope", "new"],
    "new_namespace_id": [["ns"], [], ["nope"]],
    "new_table_name": ["u", "t", "", "a$b", ".."],
    "on": ["n", "text", "nope"],
    "order_by": ["n"],
    "output_schema": ["", "AAAA"],
    "page_token": ["t", "a", "", "zz"],
    "path": COLUMNS,
    "predicate": FILTERS,
    "rename": ["m", "n", ""],
    "source_query": [VIEW["source_query"], "{}", "["],
    "tag": ["one", "new", "nope", ""],
    "timeout": ["1s", "nope", ""],
    "updates": [[["n", "1"]], [["nope", "1"]], [["n"]], []],
    "vector": [{"single_vector": [1, 2, 3, 4]}, {"single_vector": [1]}, {"multi_vector": [[]]}],
    "vector_column": ["v", "n", "nope"],
    "version": VERSIONS,
}
"""What fields are given, rather than what chance makes of their types; the first most often."""


STREAMS = [
    stream(ROWS),
    stream(ROWS.slice(0, 0)),
    stream(ROWS.select(["n"])),
    stream(pa.table({"nope": [1]})),
    stream(pa.table({"n": ["text"]})),
    stream(ROWS)[:-20],
    stream(ROWS)[:200],
]


@cache
def schema() -> Any:
    """The document, as schemathesis has it."""
    schemathesis.openapi.media_type(ARROW_STREAM, st.sampled_from(STREAMS) | st.binary())
    return schemathesis.openapi.from_dict(describe(secured=False))


class Trap:
    """Somewhere outside of the catalog: a port that nobody should call, and a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        (folder / "kept").write_text("kept")
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(0)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def words(self) -> dict[str, list[Any]]:
        """Fields that lead there."""
        options = {"endpoint": self.url, "aws_endpoint": self.url, "allow_http": "true"}
        places = [
            str(self.folder),
            f"file://{self.folder}",
            "s3://bucket/t",
            "../outside",
            "t.lance",
        ]
        places += [f"{self.url}/t", "", "/", "\0", "memory://t", "t.lance/_versions"]
        return {"location": places, "storage_options": [options], "properties": [options, {}]}

    def check(self) -> None:
        """Nobody was there."""
        assert [path.name for path in self.folder.iterdir()] == ["kept"]
        with pytest.raises(BlockingIOError):
            self._socket.accept()

    def close(self) -> None:
        self._socket.close()


@pytest.fixture(scope="module", params=["false"], ids=["plain"])
def managed(request: pytest.FixtureRequest) -> str:
    """Whether the catalog manages the versions of its tables."""
    return str(request.param)


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory, managed: str) -> Path:
    """A catalog to make copies of."""
    root = tmp_path_factory.mktemp("schemas") / "catalog"
    with lanceyard.open(root, table_version_management=managed, **SETTINGS) as yard:
        namespace = yard.namespace
        yard.create_namespace("ns")
        yard.create_namespace("ns.inner")
        for name in ("t", "ns.t"):
            table = yard.create_table(name, ROWS)
            identifier = name.split(".")
            table.append(ROWS)
            namespace.create_table_tag({"id": identifier, "tag": "one", "version": 1})
            namespace.create_table_branch({"id": identifier, "name": "b"})
            index = {"id": identifier, "column": "n", "index_type": "BTREE"}
            namespace.create_table_scalar_index(index)
        namespace.declare_table({"id": ["ns", "declared"]})
        namespace.create_materialized_view({"id": ["ns", "view"], **VIEW})
    return root


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Trap]:
    """What nobody may touch."""
    found = Trap(tmp_path / "outside")
    yield found
    found.check()
    found.close()


@pytest.fixture
def address(catalog: Path, tmp_path: Path, managed: str) -> Iterator[str]:
    """Where a copy of the catalog is served."""
    root = tmp_path / "catalog"
    shutil.copytree(catalog, root)
    more = {**SETTINGS, "table_version_management": managed}
    namespace = lanceyard.DirectoryNamespace(root=str(root), **more)
    yield server().serve(namespace)
    namespace.close()


def enliven(value: Any, words: dict[str, list[Any]], luck: random.Random, name: str = "") -> Any:
    """What was made by chance, with fields that make sense here and there."""
    if name in words and luck.random() < 0.8:
        likely = words[name][0]
        found = luck.choice([likely, likely, likely, *words[name]])
        return [found] if isinstance(value, list) and not isinstance(found, list) else found
    if isinstance(value, dict):
        return {each: enliven(inner, words, luck, each) for each, inner in value.items()}
    if isinstance(value, list):
        return [enliven(each, words, luck, name) for each in value]
    return value


def place(case: Any, luck: random.Random) -> None:
    """Let a request be about something that exists, most of the time."""
    if luck.random() < 0.1 or "id" not in case.path_parameters:
        return
    kind = case.path.split("/")[2]
    case.path_parameters["id"] = luck.choice(IDS.get(kind, TABLE_IDS))
    case.query.pop("delimiter", None)
    if isinstance(case.body, dict):
        case.body.pop("id", None)


def make(step: Step) -> Any:
    """A request as schemathesis has it."""
    operation = schema().find_operation_by_id(step.name)
    named = {"id": step.id, "index_name": step.index_name}
    more = {} if step.body is None else {"body": step.body, "media_type": body_type(step)}
    return operation.Case(
        path_parameters={name: value for name, value in named.items() if value},
        query=dict(step.query),
        **more,
    )


def body_type(step: Step) -> str:
    """The type of the content of a request."""
    return ARROW_STREAM if isinstance(step.body, bytes) else "application/json"


def has_a_code(response: schemathesis.Response) -> None:
    """Every error says what it is."""
    if response.status_code >= 400:
        said = response.json()
        assert said["code"] in range(24)
        assert said["error"]
        assert [said["instance"]] == response.headers["x-request-id"]


def ask(name: str, address: str, trap: Trap, examples: int, *, again: bool) -> None:
    """Make requests for an operation, the same `again` each time, and look at each answer."""
    words = {**WORDS, **trap.words()}
    operation = schema().find_operation_by_id(name)
    modes = schemathesis.GenerationMode
    good, bad = (operation.as_strategy(generation_mode=each) for each in modes)

    @settings(
        max_examples=examples,
        derandomize=again,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=good | bad, seed=st.integers(0, 2**32))
    def each(case: Any, seed: int) -> None:
        luck = random.Random(seed)
        case.query = enliven(case.query, words, luck)
        case.body = enliven(case.body, words, luck)
        place(case, luck)
        response = case.call(base_url=address, session=session)
        case.validate_response(response, checks=CHECKS)
        has_a_code(response)

    with requests.Session() as session:
        each()


def test_every_operation_succeeds_as_the_document_says(tmp_path: Path) -> None:
    namespace = open_managed(tmp_path)
    address = server().serve(namespace)
    done = set()
    for step in walk(namespace, tmp_path):
        case = make(step)
        response = case.call(base_url=address)
        assert (step.name, response.status_code) == (step.name, BY_NAME[step.name].status), case
        case.validate_response(response, checks=CHECKS)
        done.add(step.name)
    assert done == {*BY_NAME}
    namespace.close()


@pytest.mark.parametrize("name", BY_NAME)
def test_whatever_is_asked_for_is_answered_as_the_document_says(
    name: str, address: str, trap: Trap
) -> None:
    ask(name, address, trap, FEW, again=True)


@pytest.mark.deep
@pytest.mark.parametrize("managed", ["false", "true"], indirect=True, ids=["plain", "managed"])
@pytest.mark.parametrize("name", BY_NAME)
def test_so_is_much_more(name: str, address: str, trap: Trap) -> None:
    ask(name, address, trap, MANY, again=False)
