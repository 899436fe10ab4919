"""Wrecks: operations that are cut short at a chosen point, and what may be left of them."""

from __future__ import annotations

import io
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import lance
import pyarrow as pa
from lance_namespace.errors import LanceNamespaceError

from lanceyard.catalog.directory import open_catalog
from lanceyard.namespace import Namespace
from lanceyard.settings import DirectorySettings, Durability
from lanceyard.storage.base import Store
from lanceyard.storage.failing import Crash, FailingStore, Moment
from lanceyard.storage.local import LocalStore

MODES: dict[str, dict[str, bool]] = {
    "v1": {"manifest_enabled": False},
    "v2": {"dir_listing_enabled": False},
    "compat": {},
}
LOOSE = "loose"


@dataclass(frozen=True)
class Operation:
    """One mutating call, and how it answers when its effect is already there."""

    name: str
    call: str
    request: Mapping[str, Any]
    rows: tuple[int, ...] | None = None
    again: frozenset[int] = frozenset()
    modes: tuple[str, ...] = ("v1", "v2", "compat")
    claims: bool = field(default=False)
    """In a mode that lists directories the name shows up as declared before it is filled."""

    def run(self, instance: Namespace) -> Any:
        body = () if self.rows is None else (stream(self.rows),)
        return getattr(instance, self.call)(dict(self.request), *body)


def _operation(name: str, call: str, again: Sequence[int] = (), **more: Any) -> Operation:
    options = {key: more.pop(key) for key in ("rows", "modes", "claims") if key in more}
    return Operation(name, call, more, again=frozenset(again), **options)


_ROWS = ("v2", "compat")
PROPERTIES = {"owner": "me"}

OPERATIONS = [
    _operation("create_namespace", "create_namespace", [2], id=["new"], modes=_ROWS),
    _operation(
        "replace_namespace",
        "create_namespace",
        id=["ns"],
        mode="overwrite",
        properties=PROPERTIES,
        modes=_ROWS,
    ),
    _operation("drop_namespace", "drop_namespace", [1], id=["ns"], behavior="cascade", modes=_ROWS),
    _operation("alter_namespace", "alter_namespace", id=["ns"], set=PROPERTIES, modes=_ROWS),
    _operation("alter_root", "alter_namespace", id=[], set=PROPERTIES, modes=_ROWS),
    _operation("declare", "declare_table", [5], id=["new"]),
    _operation(
        "declare_below", "declare_table", [5], id=["ns", "new"], properties=PROPERTIES, modes=_ROWS
    ),
    _operation("create", "create_table", [5], id=["new"], rows=(7, 8), claims=True),
    _operation(
        "create_described",
        "create_table",
        [5],
        id=["new"],
        properties=PROPERTIES,
        rows=(7, 8),
        claims=True,
    ),
    _operation("create_below", "create_table", [5], id=["ns", "new"], rows=(7, 8), modes=_ROWS),
    _operation("fill", "create_table", [5], id=["declared"], rows=(7, 8)),
    _operation(
        "fill_described",
        "create_table",
        [5],
        id=["declared"],
        properties=PROPERTIES,
        rows=(7, 8),
    ),
    _operation("overwrite", "create_table", id=["t"], mode="overwrite", rows=(7, 8)),
    _operation(
        "overwrite_below",
        "create_table",
        id=["ns", "t"],
        mode="overwrite",
        rows=(7, 8),
        modes=_ROWS,
    ),
    _operation("register", "register_table", [5], id=["new"], location=LOOSE, modes=_ROWS),
    _operation(
        "register_own",
        "register_table",
        [5],
        id=["hidden"],
        location="hidden.lance",
        modes=("v1", "compat"),
    ),
    _operation("deregister", "deregister_table", [4], id=["t"]),
    _operation("drop", "drop_table", [4], id=["t"]),
    _operation("drop_below", "drop_table", [4], id=["ns", "t"], modes=_ROWS),
    _operation("rename", "rename_table", [4], id=["t"], new_table_name="new", modes=_ROWS),
    _operation(
        "rename_below",
        "rename_table",
        [4],
        id=["t"],
        new_table_name="new",
        new_namespace_id=["ns"],
        modes=_ROWS,
    ),
    _operation("alter", "alter_table", id=["t"], set=PROPERTIES),
]
CASES = [(operation, mode) for operation in OPERATIONS for mode in operation.modes]
IDS = [f"{operation.name}-{mode}" for operation, mode in CASES]


