"""Victims: processes that do a bit of everything to a catalog, until they are killed."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import random
import time
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Any, ClassVar, NamedTuple

import lance
import lance.namespace
import pyarrow as pa
from lance_namespace.errors import LanceNamespaceError

import lanceyard
from tests.crash.victims import Log
from tests.races.arena import MODES, Step, call

WINDOW = "1"
MOST_HIDDEN = 3
NEEDS_ROWS = {"rename", "create_namespace", "alter_namespace", "drop_namespace"}

Properties = dict[str, str]
Content = tuple[tuple[int, ...] | None, Properties]
"""The rows of a table, None while it is only declared, and its properties."""


class World(NamedTuple):
    """All that was acknowledged."""

    namespaces: dict[str, Properties]
    tables: dict[str, Content]
    hidden: dict[str, Content]
    """Deregistered tables, by the names of their directories."""

    def keeps(self, name: str) -> bool:
        """Whether a table that was deregistered has the directory of a root table."""
        return directory_of(name) in self.hidden

    def below(self, parent: str) -> list[str]:
        """Everything below a namespace."""
        names = [*self.namespaces, *self.tables]
        return [name for name in names if name.startswith(f"{parent}$")]


NOTHING = World({"": {}}, {}, {})


class Deed(NamedTuple):
    """One operation of a victim, as its log tells it."""

    operation: str
    name: str = ""
    detail: Any = None
    properties: Properties | None = None


Parts = tuple[Any, ...]
"""What follows the operation in a deed."""
FULL_NAMES = {
    "declare": "declare_table",
    "drop": "drop_table",
    "discard": "drop_table",
    "rename": "rename_table",
    "deregister": "deregister_table",
    "register": "register_table",
    "alter": "alter_table",
}


def directory_of(name: str) -> str:
    """The directory that V1 and compatibility mode give a root table."""
    return f"{name}.lance"


def after(world: World, deed: Deed, mode: str) -> World:
    """What is there once a deed was done."""
    if deed.operation in ("create_namespace", "alter_namespace"):
        before = world.namespaces.get(deed.name, {})
        changed = {deed.name: {**before, **(deed.properties or {})}}
        return world._replace(namespaces={**world.namespaces, **changed})
    if deed.operation == "drop_namespace":
        gone = {deed.name, *world.below(deed.name)}
        namespaces = {name: kept for name, kept in world.namespaces.items() if name not in gone}
        tables = {name: kept for name, kept in world.tables.items() if name not in gone}
        return world._replace(namespaces=namespaces, tables=tables)
    if deed.operation in ("deregister", "register", "discard"):
        return _after_hiding(world, deed, mode)
    return world._replace(tables=_tables_after(world.tables, deed))


def _after_hiding(world: World, deed: Deed, mode: str) -> World:
    tables, hidden = dict(world.tables), dict(world.hidden)
    if deed.operation == "deregister":
        hidden[deed.detail] = tables.pop(deed.name)
    else:
        rows, properties = hidden.pop(deed.detail)
        if deed.operation == "register":
            tables[deed.name] = (rows, properties if mode == "v1" else deed.properties or {})
    return world._replace(tables=tables, hidden=hidden)


def _tables_after(tables: dict[str, Content], deed: Deed) -> dict[str, Content]:
    if deed.operation == "reopen":
        return tables
    properties = deed.properties or {}
    rest = {name: content for name, content in tables.items() if name != deed.name}
    rows, before = tables.get(deed.name, (None, {}))
    if deed.operation in ("create", "overwrite", "declare"):
        kept = before if rows is None else {}
        new = None if deed.detail is None else tuple(deed.detail)
        return {**rest, deed.name: (new, {**kept, **properties})}
    if deed.operation == "append":
        return {**rest, deed.name: ((*(rows or ()), *deed.detail), before)}
    if deed.operation == "alter":
        return {**rest, deed.name: (rows, {**before, **properties})}
    return rest if deed.operation == "drop" else {**rest, deed.detail: (rows, before)}


def outcomes(world: World, deed: Deed, mode: str) -> Iterator[World]:
    """What may be there if a victim was killed within a deed."""
    done = after(world, deed, mode)
    yield world
    yield done
    if deed.operation == "overwrite" and mode == "compat":
        # The content is a commit of the Lance table, its properties one of the manifest.
        half = (done.tables[deed.name][0], world.tables[deed.name][1])
        yield done._replace(tables={**done.tables, deed.name: half})
    if deed.operation == "declare" and mode == "compat":
        # The directory tells of the table first, the manifest of its properties.
        yield done._replace(tables={**done.tables, deed.name: (None, {})})
    if deed.operation == "create" and deed.name in world.tables:
        # Properties come first: with them the table still is only declared.
        yield done._replace(tables={**done.tables, deed.name: (None, done.tables[deed.name][1])})


class Ours:
    """Does to a catalog, through ours, all that can be done."""

    SPACES: tuple[str, ...] = ("n0", "n1", "n0$m")
    ROOT: tuple[str, ...] = ("t0", "t1", "t2", "t3", "t4")
    BELOW: tuple[str, ...] = ("t0", "t1")
    WEIGHTS: ClassVar[dict[str, int]] = {
        "create": 8,
        "declare": 4,
        "overwrite": 4,
        "append": 4,
        "drop": 4,
        "rename": 4,
        "deregister": 3,
        "register": 3,
        "discard": 1,
        "alter": 3,
        "create_namespace": 4,
        "alter_namespace": 1,
        "drop_namespace": 2,
        "reopen": 1,
    }

    def __init__(self, root: str, mode: str, chance: random.Random) -> None:
        self._root = root
        self._mode = mode
        self._chance = chance
        left_out = NEEDS_ROWS if mode == "v1" else set[str]()
        self._weights = {deed: n for deed, n in self.WEIGHTS.items() if deed not in left_out}
        self._instance = self._open()

    def _open(self) -> Any:
        settings = {"durability": "os", "window": WINDOW, **MODES[self._mode]}
        return lanceyard.DirectoryNamespace(root=self._root, **settings)

    def choose(self, world: World) -> Deed:
        """Something that can be done to what is there."""
        while True:
            (operation,) = self._chance.choices([*self._weights], [*self._weights.values()])
            with contextlib.suppress(IndexError):  # there is nothing to choose from
                return Deed(operation, *getattr(self, f"_{operation}")(world))

    def do(self, deed: Deed) -> None:
        """Do it; returns once it is acknowledged."""
        operation, name, detail, properties = deed
        request: dict[str, Any] = {"id": name.split("$")}
        if operation in ("create", "overwrite"):
            request |= {"mode": operation, "properties": properties}
            self._call("create_table", request, tuple(detail))
        elif operation == "append":
            self._extend(name, detail)
        elif operation == "reopen":
            self._instance.close()
            self._instance = self._open()
        elif operation in ("alter", "alter_namespace"):
            alter = getattr(self._instance, FULL_NAMES.get(operation, operation))
            alter({**request, "set": properties})
        else:
            if operation == "rename":
                *parent, new = detail.split("$")
                request |= {"new_table_name": new, "new_namespace_id": parent}
            elif operation == "register":
                request |= {"location": detail}
            elif operation == "drop_namespace":
                request |= {"behavior": detail}
            if properties is not None:
                request |= {"properties": properties}
            self._call(FULL_NAMES.get(operation, operation), request)

    def _call(
        self, operation: str, request: dict[str, Any], rows: tuple[int, ...] | None = None
    ) -> Any:
        return call(self._instance, Step(operation, request, rows))

    def _extend(self, name: str, rows: list[int]) -> None:
        """Append to a table as programs do that know Lance alone."""
        table = pa.table({"n": pa.array(rows, pa.int64())})
        lance.write_dataset(table, self._location(name), mode="append")

    def _location(self, name: str) -> str:
        location: str = self._call("describe_table", {"id": name.split("$")}).location
        return location

    def _pick(self, names: Sequence[str]) -> str:
        return self._chance.choice(names)

    def _rows(self) -> list[int]:
        return [self._chance.randrange(1_000) for _ in range(3)]

    def _properties(self) -> Properties:
        return {"k": str(self._chance.randrange(100))} if self._chance.random() < 0.5 else {}

    def _free(self, world: World) -> str:
        """A name that no table has, below a namespace that is there."""
        spaces = [space for space in self.SPACES if space in world.namespaces]
        names = [*self.ROOT, *(f"{space}${name}" for space in spaces for name in self.BELOW)]
        listing = self._mode != "v2"
        taken = {*world.tables, *(name for name in names if listing and world.keeps(name))}
        return self._pick([name for name in names if name not in taken])

    def _filled(self, world: World) -> str:
        """A table that has data."""
        return self._pick([name for name, (rows, _) in world.tables.items() if rows is not None])

    def _declared(self, world: World) -> str:
        """A table that has none yet."""
        return self._pick([name for name, (rows, _) in world.tables.items() if rows is None])

    def _create(self, world: World) -> Parts:
        name = self._declared(world) if self._chance.random() < 0.3 else self._free(world)
        return name, self._rows(), self._properties()

    def _declare(self, world: World) -> Parts:
        return self._free(world), None, {} if self._mode == "v1" else self._properties()

    def _overwrite(self, world: World) -> Parts:
        return self._filled(world), self._rows(), self._properties()

    def _append(self, world: World) -> Parts:
        return self._filled(world), self._rows()

    def _drop(self, world: World) -> Parts:
        return (self._pick([*world.tables]),)

    def _rename(self, world: World) -> Parts:
        return self._pick([*world.tables]), self._free(world)

    def _deregister(self, world: World) -> Parts:
        if len(world.hidden) >= MOST_HIDDEN:
            raise IndexError
        name = self._filled(world)
        return name, os.path.basename(self._location(name))

    def _register(self, world: World) -> Parts:
        directory = self._pick([*world.hidden])
        if self._mode != "v2" and directory.endswith(".lance"):
            name = directory.removesuffix(".lance")
            if name in world.tables:
                raise IndexError
            return name, directory, {} if self._mode == "v1" else self._properties()
        return self._free(world), directory, self._properties()

    def _discard(self, world: World) -> Parts:
        directory = self._pick([path for path in world.hidden if path.endswith(".lance")])
        name = directory.removesuffix(".lance")
        if name in world.tables:
            raise IndexError
        return name, directory

    def _alter(self, world: World) -> Parts:
        name = self._filled(world) if self._mode == "v1" else self._pick([*world.tables])
        return name, None, {"k": str(self._chance.randrange(100))}

    def _create_namespace(self, world: World) -> Parts:
        free = [name for name in self.SPACES if name not in world.namespaces]
        name = self._pick([n for n in free if n.rpartition("$")[0] in world.namespaces])
        return name, None, self._properties()

    def _alter_namespace(self, world: World) -> Parts:
        name = self._pick([name for name in world.namespaces if name])
        return name, None, {"k": str(self._chance.randrange(100))}

    def _drop_namespace(self, world: World) -> Parts:
        name = self._pick([name for name in world.namespaces if name])
        return name, "Cascade" if world.below(name) else "Restrict"

    def _reopen(self, world: World) -> Parts:
        return ()


class Reference(Ours):
    """Does what the reference implementation can, and nothing twice to one name.

    What is left of an operation that was cut short bars its name, there.
    """

    WEIGHTS: ClassVar[dict[str, int]] = {
        "create": 8,
        "declare": 4,
        "overwrite": 4,
        "append": 4,
        "drop": 6,
        "deregister": 2,
        "create_namespace": 3,
        "drop_namespace": 1,
    }

    def __init__(self, root: str, mode: str, chance: random.Random) -> None:
        super().__init__(root, mode, chance)
        # It cannot replace tables in V1, and marks no deregistered ones with a manifest.
        del self._weights["overwrite" if mode == "v1" else "deregister"]
        self._numbers = itertools.count()
        self._mark = f"{chance.randrange(16**6):06x}"

    def _open(self) -> Any:
        return lance.namespace.DirectoryNamespace(root=self._root, **MODES[self._mode])

    def _location(self, name: str) -> str:
        return super()._location(name).removeprefix("file://")

    def _fresh(self, letter: str) -> str:
        return f"{letter}{self._mark}_{next(self._numbers)}"

    def _free(self, world: World) -> str:
        parent = self._pick([*world.namespaces])
        return f"{parent}${self._fresh('t')}" if parent else self._fresh("t")

    def _properties(self) -> Properties:
        return {} if self._mode == "v1" else super()._properties()

    def _create(self, world: World) -> Parts:
        if self._chance.random() < 0.3:
            return self._declared(world), self._rows(), {}
        return self._free(world), self._rows(), self._properties()

    def _create_namespace(self, world: World) -> Parts:
        return self._fresh("n"), None, self._properties()

    def _drop_namespace(self, world: World) -> Parts:
        empty = [name for name in world.namespaces if name and not world.below(name)]
        return self._pick(empty), "Restrict"


class Neighbour(Ours):
    """Does with names of its own, beside others, what can be done without closing the catalog."""

    def __init__(self, root: str, mode: str, number: int) -> None:
        super().__init__(root, mode, random.Random(number))
        del self._weights["reopen"]
        self.SPACES = (f"n{number}", f"n{number}$m")
        self.ROOT = tuple(f"r{number}_{i}" for i in range(3))

    def close(self) -> None:
        self._instance.close()


class Slow(Neighbour):
    """Makes tables of which each takes longer than the window."""

    PAUSE = 2.5

    def __init__(self, root: str, mode: str, number: int) -> None:
        super().__init__(root, mode, number)
        self._weights = dict.fromkeys(("create", "declare", "overwrite"), 1)

    def _call(
        self, operation: str, request: dict[str, Any], rows: tuple[int, ...] | None = None
    ) -> Any:
        if rows is None:
            return super()._call(operation, request)
        return self._instance.create_table(request, self._slowly(rows))

    def _slowly(self, rows: tuple[int, ...]) -> Iterator[bytes]:
        """An Arrow stream of a batch for each row, with a pause before the last one."""
        schema = pa.schema({"n": pa.int64()})
        sink = io.BytesIO()
        sent = 0
        with pa.ipc.new_stream(sink, schema) as writer:
            for row in rows:
                if row is rows[-1]:
                    time.sleep(self.PAUSE)
                writer.write_batch(pa.record_batch([pa.array([row], pa.int64())], schema=schema))
                yield sink.getvalue()[sent:]
                sent = len(sink.getvalue())
        yield sink.getvalue()[sent:]


class Diary(NamedTuple):
    """What a neighbour did."""

    world: World
    deeds: int
    refusals: list[str]


def work(kind: type[Neighbour], root: str, mode: str, number: int, seconds: float) -> Diary:
    """Do one thing after the other for a while, and tell what came of it."""
    worker = kind(root, mode, number)
    world, deeds, refusals = NOTHING, 0, []
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        deed = worker.choose(world)
        try:
            worker.do(deed)
        except Exception as refusal:
            refusals.append(f"{deed}: {type(refusal).__name__}: {refusal}")
            break
        world = after(world, deed, mode)
        deeds += 1
    worker.close()
    return Diary(world, deeds, refusals)


def live(
    line: Connection, kind: type[Ours], root: str, mode: str, seed: int, path: str, world: World
) -> None:
    """Do one thing after the other, until somebody ends it, or something is refused."""
    worker = kind(root, mode, random.Random(seed))
    log = Log(path)
    while True:
        deed = worker.choose(world)
        log.write("try", *deed)
        try:
            worker.do(deed)
        except Exception as refusal:
            code = int(refusal.code) if isinstance(refusal, LanceNamespaceError) else None
            log.write("refused", code, str(refusal))
            return
        log.write("done")
        world = after(world, deed, mode)
