"""The machine of rows: any sequence of data operations leaves what plain Python says."""

from __future__ import annotations

import io
import shutil
import tempfile
from datetime import timedelta
from typing import Any, ClassVar

import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from lance_namespace.errors import ErrorCode, LanceNamespaceError

import lanceyard
from lanceyard.namespace import Namespace

TABLE = {"id": ["t"]}
SIDE = "side"

Row = tuple[int, int | None]
keys = st.integers(0, 9)
values = st.one_of(st.none(), st.integers(-5, 5))
rows = st.lists(st.tuples(keys, values), max_size=4)
unique_rows = st.lists(st.tuples(keys, values), max_size=4, unique_by=lambda row: row[0])
branches = st.sampled_from([None, None, SIDE])
limits = st.integers(1, 12)


def body(found: list[Row]) -> bytes:
    """Rows as an Arrow IPC stream."""
    table = pa.table(
        {
            "k": pa.array([key for key, _ in found], pa.int64()),
            "v": pa.array([value for _, value in found], pa.int64()),
        }
    )
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def order(row: Row) -> tuple[int, bool, int]:
    """Rows with nulls can be sorted."""
    return row[0], row[1] is not None, row[1] or 0


class RowMachine(RuleBasedStateMachine):
    """One table and its branch, changed by two clients; what they hold is a list in Python."""

    properties: ClassVar[dict[str, str] | None] = {}
    managed: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.mkdtemp(prefix="rows-", dir="/dev/shm")
        self.clients = self.connect()
        self.turn = 0
        self.now: dict[str | None, list[Row]] = {None: []}
        self.past: dict[int, list[Row]] = {}
        self.tags: dict[str, int] = {}

    def connect(self) -> list[Namespace]:
        """Two clients of one catalog; memory has only one."""
        if self.properties is None:
            return [lanceyard.MemoryNamespace()]
        if self.managed:
            with lanceyard.open(self.root, **self.properties) as yard:
                yard.manage_versions(wait=timedelta(0))
        return [lanceyard.DirectoryNamespace(root=self.root, **self.properties) for _ in "ab"]

    def teardown(self) -> None:
        for client in self.clients:
            client.close()
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def client(self) -> Any:
        """The clients take turns."""
        self.turn += 1
        return self.clients[self.turn % len(self.clients)]

    def ask(self, operation: str, *data: bytes, **fields: Any) -> Any:
        return getattr(self.client, operation)({**TABLE, **fields}, *data)

    def changed(self, branch: str | None, rows: list[Row]) -> None:
        """Remember what a table or its branch holds now."""
        self.now[branch] = rows
        if branch is None:
            self.past[self.latest()] = list(rows)

    def latest(self) -> int:
        return int(self.ask("list_table_versions", limit=1).versions[0].version)

    @initialize(found=rows)
    def create(self, found: list[Row]) -> None:
        self.ask("create_table", body(found))
        self.changed(None, found)

    @rule(found=rows, branch=branches)
    def insert(self, found: list[Row], branch: str | None) -> None:
        if branch not in self.now:
            return
        answer = self.ask("insert_into_table", body(found), branch=branch)
        assert answer.num_inserted_rows == len(found)
        self.changed(branch, self.now[branch] + found)

    @rule(found=rows)
    def overwrite(self, found: list[Row]) -> None:
        self.ask("insert_into_table", body(found), mode="overwrite")
        self.changed(None, found)

    @rule(key=keys, branch=branches)
    def delete(self, key: int, branch: str | None) -> None:
        if branch not in self.now:
            return
        self.ask("delete_from_table", predicate=f"k = {key}", branch=branch)
        self.changed(branch, [row for row in self.now[branch] if row[0] != key])

    @rule(key=keys, branch=branches)
    def update(self, key: int, branch: str | None) -> None:
        if branch not in self.now:
            return
        updates = [["v", "k + 100"]]
        answer = self.ask("update_table", updates=updates, predicate=f"k > {key}", branch=branch)
        assert answer.updated_rows == sum(row[0] > key for row in self.now[branch])
        set_ = [(k, k + 100) if k > key else (k, v) for k, v in self.now[branch]]
        self.changed(branch, set_)

    @rule(found=unique_rows, update=st.booleans(), insert=st.booleans(), delete=st.booleans())
    def merge(self, found: list[Row], *, update: bool, insert: bool, delete: bool) -> None:
        clauses = {
            "when_matched_update_all": update,
            "when_not_matched_insert_all": insert,
            "when_not_matched_by_source_delete": delete,
        }
        try:
            self.ask("merge_insert_into_table", body(found), on=["k"], **clauses)
        except LanceNamespaceError as refusal:
            assert refusal.code == ErrorCode.INVALID_INPUT  # noqa: PT017 - nothing to be done
            assert not any(clauses.values())
            return
        source, table = dict(found), self.now[None]
        present = {key for key, _ in table}
        merged = [(k, source[k] if update and k in source else v) for k, v in table]
        if delete:
            merged = [row for row in merged if row[0] in source]
        if insert:
            merged += [row for row in found if row[0] not in present]
        self.changed(None, merged)

    @precondition(lambda self: SIDE not in self.now)
    @rule()
    def create_branch(self) -> None:
        self.ask("create_table_branch", name=SIDE)
        self.now[SIDE] = list(self.now[None])

    @precondition(lambda self: SIDE in self.now)
    @rule()
    def delete_branch(self) -> None:
        self.ask("delete_table_branch", name=SIDE)
        del self.now[SIDE]

    @rule(name=st.sampled_from(["x", "y"]), data=st.data())
    def tag(self, name: str, data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(sorted(self.past)))
        known = name in self.tags
        self.ask(f"{'update' if known else 'create'}_table_tag", tag=name, version=version)
        self.tags[name] = version

    @precondition(lambda self: self.tags)
    @rule(data=st.data())
    def untag(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.tags)))
        self.ask("delete_table_tag", tag=name)
        del self.tags[name]

    @rule(data=st.data())
    def restore(self, data: st.DataObject) -> None:
        version = data.draw(st.sampled_from(sorted(self.past)))
        self.ask("restore_table", version=version)
        self.changed(None, list(self.past[version]))

    @rule(kind=st.sampled_from(["BTREE", "BITMAP", "ZONEMAP"]))
    def index(self, kind: str) -> None:
        request = {"column": "k", "index_type": kind, "name": kind.lower(), "replace": True}
        self.ask("create_table_scalar_index", **request)
        self.past[self.latest()] = list(self.now[None])

    @rule(key=keys, limit=limits, branch=branches)
    def query(self, key: int, limit: int, branch: str | None) -> None:
        if branch not in self.now:
            return
        answer = self.ask("query_table", k=limit, filter=f"k >= {key}", branch=branch)
        found = pa.ipc.open_file(pa.py_buffer(answer.data)).read_all()
        wanted = [row for row in self.now[branch] if row[0] >= key]
        rows = [(row["k"], row["v"]) for row in found.to_pylist()]
        assert len(rows) == min(limit, len(wanted))
        if limit >= len(wanted):
            assert sorted(rows, key=order) == sorted(wanted, key=order)

    @rule(data=st.data(), key=keys)
    def count_an_earlier_version(self, data: st.DataObject, key: int) -> None:
        version = data.draw(st.sampled_from(sorted(self.past)))
        count = self.ask("count_table_rows", version=version, predicate=f"k = {key}").count
        assert count == sum(row[0] == key for row in self.past[version])

    @invariant()
    def rows_are_counted(self) -> None:
        for branch, rows in self.now.items():
            if self.past:
                assert self.ask("count_table_rows", branch=branch).count == len(rows)

    @invariant()
    def statistics_are_right(self) -> None:
        if self.past:
            stats = self.ask("get_table_stats")
            assert stats.num_rows == len(self.now[None])
            tags = {n: tag.version for n, tag in self.ask("list_table_tags").tags.items()}
            assert tags == self.tags