class State(NamedTuple):
    """All that a catalog shows: properties of namespaces, rows and properties of tables."""

    namespaces: dict[str, dict[str, str]]
    tables: dict[str, tuple[tuple[int, ...] | None, dict[str, str]]]


def open_namespace(
    root: str | Path, mode: str, store: Store | None = None, *, durable: bool = False
) -> Namespace:
    durability = Durability.FSYNC if durable else Durability.OS
    settings = DirectorySettings(root=str(root), durability=durability, **MODES[mode])
    return Namespace(open_catalog(settings, store=store))


def stream(rows: Sequence[int]) -> bytes:
    """The Arrow IPC stream of a column of numbers."""
    table = pa.table({"n": pa.array(rows, pa.int64())})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def show(root: str | Path, mode: str) -> State:
    """The state that a process sees which starts now; every table is described and read."""
    instance = open_namespace(root, mode)
    namespaces: dict[str, dict[str, str]] = {}
    pending: list[list[str]] = [[]]
    while pending:
        parent = pending.pop()
        namespaces["$".join(parent)] = instance.describe_namespace({"id": parent}).properties
        names = instance.list_namespaces({"id": parent}).namespaces if mode != "v1" else []
        pending += [[*parent, name] for name in names]
    listed = instance.list_all_tables({}).tables
    return State(namespaces, {name: _table(instance, name.split("$")) for name in listed})


def _table(
    instance: Namespace, identifier: list[str]
) -> tuple[tuple[int, ...] | None, dict[str, str]]:
    described = instance.describe_table({"id": identifier, "check_declared": True})
    if described.is_only_declared:
        return None, described.properties
    rows = lance.dataset(described.location).to_table()["n"].to_pylist()
    return tuple(rows), described.properties


def build(root: Path, mode: str) -> Path:
    """A catalog with something to lose."""
    instance = open_namespace(root, mode)
    properties = {"k": "v"}
    instance.create_table({"id": ["keep"], "properties": properties}, stream([1, 2]))
    instance.create_table({"id": ["t"], "properties": properties}, stream([3]))
    instance.declare_table({"id": ["declared"]})
    instance.create_table({"id": ["hidden"]}, stream([4]))
    instance.deregister_table({"id": ["hidden"]})
    if mode != "v1":
        instance.create_namespace({"id": ["ns"], "properties": properties})
        instance.create_namespace({"id": ["ns", "below"]})
        instance.create_table({"id": ["ns", "t"]}, stream([5]))
        instance.declare_table({"id": ["ns", "below", "declared"]})
    instance.close()
    lance.write_dataset(pa.table({"n": pa.array([6], pa.int64())}), str(root / LOOSE))
    return root


