"""Swaps: changes to a table that are made only if nobody else has changed it meanwhile.

Every change of ours puts a new mark into the table, and names the mark that it expects to find.
Servers since HIVE-26882 compare and swap; those that do not are found out once, and then tables are
locked. Tables of others, which have no mark yet, are known by the time of their last change.

A swap whose reply was lost is asked for again: it is made once at most, and the mark tells by whom.
"""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import Any, TypeVar

from lanceyard import errors
from lanceyard.catalog.hive.metastore import failures
from lanceyard.catalog.hive.metastore.client import Metastore
from lanceyard.catalog.hive.metastore.generated import ttypes
from lanceyard.catalog.hive.metastore.records import DatabaseName, HiveTable, Lock
from lanceyard.catalog.hive.tables import ALTERED, CHANGE, LanceTable
from lanceyard.identifier import Identifier

LOGGER = logging.getLogger(__name__)
ATTEMPTS = 20
"""How often a change is tried while others change the same table."""
REQUESTS = 4
"""How often a change is asked for whose replies are lost."""
READS = 5
"""How often a table is read again that seems to be torn."""
PATIENCE = 60.0
"""Seconds to wait for a lock."""
KEEP_STATISTICS = {"DO_NOT_UPDATE_STATS": "true"}
"""Or the server would list the files of a table at each change."""
MODIFIED = "has been modified"
_R = TypeVar("_R")


class ConflictError(errors.ConcurrentModificationError):
    """Raised when somebody else has changed a table since it was seen."""


def too_busy(identifier: Identifier) -> errors.ConcurrentModificationError:
    """The error for a table that others keep changing."""
    return errors.ConcurrentModificationError(f"others kept changing table {identifier}; try again")


def insist(change: Callable[[], _R]) -> _R:
    """Ask for a change until a reply comes; it must be one that is made once at most.

    Raises `LostReplyError` if none comes: then nobody knows whether it was made.
    """
    lost: failures.LostReplyError | None = None
    for attempt in range(REQUESTS):
        try:
            return change()
        except failures.LostReplyError as failure:
            lost = failure
        except errors.ServiceUnavailableError as failure:
            if lost is None:
                raise
            raise lost from failure
        LOGGER.info("the reply to a change was lost; asking again")
        time.sleep(random.uniform(0.05, 0.1) * 2**attempt)
    assert lost is not None
    raise lost


def read_whole(metastore: Metastore, where: DatabaseName, name: str) -> LanceTable:
    """A table, with location and parameters of one state. Raises `NoSuchObjectError`.

    One that stays torn was moved by others, who know nothing of the parameter.
    """
    table = LanceTable(metastore.find_table(where, name))
    for _ in range(READS):
        if table.is_whole:
            break
        table = LanceTable(metastore.find_table(where, name))
    return table


