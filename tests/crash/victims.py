"""Victims: processes that work on a catalog until they are killed, at a chosen or random moment."""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from lance_namespace.errors import LanceNamespaceError

from lanceyard.namespace import Namespace
from tests.crash.wreck import OPERATIONS, open_namespace, stream

PATIENCE = 30.0
PRELOAD = [
    "lanceyard.namespace.operations",
    "lanceyard.catalog.directory.compatible",
    "lanceyard.catalog.directory.manifest",
    "tests.crash.victims",
]
Tables = dict[str, list[int] | None]
"""The rows of each table; None while it is only declared."""

LEFTOVERS = (5, 14)
"""How a name is refused on which a drop was cut short."""

ALLOW_TRACER, ANYBODY = 0x59616D61, -1


class Victim:
    """A process that gets ready, waits for the word, and works; it imports nothing then."""

    def __init__(self, work: Callable[..., None], *args: Any) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOAD)
        self._line, theirs = context.Pipe()
        self._process = context.Process(target=_wait, args=(theirs, work, args), daemon=True)
        self._process.start()
        theirs.close()
        self.hear()

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def hear(self, patience: float = PATIENCE) -> Any:
        """What it says next; None if it is gone, or says nothing in time."""
        try:
            return self._line.recv() if self._line.poll(patience) else None
        except (EOFError, OSError):
            return None

    def go(self) -> None:
        self._line.send("go")

    def kill(self) -> None:
        self._process.kill()

    def end(self) -> bool:
        """Wait for its end, and tell whether it was killed."""
        self._process.join(PATIENCE)
        if self._process.exitcode is None:
            self._process.kill()
            raise TimeoutError("a victim did not end in time")
        return self._process.exitcode != 0


def _wait(line: Connection, work: Callable[..., None], args: tuple[Any, ...]) -> None:
    ctypes.CDLL(None).prctl(ALLOW_TRACER, ANYBODY, 0, 0, 0)
    line.send("ready")
    line.recv()
    work(line, *args)


def perform(line: Connection, root: str, mode: str, name: str) -> None:
    """Carry out one operation, acknowledge it, and finish what goes on in the background."""
    operation = next(operation for operation in OPERATIONS if operation.name == name)
    instance = open_namespace(root, mode, durable=True)
    operation.run(instance)
    line.send("done")
    instance.close()


class Strike:
    """Kills a victim at the n-th system call of a kind that one of its threads makes."""

    def __init__(self, system_call: str, number: int) -> None:
        self._system_call = system_call
        self._number = number

    def __call__(self, victim: Victim) -> None:
        tracer = self._trace(victim)
        victim.go()
        if tracer is None:
            # Any moment is as good as another: later numbers mean later moments.
            time.sleep(random.uniform(0, 0.002 * self._number))
            victim.kill()
            return
        victim.end()
        tracer.wait(PATIENCE)

    def _trace(self, victim: Victim) -> subprocess.Popen[bytes] | None:
        """The tracer that will strike, or None where there is none or it may not trace."""
        if shutil.which("strace") is None:
            return None
        fault = f"inject={self._system_call}:signal=KILL:when={self._number}"
        options = ["-f", "-qq", "-o", os.devnull, "-e", f"trace={self._system_call}", "-e", fault]
        tracer = subprocess.Popen(
            ["strace", *options, "-p", str(victim.pid)], stderr=subprocess.DEVNULL
        )
        return tracer if _is_attached(tracer, victim.pid) else None


def _is_attached(tracer: subprocess.Popen[bytes], pid: int) -> bool:
    deadline = time.monotonic() + PATIENCE
    while "TracerPid:\t0\n" in Path(f"/proc/{pid}/status").read_text():
        if tracer.poll() is not None:
            return False
        if time.monotonic() > deadline:
            tracer.kill()
            raise TimeoutError("strace did not attach in time")
        time.sleep(0.001)
    return True


class Log:
    """A file of what was tried and what was acknowledged; a line is written at once."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)

    def write(self, word: str, *parts: Any) -> None:
        os.write(self._file, (json.dumps([word, *parts]) + "\n").encode())


def live(line: Connection, root: str, mode: str, seed: int, path: str) -> None:
    """Change tables at random, until somebody ends it."""
    chance = random.Random(seed)
    log = Log(path)
    instance = open_namespace(root, mode)
    tables: Tables = dict.fromkeys(instance.list_all_tables({}).tables)
    names = [f"t{i}" for i in range(4)] + ([] if mode == "v1" else [f"ns$t{i}" for i in range(3)])
    while True:
        change = choose(chance, names, tables, mode)
        log.write("try", *change)
        try:
            run(instance, *change)
        except LanceNamespaceError as refusal:
            log.write("refused", int(refusal.code), str(refusal))
            if refusal.code not in LEFTOVERS:
                return
            # What a drop left that was killed has the name until it is dropped again.
            change = ("drop", change[2] if change[0] == "rename" else change[1], None)
            log.write("try", *change)
            run(instance, *change)
        log.write("done")
        tables = after(tables, *change)


def choose(
    chance: random.Random, names: list[str], tables: Tables, mode: str
) -> tuple[str, str, Any]:
    """Something that can be done to the tables that are there."""
    name = chance.choice(names)
    rows = [chance.randrange(1_000) for _ in range(3)]
    if name not in tables:
        return chance.choice([("declare", name, None), ("create", name, rows)])
    free = [other for other in names if other not in tables]
    if mode != "v1" and free and chance.random() < 0.3:
        return ("rename", name, chance.choice(free))
    return chance.choice([("drop", name, None), ("overwrite", name, rows)])


def run(instance: Namespace, operation: str, name: str, detail: Any) -> None:
    identifier = name.split("$")
    if operation == "declare":
        instance.declare_table({"id": identifier})
    elif operation in ("create", "overwrite"):
        instance.create_table({"id": identifier, "mode": operation}, stream(detail))
    elif operation == "drop":
        instance.drop_table({"id": identifier})
    else:
        *parent, new = detail.split("$")
        request = {"id": identifier, "new_table_name": new, "new_namespace_id": parent}
        instance.rename_table(request)


def after(tables: Tables, operation: str, name: str, detail: Any) -> Tables:
    """The tables once an operation was carried out."""
    rest = {other: rows for other, rows in tables.items() if other != name}
    if operation == "drop":
        return rest
    if operation == "rename":
        return {**rest, detail: tables[name]}
    return {**rest, name: detail}