class Shipyard:
    """Catalogs to wreck: as many copies of a few originals as it takes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._originals: dict[str, Path] = {}
        self._numbers = itertools.count()

    def original(self, mode: str) -> Path:
        if mode not in self._originals:
            self._originals[mode] = build(self._folder / mode, mode)
        return self._originals[mode]

    @contextmanager
    def copy(self, mode: str) -> Iterator[Path]:
        """A catalog of its own, whose files are links: none is ever written in place."""
        root = self._folder / f"{mode}-{next(self._numbers)}"
        shutil.copytree(self.original(mode), root, copy_function=os.link)
        try:
            yield root
        finally:
            shutil.rmtree(root, ignore_errors=True)

    def expect(self, operation: Operation, mode: str) -> Expectation:
        """The states before and after an operation, and those that may be seen between them."""
        with self.copy(mode) as root:
            before = show(root, mode)
            instance = open_namespace(root, mode)
            operation.run(instance)
            after = show(root, mode)
        instance.close()
        between = []
        if operation.claims and mode != "v2":
            declared = {"$".join(operation.request["id"]): (None, {})}
            between = [before._replace(tables={**before.tables, **declared})]
        if operation.name == "overwrite" and mode == "compat":
            # The content is a commit of the Lance table, its properties one of the manifest.
            half = {"t": (after.tables["t"][0], before.tables["t"][1])}
            between = [after._replace(tables={**after.tables, **half})]
        if operation.name == "fill_described" and mode != "v1":
            # Properties come first: with them the table still is only declared.
            described = {"declared": (None, after.tables["declared"][1])}
            between = [after._replace(tables={**after.tables, **described})]
        return Expectation(operation, mode, before, after, between)


@dataclass(frozen=True)
class Expectation:
    """What may be found after an operation was cut short, and after it was tried again."""

    operation: Operation
    mode: str
    before: State
    after: State
    between: list[State]

    def check(self, root: Path, *, acknowledged: bool = False) -> None:
        """Look at the wreck, then let the next writer carry out the same operation."""
        found = self.look(root, acknowledged=acknowledged)
        instance = open_namespace(root, self.mode)
        code = answer(lambda: self.operation.run(instance))
        allowed = {None, *self.operation.again} if found == self.after else {None}
        assert code in allowed, (code, found)
        assert show(root, self.mode) == self.after
        self._go_on(instance, root)

    def look(self, root: Path, *, acknowledged: bool = False) -> State:
        """The state of a wreck: that before the operation or that after it, and nothing half."""
        found = show(root, self.mode)
        if acknowledged:
            assert found == self.after
        assert found in [self.before, self.after, *self.between], found
        return found

    def _go_on(self, instance: Namespace, root: Path) -> None:
        """Let the next writer do something else."""
        instance.create_table({"id": ["next"]}, stream([9]))
        tables = {**self.after.tables, "next": ((9,), {})}
        assert show(root, self.mode) == self.after._replace(tables=tables)


def answer(call: Callable[[], Any]) -> int | None:
    """The code a call is refused with; None if it is accepted."""
    try:
        call()
    except LanceNamespaceError as refusal:
        return int(refusal.code)
    return None


class Witness(FailingStore):
    """A store that never fails, and notes what lies below the root around each call."""

    def __init__(self, root: Path) -> None:
        super().__init__(LocalStore(str(root)), 0, Moment.BEFORE)
        self._root = root
        self.seen: dict[tuple[frozenset[tuple[str, int]], Moment], int] = {}
        """Each sight of the disk, and the number of the first call around which it was had."""

    def _call(self, call: Callable[..., Any], *args: Any, **named: Any) -> Any:
        self._look(Moment.BEFORE, self.calls + 1)
        result = super()._call(call, *args, **named)
        self._look(Moment.AFTER, self.calls)
        return result

    def _look(self, moment: Moment, call: int) -> None:
        files = (path for path in self._root.rglob("*") if path.is_file())
        sight = frozenset((str(path), path.stat().st_size) for path in files)
        if all((sight, other) not in self.seen for other in Moment):
            self.seen[sight, moment] = call


class Point(NamedTuple):
    """Where an operation is cut short: before or after its n-th storage call."""

    call: int
    moment: Moment


def crash_points(yard: Shipyard, operation: Operation, mode: str) -> list[Point]:
    """The calls between which the disk changes: a crash forgets all that is not on it."""
    with yard.copy(mode) as root:
        witness = Witness(root)
        instance = open_namespace(root, mode, witness)
        operation.run(instance)
        points = [Point(call, moment) for (_, moment), call in witness.seen.items()]
    instance.close()
    return points


def all_points(yard: Shipyard, operation: Operation, mode: str) -> list[Point]:
    """Before and after every storage call."""
    with yard.copy(mode) as root:
        counter = FailingStore(LocalStore(str(root)), 0, Moment.BEFORE)
        instance = open_namespace(root, mode, counter)
        operation.run(instance)
        calls = counter.calls
    instance.close()
    return [Point(call, moment) for call in range(1, calls + 1) for moment in Moment]


class Wreck(NamedTuple):
    """A catalog after a fault, and what the caller was told."""

    root: Path
    point: Point
    told: BaseException | None


@contextmanager
def wrecked(
    yard: Shipyard,
    operation: Operation,
    mode: str,
    point: Point,
    error: type[BaseException] = Crash,
) -> Iterator[Wreck]:
    """A catalog on which an operation fails at one storage call."""
    with yard.copy(mode) as root:
        store = FailingStore(LocalStore(str(root)), point.call, point.moment, error)
        instance = open_namespace(root, mode, store)
        yield Wreck(root, point, attempt(operation, instance))
    instance.close()


def attempt(operation: Operation, instance: Namespace) -> BaseException | None:
    """Carry out an operation and return what it raised."""
    try:
        operation.run(instance)
    except (Exception, Crash) as raised:
        return raised
    return None