class Swaps:
    """Changes the tables of a metastore."""

    def __init__(self, metastore: Metastore) -> None:
        """Take a metastore, of which it is not known yet whether it compares and swaps."""
        self._metastore = metastore
        self._compares: bool | None = None

    def swap(self, seen: LanceTable, wanted: LanceTable) -> LanceTable:
        """Change a table that was seen into another, perhaps of another name.

        Raises
        ------
        ConflictError
            It is not, or no longer, as it was seen. Nothing was changed.
        AlreadyExistsError, NoSuchObjectError, InvalidOperationError
            The server refuses the change.
        """
        if not seen.is_external and _name(seen) != _name(wanted):
            # Or the server would move its files to a place of its own choice.
            seen = self.swap(seen, seen.made_external())
            wanted = wanted.made_external()
        marked = wanted.marked()
        if seen.change is None and ALTERED in seen.record.parameters:
            said = marked.record.parameters
            marked = marked.with_parameters({**said, ALTERED: _later(seen)})
        try:
            insist(lambda: self._change(seen, marked))
        except (ConflictError, failures.MetastoreError):
            # An earlier request, whose reply was lost, may have made the change.
            if self._mark(marked.record) != marked.change:
                raise
        return marked

    def compares(self, sample: LanceTable) -> bool:
        """Whether the server compares before it swaps; found out by a change that it must refuse.

        The change is impossible for another reason as well, which is looked at later: whatever the
        server does, the sample stays as it is.
        """
        if self._compares is None:
            where, name = sample.record.where, sample.record.name
            try:
                expected = _expected(CHANGE, "never")
                self._metastore.alter_table(where, name, _impossible(sample), expected)
            except failures.MetaError as refusal:
                self._compares = MODIFIED in str(refusal)
            except failures.InvalidOperationError as refusal:
                if "partition" not in str(refusal):
                    raise
                self._compares = False
            if not self._compares:
                LOGGER.info("the metastore does not compare before it swaps: tables are locked")
        return bool(self._compares)

    def _change(self, seen: LanceTable, wanted: LanceTable) -> None:
        key = CHANGE if seen.change is not None else ALTERED
        value = seen.record.parameters.get(key)
        try:
            if value is not None and self.compares(seen):
                self._alter(seen, wanted, _expected(key, value))
                return
            with self.locked(seen.record):
                if self._mark(seen.record) != seen.change:
                    raise _conflict(seen)
                self._alter(seen, wanted, KEEP_STATISTICS)
        except failures.InvalidOperationError as refusal:
            if self._find(seen.record) is None:
                raise _conflict(seen) from refusal
            raise

    def _alter(self, seen: LanceTable, wanted: LanceTable, context: dict[str, str]) -> None:
        where, name = seen.record.where, seen.record.name
        try:
            self._metastore.alter_table(where, name, wanted.record, context)
        except failures.MetaError as refusal:
            if MODIFIED in str(refusal):
                raise _conflict(seen) from refusal
            raise

    def _find(self, record: HiveTable) -> LanceTable | None:
        """The table that has a name now."""
        try:
            return read_whole(self._metastore, record.where, record.name)
        except failures.NoSuchObjectError:
            return None

    def _mark(self, record: HiveTable) -> str | None:
        found = self._find(record)
        return None if found is None else found.change

    @contextlib.contextmanager
    def locked(self, record: HiveTable) -> Iterator[None]:
        """Hold the lock of a table. Raises `ConcurrentModificationError` if others hold it long."""
        lock = self._metastore.lock(record.where, record.name)
        try:
            self._wait(record, lock)
            yield
        finally:
            # One that cannot be released expires.
            with contextlib.suppress(errors.LanceNamespaceError):
                self._metastore.unlock(lock)

    def _wait(self, record: HiveTable, lock: Lock) -> None:
        deadline = time.monotonic() + PATIENCE
        while not lock.is_held:
            if time.monotonic() > deadline:
                raise errors.ConcurrentModificationError(
                    f"table {record.where}.{record.name} is locked by another writer; try again"
                )
            time.sleep(random.uniform(0.005, 0.03))
            lock = self._metastore.check_lock(lock)


def _expected(key: str, value: str) -> dict[str, str]:
    return {
        "expected_parameter_key": key,
        "expected_parameter_value": value,
        **KEEP_STATISTICS,
    }


def _name(table: LanceTable) -> tuple[object, str]:
    return table.record.where, table.record.name


def _later(seen: LanceTable) -> str:
    """A time of change that is not the one seen."""
    before = seen.record.parameters[ALTERED]
    return str(max(int(before) + 1 if before.isdecimal() else 0, int(time.time())))


def _conflict(seen: LanceTable) -> ConflictError:
    return ConflictError(
        f"table {seen.record.where}.{seen.record.name} was changed by another writer meanwhile"
    )


class _Impossible(HiveTable):
    """A table with one partition key more, which no server lets a table get."""

    __slots__ = ()

    def sent(self) -> Any:
        made = super().sent()
        made.partitionKeys = [*(made.partitionKeys or ()), ttypes.FieldSchema("p", "int")]
        return made


def _impossible(sample: LanceTable) -> HiveTable:
    said = {each.name: getattr(sample.record, each.name) for each in fields(sample.record)}
    return _Impossible(**{**said, "parameters": {**said["parameters"], CHANGE: "impossible"}})
