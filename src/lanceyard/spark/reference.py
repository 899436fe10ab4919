"""Which table is meant: a path, or a name in a catalog."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self
from urllib.parse import unquote, urlsplit

from lanceyard import errors
from lanceyard.catalog.base import is_protected
from lanceyard.storage.options import with_plain_http

if TYPE_CHECKING:
    from lance import LanceDataset

    from lanceyard.namespace import Namespace

Storage = tuple[tuple[str, str], ...]
"""Storage options, so that they can be a key."""


class Managed(NamedTuple):
    """A table whose versions are committed through its catalog."""

    catalog: Storage
    table: tuple[str, ...]

    def for_pylance(self) -> dict[str, Any]:
        """What makes pylance open, and commit to, the latest version by the catalog."""
        return {"namespace_client": _connect(self.catalog), "table_id": list(self.table)}


class Place(NamedTuple):
    """Where the data of a table lies."""

    location: str
    storage: Storage
    is_empty: bool
    """It has no version yet: it was declared only, or nothing is there."""
    is_protected: bool = False
    managed: Managed | None = None
    """Through which catalog its versions are committed, where that is not by files alone."""

    @property
    def options(self) -> dict[str, str] | None:
        """Storage options as pylance takes them."""
        return dict(self.storage) or None


@dataclass(frozen=True)
class TableReference:
    """A table by path, or by name in a catalog; it can be sent to other processes."""

    KEYS: ClassVar = ("path", "table", "catalog.impl", "catalog.root", "catalog.uri")

    path: str | None = None
    table: tuple[str, ...] = ()
    catalog: dict[str, str] = field(default_factory=dict)
    storage: dict[str, str] = field(default_factory=dict)

    @classmethod
    def take(cls, options: dict[str, str]) -> Self:
        """Take what names a table out of the options of a data source.

        ``path``; or ``table`` with ``catalog.impl`` (``dir`` unless said), ``catalog.root`` and
        other properties of the catalog. ``storage.*`` goes to the storage in both cases.
        """
        from lanceyard.yard.names import read_name

        path, table = options.pop("path", None), options.pop("table", None)
        catalog = _below("catalog.", options)
        storage = _below("storage.", options)
        if (path is None) == (table is None):
            raise errors.InvalidInputError(
                "name the table: by a path, or by option table with catalog.root (or catalog.impl "
                "and what that catalog needs)"
            )
        if path is not None:
            if catalog:
                raise errors.InvalidInputError(
                    f"option {min(catalog)!r} of a catalog needs option table, not a path"
                )
            return cls(path=_plain_path(path), storage=with_plain_http(storage) if storage else {})
        if not catalog:
            raise errors.InvalidInputError(
                f"table {table!r} needs a catalog: set catalog.root, or catalog.impl"
            )
        return cls(table=tuple(read_name(table or "")), catalog=catalog, storage=storage)

    def __str__(self) -> str:
        from lanceyard.yard.names import write_name

        return self.path if self.path is not None else write_name(self.table)

    def find(self) -> Place | None:
        """Where the table is, or None if there is none."""
        if self.path is not None:
            return _at(self.path, self.storage)
        try:
            found = self._namespace().describe_table(
                {"id": list(self.table), "check_declared": True}  # type: ignore[arg-type]
            )
        except errors.TableNotFoundError:
            return None
        storage = {**(found.storage_options or {}), **self.storage}
        return Place(
            str(found.location),
            tuple(sorted(storage.items())),
            is_empty=bool(found.is_only_declared),
            is_protected=is_protected(found.properties),
            managed=Managed(self._key, self.table) if found.managed_versioning else None,
        )

    def require(self) -> Place:
        """Where the table is, with a version to read."""
        place = self.find()
        if place is None or (self.path is not None and place.is_empty):
            raise errors.TableNotFoundError(f"table {self} was not found")
        if place.is_empty:
            raise errors.InvalidTableStateError(
                f"table {self} was declared and has no data yet: write to it first"
            )
        return place

    def claim(self) -> Place:
        """Where the table is or, if there is none, where its first writer may put it.

        In a catalog the name is then declared: nobody takes the table for whole before its data
        is committed, and a writer that dies leaves a name that the next one fills.
        """
        place = self.find()
        if place is not None:
            return place
        with suppress(errors.TableAlreadyExistsError):  # if another was faster, both may fill it
            self._namespace().declare_table({"id": list(self.table)})  # type: ignore[arg-type]
        place = self.find()
        if place is None:
            raise errors.ConcurrentModificationError(f"table {self} was dropped by another writer")
        return place

    def require_still(self, place: Place) -> None:
        """Refuse to call a write done whose table was dropped or moved meanwhile."""
        now = self.find()
        if now is None or now.location != place.location:
            raise errors.ConcurrentModificationError(
                f"table {self} was dropped or replaced while it was written; nothing was added"
            )

    def _namespace(self) -> Namespace:
        return _connect(self._key)

    @property
    def _key(self) -> Storage:
        return tuple(sorted(self.catalog.items()))


@lru_cache(maxsize=8)
def _connect(catalog: Storage) -> Namespace:
    from lanceyard.namespace import connect

    return connect(dict(catalog))


def _below(prefix: str, options: dict[str, str]) -> dict[str, str]:
    return {
        key.removeprefix(prefix): options.pop(key) for key in [*options] if key.startswith(prefix)
    }


def _plain_path(path: str) -> str:
    """A path as pylance takes it: Spark hands out ``file:`` URIs of several forms."""
    parts = urlsplit(path)
    return unquote(parts.path) if parts.scheme == "file" else path


def _at(path: str, storage: dict[str, str]) -> Place:
    import lance

    options = tuple(sorted(storage.items()))
    try:
        lance.dataset(path, storage_options=storage or None)
    except (ValueError, OSError) as cause:
        if "not found" in str(cause):
            return Place(path, options, is_empty=True)
        if errors.lacks_permission(cause):
            raise errors.PermissionDeniedError(f"cannot open {path}: {cause}") from cause
        raise errors.InvalidTableStateError(f"cannot open {path}: {cause}") from cause
    return Place(path, options, is_empty=False)


def open_table(place: Place, version: int | None = None) -> LanceDataset:
    """A version of a table, by default the newest."""
    import lance

    if place.managed is not None and version is None:
        return lance.dataset(storage_options=place.options, **place.managed.for_pylance())
    return lance.dataset(place.location, version=version, storage_options=place.options)
