"""The arena: racers that act at once on one root, and the audit of what they leave behind."""

from __future__ import annotations

import io
import multiprocessing
import os
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import lance
import lance.namespace
import lance_namespace as spec
import pyarrow as pa
from lance_namespace.errors import LanceNamespaceError

import lanceyard
from tests.cloud.paths import ObjectPath

RACERS = 8
PATIENCE = 60.0
WINDOW = 600.0
PRELOAD = [
    "lance.namespace",
    "lanceyard.namespace.operations",
    "lanceyard.catalog.directory.compatible",
    "lanceyard.catalog.directory.manifest",
    "tests.races.arena",
]
MODES = {
    "v1": {"manifest_enabled": "false"},
    "v2": {"dir_listing_enabled": "false"},
    "compat": {},
}
REFERENCE = {"dir_listing_enabled": "false"}


class Step(NamedTuple):
    """One operation, as a racer carries it out."""

    operation: str
    request: dict[str, Any]
    rows: tuple[int, ...] | None = None
    """The content of a table to create."""


class Answer(NamedTuple):
    """What came of a step: no code if it was accepted."""

    step: Step
    code: int | None
    text: str


class Client(NamedTuple):
    """Which implementation a racer speaks to a catalog with."""

    root: str
    mode: str
    is_reference: bool = False
    storage: tuple[tuple[str, str], ...] = ()
    """Properties that say how to reach the root, if it is in a bucket."""

    def open(self) -> Any:
        """A new instance, which has not looked at storage yet."""
        if self.is_reference:
            return lance.namespace.DirectoryNamespace(root=self.root, **REFERENCE)
        properties = {"root": self.root, "durability": "os", **MODES[self.mode]}
        return lanceyard.DirectoryNamespace(**properties, **dict(self.storage))


