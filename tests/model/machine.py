"""The machine: any client of a directory catalog may do anything, and the oracle says the same."""

from __future__ import annotations

import io
import os
import shutil
import tempfile
from typing import Any, ClassVar

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from lance_namespace.errors import ErrorCode

import lanceyard

from .oracle import MODES, NOWHERE, Oracle, Request, Seen, ask, read_rows, visible_state

NAMESPACES: list[list[str]] = [["a"], ["a", "ü.%"], ["b c"]]
NAMES = ["a", "t t", "é.%41"]
TABLES = [*([name] for name in NAMES), ["a", "t t"], ["a", "ü.%", "é.%41"], ["b c", "t t"]]
SPOTS = ["deep/spot", "deep", "spot"]
VALUES = ["v", "ü", ""]

clients = st.integers(0, 1)
namespaces = st.sampled_from([[], *NAMESPACES])
tables = st.integers(0, 3 * len(TABLES) - 1)
"""Two in three are tables that exist, where there are any; see `CatalogMachine.table`."""
properties: st.SearchStrategy[dict[str, str]] = st.one_of(
    st.just({}),
    st.dictionaries(st.sampled_from(["k", "ключ"]), st.sampled_from(VALUES), max_size=2),
    st.just({"protected": "true"}),
)
unset = st.lists(st.sampled_from(["k", "ключ", "protected"]), max_size=3, unique=True)
create_modes = st.sampled_from([None, "create", "ExistOk", "exist_ok", "overwrite", "OVERWRITE"])
paging = st.fixed_dictionaries(
    {
        "limit": st.sampled_from([None, 1, 2, 100]),
        "page_token": st.sampled_from([None, "", "a", "b", "é.", "a$a", "\U0010ffff"]),
    }
)
flags = st.booleans()
rows = st.lists(st.integers(-9, 9), max_size=3)


def stream(numbers: list[int]) -> bytes:
    """An Arrow stream; without numbers it is a schema alone."""
    table = pa.table({"n": pa.array(numbers, pa.int64())})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


MALFORMED: list[tuple[Any, ...]] = [
    ("create_namespace", {"id": None}),
    ("create_namespace", {"id": ["a"], "mode": "sometimes"}),
    ("create_namespace", {"id": [], "mode": "overwrite"}),
    ("create_namespace", {"id": ["a$b"]}),
    ("drop_namespace", {"id": []}),
    ("drop_namespace", {"id": ["a"], "mode": "perhaps"}),
    ("drop_namespace", {"id": ["a"], "behavior": "perhaps"}),
    ("list_namespaces", {"id": [], "limit": 0}),
    ("list_tables", {"id": [], "limit": -1}),
    ("list_all_tables", {"limit": 0}),
    ("declare_table", {"id": []}),
    ("declare_table", {"id": ["__manifest"]}),
    ("create_table", {"id": ["a"], "mode": "sometimes"}, stream([1])),
    ("create_table", {"id": ["new"]}, b""),
    ("create_table", {"id": ["new"]}, b"garbage"),
    ("register_table", {"id": ["new"], "location": ""}),
    ("register_table", {"id": ["new"], "location": "."}),
    ("register_table", {"id": ["new"], "location": "__manifest"}),
    ("register_table", {"id": ["new"], "location": "__manifest/data"}),
    ("register_table", {"id": ["new"], "location": "../up"}),
    ("register_table", {"id": ["new"], "location": "/tmp"}),
    ("register_table", {"id": ["new"], "location": "s3://elsewhere/t"}),
    ("register_table", {"id": ["new"], "location": "a.lance", "mode": "exist_ok"}),
    ("describe_table", {"id": None}),
    ("describe_table", {"id": ["a/b"]}),
    ("table_exists", {"id": ["\n"]}),
    ("drop_table", {"id": []}),
    ("alter_table", {"id": ["x" * 201]}),
]
"""Requests that every catalog answers with 13, whatever is in it."""


