"""Transactions of a directory catalog: each table has a workspace, whose versions land together.

A workspace looks like the directory of the table at the version it had when the transaction began:
its files are links or, on an object store, copies that the store makes. What is written there stays
there, whoever writes it and by whatever means, until the new files appear in the table's own
directory and the rows of all new versions are added in one commit. In
``_lanceyard/transactions/<id>``:

    begun.json           the state of the catalog that it sees
    tables/<key>/        a workspace
    tables/<key>.json    whose it is
    required/<key>.json  a table that must not change
    end.json             who decided how it ends: the first one does
    ended.json           how it ended
    live/                shows the processes that take part, see `presence`
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from typing import Any

from lanceyard import errors
from lanceyard.catalog.base import altered
from lanceyard.catalog.changes import AddVersion, Change, PutTable, RequireLatest, Together
from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.contents import Contents
from lanceyard.catalog.directory.hashed import HashedCatalog
from lanceyard.catalog.directory.history import OWN_TAG
from lanceyard.catalog.directory.manifest import Manifest
from lanceyard.catalog.directory.presence import Presence
from lanceyard.catalog.snapshot import TABLE, Row
from lanceyard.catalog.transactions import Status, Transaction, Transactions
from lanceyard.catalog.version_files import VersionFiles, after_commit, number_of
from lanceyard.catalog.versions import STAGED, TableVersion
from lanceyard.identifier import Identifier
from lanceyard.storage.base import Store

FOLDER = "_lanceyard/transactions"
TAG = f"{OWN_TAG}transaction-"
COMMIT, CANCEL = "commit", "cancel"


@dataclass(frozen=True)
class Workspace:
    """A table in a transaction."""

    object_id: str
    path: str
    """Where it is worked on."""
    location: str
    """Its own directory, or the one it will have."""
    base: int = 0
    """The version it had when the transaction began; 0 if it had none."""
    is_new: bool = False
    """Whether the transaction creates it."""
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def row(self) -> Row:
        """Its row, as far as versions are concerned."""
        return Row(self.object_id, TABLE, self.location)


class DirectoryTransactions(Transactions):
    """The transactions of a catalog whose versions are rows."""

    def __init__(
        self, store: Store, catalog: HashedCatalog, window: float, clock: Callable[[], float]
    ) -> None:
        """Keep the transactions of a root."""
        self._store = store
        self._catalog = catalog
        self._window = window
        self._clock = clock
        catalog.manifest.before_upkeep(self.sweep)

    def begin(self, properties: Mapping[str, str]) -> Transaction:
        if not self._catalog.manages_versions():
            raise errors.UnsupportedOperationError(
                "transactions need a catalog that manages versions: see Yard.manage_versions, or "
                "create it with table_version_management=true"
            )
        manifest = self._catalog.manifest
        mark = uuid.uuid4().hex
        version = manifest.ensure()
        manifest.tag(TAG + mark, version)
        begun = {"version": version, "at": self._clock(), "properties": dict(properties)}
        self._store.put_if_absent(f"{FOLDER}/{mark}/begun.json", _encode(begun))
        return self.join(mark)

    def find(self, transaction_id: str) -> DirectoryTransaction:
        return DirectoryTransaction(self._store, self._catalog, transaction_id, self._window)

    def join(self, transaction_id: str) -> Transaction:
        transaction = self.find(transaction_id)
        transaction.enter()
        return transaction

    def sweep(self) -> None:
        """Remove what is left of transactions that ended, or whose processes are all gone."""
        for transaction in self.abandoned():
            self.settle(transaction)
        for transaction in self._quiet():
            if transaction.status() is not Status.RUNNING:
                self._store.delete_tree(transaction.folder)

    def abandoned(self) -> list[DirectoryTransaction]:
        """Transactions in which nobody takes part any more, and that nobody ended."""
        return [transaction for transaction in self._quiet() if transaction.is_abandoned()]

    def settle(self, transaction: DirectoryTransaction) -> None:
        """End an abandoned transaction, and remove it."""
        with suppress(errors.LanceNamespaceError):
            transaction.settle()
            self._store.delete_tree(transaction.folder)

    def _quiet(self) -> Iterator[DirectoryTransaction]:
        """Transactions of which nothing changed within the window."""
        for entry in list(self._store.entries(FOLDER)):
            changed = self._store.changed(f"{FOLDER}/{entry.name}")
            if changed is not None and changed <= self._clock() - self._window:
                with suppress(errors.TransactionNotFoundError):
                    yield self.find(entry.name)


class DirectoryTransaction(Transaction):
    """A folder that all processes share which take part."""

    def __init__(self, store: Store, catalog: HashedCatalog, mark: str, window: float) -> None:
        """Look at a transaction. Raises `TransactionNotFoundError`."""
        self._store = store
        self._catalog = catalog
        self.id = mark
        self.folder = f"{FOLDER}/{mark}"
        """Where it lies, from the root."""
        self.storage_options = store.options
        self._presence = Presence(store, f"{self.folder}/live", window)
        if not mark.isalnum() or self._read("begun.json") is None:
            raise errors.TransactionNotFoundError(f"there is no transaction {mark!r}")

    def enter(self) -> None:
        """Show that a process takes part, for as long as it lives or until it leaves."""
        if self.status() is Status.RUNNING:
            self._presence.enter()

    def leave(self) -> None:
        self._presence.leave()

    def status(self) -> Status:
        ended = self._read("ended.json")
        return Status.RUNNING if ended is None else Status(ended["status"])

    def properties(self) -> Mapping[str, str]:
        said: dict[str, str] = (self._read("begun.json") or {}).get("properties", {})
        for change in self._changes_of_properties():
            said = altered(said, change["put"], change["unset"])
        return said

    def alter(self, put: Mapping[str, str], unset: Collection[str]) -> Mapping[str, str]:
        number = len(self._changes_of_properties())
        said = _encode({"put": dict(put), "unset": list(unset)})
        while not self._store.put_if_absent(f"{self.folder}/properties/{number:06}.json", said):
            number += 1
        return self.properties()

    def tables(self) -> Sequence[Identifier]:
        return [Identifier.from_object_id(space.object_id) for space in self._workspaces()]

    def open(self, identifier: Identifier) -> str:
        self._require_running()
        space = self._find(identifier) or self._copy(identifier)
        return self._store.location(space.path)

    def create(self, identifier: Identifier, properties: Mapping[str, str]) -> str:
        self._require_running()
        row = self._then.find(identifier)
        if self._find(identifier) is not None:
            raise errors.table_exists(identifier, "the transaction has it already")
        if row is not None:
            raise errors.table_exists(identifier, f"a {row.object_type} of that name exists")
        if not self._then.read(lambda state: state.has_namespace(identifier.parent.object_id)):
            raise errors.namespace_not_found(identifier.parent)
        location = layout.hashed_directory(identifier)
        space = Workspace(
            identifier.object_id,
            self._place(identifier),
            location,
            is_new=True,
            properties=dict(properties),
        )
        if not self._note(identifier, space):
            raise errors.table_exists(identifier, "the transaction has it already")
        return self._store.location(space.path)

    def require(self, identifier: Identifier) -> None:
        self._require_running()
        base = self._version_then(identifier)[1]
        said = {"object_id": identifier.object_id, "number": base}
        self._store.put_if_absent(f"{self.folder}/required/{_key(identifier)}.json", _encode(said))

    def commit(self) -> None:
        if self.status() is Status.SUCCEEDED:
            return
        self._require_running()
        self._decide(COMMIT)
        try:
            self._land()
        except errors.UnknownOutcomeError:
            raise
        except errors.LanceNamespaceError as refusal:
            self._end(Status.FAILED, str(refusal))
            if isinstance(refusal, errors.TableNotFoundError):
                raise errors.ConcurrentModificationError(
                    f"{refusal}: it was dropped or renamed since the transaction began"
                ) from refusal
            raise
        self._end(Status.SUCCEEDED)

    def abort(self) -> None:
        if self.status() is Status.RUNNING:
            self._decide(CANCEL)
            self._end(Status.CANCELED)

    def is_abandoned(self) -> bool:
        """Whether nobody takes part any more, and nobody ended it."""
        if self.status() is not Status.RUNNING:
            return False
        there = self._store.entries(f"{self.folder}/live")
        return not any(self._presence.is_held(entry.name) for entry in there)

    def settle(self) -> None:
        """End an abandoned transaction: as it was decided and landed, or not at all."""
        if self._has_landed():
            self._publish()
            self._end(Status.SUCCEEDED)
        else:
            self._end(Status.CANCELED, "everybody who took part in it is gone")

    @cached_property
    def _then(self) -> Manifest:
        """The manifest in the state that the transaction sees."""
        begun = self._read("begun.json") or {}
        try:
            return self._catalog.manifest.past(int(begun["version"]))
        except (OSError, ValueError) as cause:
            raise errors.InternalError(
                f"the state of the catalog that transaction {self.id} sees is gone: {cause}"
            ) from cause

    def _land(self) -> None:
        """Bring all new files to where they belong, and then all rows at once."""
        if self._has_landed():
            return self._publish()
        undo = ExitStack()
        try:
            changes = [c for space in self._workspaces() for c in self._changes(space, undo)]
            changes += self._requirements()
            if changes:
                self._catalog.manifest.commit(Together("", tuple(changes)))
        except errors.UnknownOutcomeError:
            raise
        except errors.LanceNamespaceError:
            # Refused for certain. What else ends us, an interrupt say, may come after it landed.
            if not self._has_landed():  # by another process that takes part
                undo.close()
                raise
        return self._publish()

    def _changes(self, space: Workspace, undo: ExitStack) -> Iterator[Change]:
        """The changes that add what a workspace has to a table, with its files in place."""
        if space.is_new:
            if not layout.has_data(self._store, space.path):
                return
            undo.callback(self._store.delete_tree, space.location)
            self._store.sync_tree(space.path)
            self._store.link_tree(space.path, space.location)
            versions = self._catalog.versions.lying_at(space.location)
            yield PutTable(
                space.object_id, space.location, dict(space.properties), versions=versions
            )
            return
        staged = self._staged(space)
        if staged:
            self._bring(space, undo)
        for version in staged:
            json_ = version.to_json(space.location)
            yield AddVersion(space.object_id, space.location, version.number, json_)

    def _bring(self, space: Workspace, undo: ExitStack) -> None:
        """Let new files appear in the table's own directory, manifests under staged names."""
        present = {file.path for file in self._store.files(space.location)}
        pairs = {}
        for file in self._store.files(space.path):
            target = space.location + file.path.removeprefix(space.path)
            folder, _, name = target.rpartition("/")
            if folder == f"{space.location}/{layout.VERSIONS}":
                if (number_of(name) or 0) <= space.base:
                    continue
                target = f"{folder}/{self._staged_name(name)}"
            if target not in present:
                pairs[target] = file.path
        undo.callback(self._store.delete_all, pairs)
        self._store.link_files({source: target for target, source in pairs.items()})
        for target in pairs:
            self._store.sync(target)
        for folder in sorted({target.rpartition("/")[0] for target in pairs}):
            self._store.sync(folder)

    def _staged(self, space: Workspace) -> list[TableVersion]:
        """The versions that a workspace adds, oldest first, as they are staged."""
        files = VersionFiles(self._store, space.path)
        found = []
        for number, name in sorted(files.names().items()):
            stat = self._store.stat(files.path_of(name))
            if number > space.base and stat is not None:
                staged = self._staged_name(name)
                written = round(stat.modified * 1000)
                found.append(
                    TableVersion(number, staged, stat.size, stat.e_tag, written, {}, staged)
                )
        return found

    def _requirements(self) -> list[Change]:
        names = [entry.name for entry in self._store.entries(f"{self.folder}/required")]
        said = [self._read(f"required/{name}") or {} for name in sorted(names)]
        return [RequireLatest(each["object_id"], each["number"]) for each in said]

    def _has_landed(self) -> bool:
        """Whether its commit has landed, in a process that could not tell any more."""
        for space in self._workspaces():
            if space.is_new:
                if layout.has_data(self._store, space.path):
                    row = self._catalog.manifest.find(Identifier.from_object_id(space.object_id))
                    return row is not None and row.location == space.location
                continue
            staged = self._staged(space)
            if staged:
                found = self._catalog.versions.read(space.row, [staged[0].number])
                return any(version.staged_as == staged[0].staged_as for version in found)
        return False

    def _publish(self) -> None:
        """Do what comes after the commit; a reader does it where this fails."""
        publish = self._catalog.versions.publish
        for space in self._workspaces():
            for version in [] if space.is_new else self._staged(space):
                after_commit(partial(publish, space.row, version))

    def _copy(self, identifier: Identifier) -> Workspace:
        """Make the workspace of a table that was there when the transaction began."""
        row, base = self._version_then(identifier)
        location = layout.checked_path(row.location, identifier)
        space = Workspace(identifier.object_id, self._place(identifier), location, base)
        if base:
            manifest = self._catalog.versions.find(row, base).manifest
            contents = Contents(self._store, location)
            paths = contents.files(contents.open(base))
            files = (*paths, f"{layout.VERSIONS}/{manifest}")
            self._store.link_files({f"{location}/{f}": f"{space.path}/{f}" for f in files})
        self._note(identifier, space)
        return self._find(identifier) or space

    def _version_then(self, identifier: Identifier) -> tuple[Row, int]:
        row, _, numbers = self._then.look_up(identifier)
        if row is None or row.object_type != TABLE:
            if not self._then.read(lambda s: s.has_namespace(identifier.parent.object_id)):
                raise errors.namespace_not_found(identifier.parent)
            raise errors.table_not_found(identifier)
        return row, (numbers.last if numbers else 0) or 0

    def _decide(self, how: str) -> None:
        """Be the one who ends the transaction, or find that it ends the same way."""
        self._store.put_if_absent(f"{self.folder}/end.json", _encode({"how": how}))
        decided = (self._read("end.json") or {}).get("how")
        if decided != how:
            raise errors.ConcurrentModificationError(
                f"transaction {self.id} is being ended by another process: it decided to {decided}"
            )

    def _end(self, status: Status, why: str = "") -> None:
        said = {"status": status.value, "why": why}
        self._store.put_if_absent(f"{self.folder}/ended.json", _encode(said))
        self.leave()
        self._store.delete_tree(f"{self.folder}/tables")
        with suppress(errors.LanceNamespaceError, ValueError, OSError):
            self._catalog.manifest.tag(TAG + self.id, None)

    def _require_running(self) -> None:
        status = self.status()
        if status is not Status.RUNNING:
            raise errors.InvalidInputError(f"transaction {self.id} has ended: {status.value}")

    def _find(self, identifier: Identifier) -> Workspace | None:
        said = self._read(f"tables/{_key(identifier)}.json")
        return None if said is None else Workspace(**said)

    def _note(self, identifier: Identifier, space: Workspace) -> bool:
        path = f"{self.folder}/tables/{_key(identifier)}.json"
        return self._store.put_if_absent(path, _encode(asdict(space)))

    def _workspaces(self) -> list[Workspace]:
        names = [entry.name for entry in self._store.entries(f"{self.folder}/tables")]
        said = [self._read(f"tables/{name}") for name in sorted(names) if name.endswith(".json")]
        return [Workspace(**each) for each in said if each is not None]

    def _place(self, identifier: Identifier) -> str:
        return f"{self.folder}/tables/{_key(identifier)}"

    def _staged_name(self, name: str) -> str:
        return f"{name.partition('.')[0]}{STAGED}{self.id}"

    def _changes_of_properties(self) -> list[dict[str, Any]]:
        names = sorted(entry.name for entry in self._store.entries(f"{self.folder}/properties"))
        return [said for name in names if (said := self._read(f"properties/{name}")) is not None]

    def _read(self, name: str) -> dict[str, Any] | None:
        data = self._store.get(f"{self.folder}/{name}")
        return None if data is None else json.loads(data)


def _encode(said: Mapping[str, Any]) -> bytes:
    return json.dumps(said, ensure_ascii=False).encode()


def _key(identifier: Identifier) -> str:
    """A name for files about a table, whose own name may be too long."""
    return hashlib.sha256(identifier.object_id.encode()).hexdigest()[:32]
