"""Batches: several steps in one commit of the manifest, with what each needs in storage around it.

Storage comes first and rows last for what is declared, rows first and storage last for what is
published or deleted, as for each operation alone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from lanceyard import errors
from lanceyard.catalog.base import Landed
from lanceyard.catalog.changes import (
    AddVersion,
    Change,
    Outcome,
    PutTable,
    RemoveTable,
    RemoveVersions,
    Together,
)
from lanceyard.catalog.directory import layout
from lanceyard.catalog.ranges import Ranges
from lanceyard.catalog.snapshot import TABLE, Row
from lanceyard.catalog.version_files import after_commit
from lanceyard.catalog.versions import (
    CreateVersion,
    Declare,
    DeleteVersions,
    Deregister,
    Step,
    TableVersion,
)
from lanceyard.identifier import Identifier

if TYPE_CHECKING:
    from lanceyard.catalog.directory.hashed import HashedCatalog


class Batch:
    """Some steps, on their way into one commit."""

    def __init__(self, catalog: HashedCatalog, steps: Sequence[Step]) -> None:
        """Prepare nothing yet."""
        self._catalog = catalog
        self._steps = steps
        self._declared: dict[Identifier, str] = {}
        self._found: dict[Identifier, tuple[Row, Ranges | None]] = {}
        self._created: dict[int, tuple[Row, TableVersion]] = {}

    def commit(self) -> list[Landed]:
        """Carry out all steps, or none."""
        self._require_tables()
        with ExitStack() as around:
            changes = tuple(self._change(i, step, around) for i, step in enumerate(self._steps))
            try:
                change = changes[0] if len(changes) == 1 else Together("", changes)
                outcome = self._catalog.manifest.commit(change)
            except errors.ConcurrentModificationError:
                landed = self._landed_before()
                if landed is None:
                    self._expel()
                    raise
                return landed
        parts = outcome.parts or (outcome,)
        return [
            self._landed(i, step, part)
            for i, (step, part) in enumerate(zip(self._steps, parts, strict=True))
        ]

    def _change(self, at: int, step: Step, around: ExitStack) -> Change:
        object_id = step.identifier.object_id
        if isinstance(step, Declare):
            if step.identifier in self._declared:
                raise errors.table_exists(step.identifier, "the batch declares it twice")
            path, chosen = self._catalog.places.choose(step.identifier, step.location)
            around.enter_context(self._catalog.reserving(step.identifier, path, chosen=chosen))
            self._declared[step.identifier] = path
            return PutTable(object_id, path, dict(step.properties), chosen=chosen)
        if isinstance(step, Deregister):
            location = self._table(step.identifier).location
            around.enter_context(self._catalog.places.hiding(location))
            return RemoveTable(object_id, location, keep=True)
        self._require_managed(step)
        if isinstance(step, CreateVersion):
            location = self._location(step.identifier)
            version = self._staged(step, location)
            self._created[at] = (Row(object_id, TABLE, location), version)
            return AddVersion(object_id, location, version.number, version.to_json(location))
        return RemoveVersions(object_id, tuple(step.numbers), step.must_exist)

    def _staged(self, step: CreateVersion, location: str) -> TableVersion:
        """The version to create; one that was created by the same request before has no file."""
        try:
            return self._catalog.versions.staged(step, location)
        except errors.InvalidInputError:
            before = self._same_before(step)
            if before is not None:
                return before
            number, last = step.version.number, self._last(step.identifier)
            if number <= last:
                raise errors.version_exists(step.identifier, number, last) from None
            raise

    def _last(self, identifier: Identifier) -> int:
        if identifier in self._declared:
            return 0
        return self._catalog.describe_table(identifier).version or 0

    def _same_before(self, step: CreateVersion) -> TableVersion | None:
        """The version that the same request created before, published."""
        try:
            found = self._catalog.find_version(step.identifier, step.version.number)
        except (errors.TableNotFoundError, errors.TableVersionNotFoundError):
            return None
        asked = step.version
        same = found.staged_as is not None and found.staged_as == asked.manifest
        return found if same or found.is_same_request(asked) else None

    def _expel(self) -> None:
        """Take what was written past the catalog out of the way of the next try."""
        refused: dict[Identifier, list[TableVersion]] = {}
        for step in self._steps:
            if isinstance(step, CreateVersion):
                refused.setdefault(step.identifier, []).append(step.version)
        for identifier, versions in refused.items():
            with contextlib.suppress(errors.LanceNamespaceError):
                self._catalog.versions.expel(self._table(identifier), versions)

    def _landed_before(self) -> list[Landed] | None:
        """What the same batch came to, if it is sent for the second time."""
        landed = []
        for step in self._steps:
            found = self._same_before(step) if isinstance(step, CreateVersion) else None
            if found is None:
                return None
            landed.append(Landed(version=found))
        return landed

    def _landed(self, at: int, step: Step, outcome: Outcome) -> Landed:
        """Do what comes after the commit; it has landed, so nothing here may fail it."""
        catalog = self._catalog
        if isinstance(step, Declare):
            assert outcome.row is not None
            return Landed(catalog.entry(step.identifier, outcome.row))
        if isinstance(step, Deregister):
            assert outcome.row is not None
            return Landed(catalog.entry(step.identifier, outcome.row))
        if isinstance(step, CreateVersion):
            owner, version = self._created[at]
            after_commit(lambda: catalog.versions.publish(owner, version))
            return Landed(version=version.published())
        assert outcome.row is not None
        table = outcome.row
        after_commit(lambda: catalog.versions.unpublish(table, step.numbers))
        return Landed(deleted=outcome.deleted)

    def _require_tables(self) -> None:
        """Refuse a missing table before the directory of another one is marked."""
        declared: set[Identifier] = set()
        gone: set[Identifier] = set()
        for step in self._steps:
            if isinstance(step, Declare):
                declared.add(step.identifier)
            elif step.identifier in gone:
                raise errors.table_not_found(step.identifier)
            elif step.identifier not in declared:
                self._table(step.identifier)
            if isinstance(step, Deregister):
                gone.add(step.identifier)

    def _location(self, identifier: Identifier) -> str:
        if identifier in self._declared:
            return self._declared[identifier]
        return layout.checked_path(self._table(identifier).location, identifier)

    def _table(self, identifier: Identifier) -> Row:
        return self._look_up(identifier)[0]

    def _look_up(self, identifier: Identifier) -> tuple[Row, Ranges | None]:
        """A table as it was when the batch first asked for it; the commit looks again."""
        if identifier not in self._found:
            row, _, numbers = self._catalog.look_up(identifier)
            self._found[identifier] = row, numbers
        return self._found[identifier]

    def _require_managed(self, step: CreateVersion | DeleteVersions) -> None:
        """Refuse what only rows can do; and take in what lies there, if they are new to it."""
        if step.identifier in self._declared:
            managed = self._catalog.manages_versions()
        else:
            managed = self._look_up(step.identifier)[1] is not None
        if not managed:
            raise errors.UnsupportedOperationError(
                f"versions of table {step.identifier} are files, which cannot be committed "
                "together: let the catalog manage versions (Yard.manage_versions)"
            )