class CatalogMachine(RuleBasedStateMachine):
    """Two clients of one root, and the oracle. Every rule is one operation, every step a check."""

    mode: ClassVar[str]
    steps: ClassVar[int] = 0

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="lanceyard-model-")
        self.root = f"{self.folder}/root"
        self.oracle = Oracle(MODES[self.mode], self.root)
        self.clients = [self.open(), self.open()]
        self.last = "nothing"
        self.has_tables = False
        self.places: list[str] = [NOWHERE]
        """Everywhere that a table ever was."""
        self.deregistered: dict[tuple[str, ...], str] = {}

    def open(self) -> Any:
        return lanceyard.DirectoryNamespace(
            root=self.root, durability="os", **MODES[self.mode].properties
        )

    def teardown(self) -> None:
        for client in self.clients:
            client.close()
        shutil.rmtree(self.folder)

    # One step

    def step(self, client: int, operation: str, request: Request, *body: bytes) -> None:
        """Let a client and the oracle do the same, and compare what they say and what is then."""
        type(self).steps += 1
        request = {key: value for key, value in request.items() if value is not None}
        self.last = f"{operation} {request}"
        expected = self.oracle.answer(operation, request, *body)
        actual = ask(getattr(self.clients[client], operation), request, *body)
        says, should = self.comparable(request, actual), self.comparable(request, expected)
        assert says == should, f"{operation} {request} answers {says!r}, and should {should!r}"
        if operation == "deregister_table" and not isinstance(actual, ErrorCode):
            self.deregistered[tuple(request["id"])] = actual.location
        self.compare_states(self.clients[1 - client])
        self.compare_directories()

    def comparable(self, request: Request, answer: Any) -> Any:
        """An answer without what may differ: where tables lie, and their version numbers."""
        if isinstance(answer, ErrorCode):
            return answer
        fields = answer.model_dump(exclude={"location", "table_uri", "metadata", "stats"})
        if MODES[self.mode].flat and ("location" in request or "version" in request):
            fields.pop("properties", None)  # a Lance table keeps them, and each version its own
        return {**fields, "version": fields.get("version") is not None}

    def some_place(self, number: int) -> str:
        """A location: one where a table lies or lay, more often one where none lies now."""
        taken = {self.oracle.twins[place] for place in self.oracle.used()}
        free = [place for place in self.places if place not in taken]
        choice = free if number % 3 else self.places
        return choice[number % len(choice)]

    def compare_states(self, client: Any) -> None:
        """The other client sees what the oracle sees, down to the rows of the tables."""
        actual = visible_state(client, read_rows)
        expected = visible_state(self.oracle.namespace, read_rows)
        assert actual == expected, f"after {self.last}: {actual} should be {expected}"
        self.has_tables = any(isinstance(table, Seen) for table in actual.values())
        for identifier, table in actual.items():
            twin = expected[identifier]
            if isinstance(table, Seen) and isinstance(twin, Seen):
                self.oracle.twins[twin.location] = table.location
                if table.location not in self.places:
                    self.places.append(table.location)

    def compare_directories(self) -> None:
        """Nothing lies in the root but tables, kept data of deregistered ones, and tombstones."""
        known = {twin for place, twin in self.oracle.twins.items() if os.path.isdir(place)}
        tops = {os.path.relpath(twin, self.root).split("/")[0] for twin in known} | {"__manifest"}
        found = os.listdir(self.root) if os.path.isdir(self.root) else []
        orphans = [name for name in found if name not in tops and self.has_content(name)]
        assert not orphans, f"nobody knows of {orphans}"

    def has_content(self, name: str) -> bool:
        files = [file for _, _, files in os.walk(f"{self.root}/{name}") for file in files]
        return bool(files) and files != [".lance-deregistered"]

    def table(self, number: int) -> list[str]:
        """The identifier that a number drawn by a rule stands for."""
        existing = self.oracle.namespace.list_all_tables({}).tables
        if number < len(TABLES) or not existing:
            return TABLES[number % len(TABLES)]
        return list(existing[number % len(existing)].split("$"))

    # Namespaces

    @initialize(
        client=clients,
        some=st.lists(st.sampled_from(TABLES), min_size=2, max_size=4, unique_by=str),
    )
    def start_with_some_tables(self, client: int, some: list[list[str]]) -> None:
        for identifier in NAMESPACES:
            self.step(client, "create_namespace", {"id": identifier})
        for identifier in some:
            self.step(1 - client, "create_table", {"id": identifier}, stream([1]))

    @rule(client=clients, id=namespaces, mode=create_modes, properties=properties)
    def create_namespace(self, client: int, **request: Any) -> None:
        self.step(client, "create_namespace", request)

    @rule(
        client=clients,
        id=st.sampled_from(NAMESPACES),
        mode=st.sampled_from([None, "fail", "Skip"]),
        behavior=st.sampled_from([None, "restrict", "Cascade"]),
    )
    def drop_namespace(self, client: int, **request: Any) -> None:
        self.step(client, "drop_namespace", request)

    @rule(client=clients, id=namespaces, set=properties, unset=unset)
    def alter_namespace(self, client: int, **request: Any) -> None:
        self.step(client, "alter_namespace", request)

    @rule(
        client=clients,
        id=namespaces,
        name=st.sampled_from(["describe_namespace", "namespace_exists"]),
    )
    def look_at_namespace(self, client: int, name: str, **request: Any) -> None:
        self.step(client, name, request)

    @rule(
        client=clients,
        id=namespaces,
        page=paging,
        name=st.sampled_from(["list_namespaces", "list_tables", "list_all_tables"]),
        declared=st.sampled_from([None, True, False]),
    )
    def list_names(
        self, client: int, name: str, page: Request, declared: bool | None, **request: Any
    ) -> None:
        request = {} if name == "list_all_tables" else request
        more = {} if name == "list_namespaces" else {"include_declared": declared}
        self.step(client, name, {**request, **page, **more})

    # Tables

    @rule(
        client=clients,
        table=tables,
        properties=properties,
        location=st.sampled_from([None, None, None, *SPOTS]),
    )
    def declare_table(self, client: int, table: int, **request: Any) -> None:
        self.step(client, "declare_table", {"id": self.table(table), **request})

    @rule(client=clients, table=tables, mode=create_modes, properties=properties, numbers=rows)
    def create_table(self, client: int, table: int, numbers: list[int], **request: Any) -> None:
        self.step(client, "create_table", {"id": self.table(table), **request}, stream(numbers))

    @rule(client=clients, id=st.sampled_from(TABLES), numbers=rows)
    def create_new_table(self, client: int, numbers: list[int], **request: Any) -> None:
        self.step(client, "create_table", request, stream(numbers))

    @rule(client=clients, table=tables, mode=create_modes, properties=properties, more=properties)
    def declare_and_fill_table(
        self, client: int, table: int, mode: str | None, properties: Request, more: Request
    ) -> None:
        identifier = self.table(table)
        self.step(client, "declare_table", {"id": identifier, "properties": properties})
        request = {"id": identifier, "mode": mode, "properties": more}
        self.step(1 - client, "create_table", request, stream([2]))

    @rule(
        client=clients,
        table=tables,
        mode=st.sampled_from([None, "create", "Overwrite"]),
        properties=properties,
        at=st.integers(0, 19),
        relative=flags,
    )
    def register_table(
        self, client: int, table: int, at: int, relative: bool, **request: Any
    ) -> None:
        location = self.some_place(at)
        if relative and os.path.isabs(location):
            location = os.path.relpath(location, self.root)
        self.step(
            client, "register_table", {"id": self.table(table), "location": location, **request}
        )

    @precondition(lambda self: self.deregistered)
    @rule(client=clients, at=st.integers(0, 19))
    def register_again(self, client: int, at: int) -> None:
        """Give a table that was deregistered its name back."""
        gone = [*self.deregistered.items()]
        identifier, location = gone[at % len(gone)]
        self.step(client, "register_table", {"id": list(identifier), "location": location})

    @precondition(lambda self: self.has_tables)
    @rule(
        client=clients,
        table=tables,
        version=st.sampled_from([None, None, 1, 99]),
        load_detailed_metadata=flags,
        check_declared=flags,
        with_table_uri=flags,
    )
    def describe_table(self, client: int, table: int, **request: Any) -> None:
        self.step(client, "describe_table", {"id": self.table(table), **request})

    @precondition(lambda self: self.has_tables)
    @rule(client=clients, table=tables, version=st.sampled_from([None, 1, 99]))
    def table_exists(self, client: int, table: int, **request: Any) -> None:
        self.step(client, "table_exists", {"id": self.table(table), **request})

    @precondition(lambda self: self.has_tables)
    @rule(client=clients, table=tables)
    def deregister_table(self, client: int, table: int) -> None:
        self.step(client, "deregister_table", {"id": self.table(table)})

    @precondition(lambda self: self.has_tables)
    @rule(client=clients, table=tables)
    def drop_table(self, client: int, table: int) -> None:
        self.step(client, "drop_table", {"id": self.table(table)})

    @precondition(lambda self: self.has_tables)
    @rule(
        client=clients,
        table=tables,
        new_table_name=st.sampled_from(NAMES),
        new_namespace_id=st.one_of(st.none(), namespaces),
    )
    def rename_table(self, client: int, table: int, **request: Any) -> None:
        self.step(client, "rename_table", {"id": self.table(table), **request})

    @precondition(lambda self: self.has_tables)
    @rule(client=clients, table=tables, set=properties, unset=unset)
    def alter_table(self, client: int, table: int, **request: Any) -> None:
        self.step(client, "alter_table", {"id": self.table(table), **request})

    # Whatever the state

    @rule(client=clients, number=st.integers(0, len(MALFORMED) - 1))
    def refuse_malformed(self, client: int, number: int) -> None:
        type(self).steps += 1
        operation, *arguments = MALFORMED[number]
        for namespace in (self.clients[client], self.oracle.namespace):
            assert ask(getattr(namespace, operation), *arguments) == ErrorCode.INVALID_INPUT
        self.compare_states(self.clients[1 - client])


class ReopeningMachine(CatalogMachine):
    """As before, and at any step a client may be a new one, which has read nothing yet."""

    @rule(client=clients)
    def reopen(self, client: int) -> None:
        self.clients[client].close()
        self.clients[client] = self.open()

    @rule(client=clients)
    def look_with_a_new_client(self, client: int) -> None:
        self.compare_states(self.open())