class Clock:
    """The time of day, which can be put forward."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


class Racers(Protocol):
    """Acts at once: one step per racer, an answer for each."""

    def race(self, client: Client, steps: Sequence[Step]) -> list[Answer]: ...


class Threads:
    """Racers that are threads sharing one instance."""

    def race(self, client: Client, steps: Sequence[Step]) -> list[Answer]:
        shared = client.open()
        barrier = threading.Barrier(len(steps), timeout=PATIENCE)
        answers: dict[int, Answer] = {}

        def run(number: int) -> None:
            barrier.wait()
            answers[number] = act(shared, steps[number])

        numbers = range(len(steps))
        threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in numbers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        shared.close()
        return [answers[number] for number in numbers]


class Processes:
    """Racers that are processes, started once; each opens the catalog anew for each race."""

    def __init__(self, count: int = RACERS) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOAD)
        self._barrier = context.Barrier(count)
        self._lines: list[Connection] = []
        self._processes = []
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, self._barrier), daemon=True)
            process.start()
            theirs.close()
            self._lines.append(ours)
            self._processes.append(process)

    def race(self, client: Client, steps: Sequence[Step]) -> list[Answer]:
        return self.run([partial(act_fresh, client, step) for step in steps])

    def run(self, jobs: Sequence[Callable[[], Any]]) -> list[Any]:
        """Let each process do a job, all beginning at once; a job must be picklable."""
        idle: list[Callable[[], Any] | None] = [None] * (len(self._lines) - len(jobs))
        for line, job in zip(self._lines, [*jobs, *idle], strict=True):
            line.send(job)
        answers = [receive(line, failing=False) for line in self._lines][: len(jobs)]
        for answer in answers:  # after all are read, lest the next race find them
            if isinstance(answer, Exception):
                raise answer
        return answers

    def close(self) -> None:
        for line, process in zip(self._lines, self._processes, strict=True):
            line.close()
            process.join(timeout=5)
            if process.is_alive():
                process.kill()


def receive(line: Connection, patience: float = PATIENCE, *, failing: bool = True) -> Any:
    """What a process answers; raises what it raised, or if it does not answer in time."""
    if not line.poll(patience):
        raise TimeoutError(f"a racer did not answer within {patience:.0f} s")
    answer = line.recv()
    if failing and isinstance(answer, Exception):
        raise answer
    return answer


def _serve(line: Connection, barrier: Any) -> None:
    while True:
        try:
            job = line.recv()
        except EOFError:
            return
        barrier.wait(PATIENCE)
        try:
            line.send(job() if job else None)
        except Exception as failure:
            failure.add_note(traceback.format_exc())
            line.send(failure)


def act_fresh(client: Client, step: Step) -> Answer:
    """Carry out a step with an instance of its own."""
    instance = client.open()
    answer = act(instance, step)
    if not client.is_reference:
        instance.close()
    return answer


def act(instance: Any, step: Step) -> Answer:
    """Carry out a step; any error that has no code is a failure of the test."""
    try:
        call(instance, step)
    except LanceNamespaceError as refusal:
        return Answer(step, int(refusal.code), str(refusal))
    return Answer(step, None, "")


def call(instance: Any, step: Step) -> Any:
    """The response to a step."""
    model = getattr(spec, "".join(map(str.title, step.operation.split("_"))) + "Request")
    operation = getattr(instance, step.operation)
    body = () if step.rows is None else (stream(step.rows),)
    return operation(model(**step.request), *body)


def declare_many(client: Client, names: Sequence[str], seconds: float = PATIENCE) -> list[str]:
    """Declare tables one by one for a while, and return those that were acknowledged."""
    instance = client.open()
    deadline = time.monotonic() + seconds
    done = []
    for name in names:
        if time.monotonic() > deadline:
            break
        if act(instance, Step("declare_table", {"id": ["ns", name]})).code is None:
            done.append(name)
    if not client.is_reference:
        instance.close()
    return done


def stream(rows: Sequence[int]) -> bytes:
    """The Arrow IPC stream of a column of numbers."""
    table = pa.table({"n": pa.array(rows, pa.int64())})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


def prepare(client: Client, *steps: Step) -> None:
    """Bring a catalog to where a race begins."""
    for step in steps:
        answer = act_fresh(client, step)
        assert answer.code is None, answer


def accepted(answers: Sequence[Answer]) -> list[Step]:
    return [answer.step for answer in answers if answer.code is None]


def refusals(answers: Sequence[Answer]) -> Counter[int]:
    return Counter(answer.code for answer in answers if answer.code is not None)


def check(answers: Sequence[Answer], *, winners: int, codes: set[int]) -> list[Step]:
    """The steps that were accepted, after a look at how many and how the others were refused."""
    won = accepted(answers)
    assert len(won) == winners, summary(answers)
    assert set(refusals(answers)) <= codes, summary(answers)
    return won


def summary(answers: Sequence[Answer]) -> str:
    """The answers, short enough to be read in a failure."""
    lines = (f"{a.step.operation} {a.code} {a.text}"[:150] for a in answers)
    return "".join(f"\n{count} x {line}" for line, count in Counter(lines).most_common())


class Found(NamedTuple):
    """A table as a fresh instance finds it: its rows, or None while it is only declared."""

    location: str
    rows: tuple[int, ...] | None


def audit(client: Client) -> dict[str, Found]:
    """The tables on disk, with proof that none is a ghost and no directory an orphan."""
    instance = client.open()
    listed = instance.list_all_tables({}).tables
    found = {object_id: look(instance, object_id.split("$")) for object_id in listed}
    places = {os.path.basename(table.location) for table in found.values()}
    assert directories(client) - places == set(), (directories(client), found)
    assert places - directories(client) == set(), (directories(client), found)
    return found


def look(instance: Any, identifier: list[str]) -> Found:
    """Describe a listed table and read it, as its users would."""
    described = instance.describe_table({"id": identifier, "check_declared": True})
    if described.is_only_declared:
        return Found(described.location, None)
    return Found(described.location, read(described.location, described.storage_options))


def read(location: str, options: dict[str, str] | None = None) -> tuple[int, ...]:
    return tuple(lance.dataset(location, storage_options=options).to_table()["n"].to_pylist())


def directories(client: Client) -> set[str]:
    """What lies in a root, but for the manifest and the tombstones of moved tables."""
    root = ObjectPath.of(client.root) if client.storage else Path(client.root)
    return {path.name for path in root.iterdir() if path.name != "__manifest" and not _moved(path)}


def _moved(path: Path | ObjectPath) -> bool:
    names = {entry.name for entry in path.iterdir()} if path.is_dir() else set()
    marker = path / ".lance-deregistered"
    sealed = {"_versions"} if isinstance(path, ObjectPath) else set()
    return names - sealed == {marker.name} and marker.read_bytes() == b"moved"


def manifest_rows(root: str | Path) -> list[str]:
    """The object ids in the manifest, read without any catalog."""
    return list(lance.dataset(f"{root}/__manifest").to_table()["object_id"].to_pylist())
