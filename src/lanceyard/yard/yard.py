"""The yard: names, tables and the tree of a catalog, with friendly methods."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from lanceyard import errors
from lanceyard.catalog.history import Difference, Dropped, Moment, State
from lanceyard.catalog.maintenance import RETENTION, MigrationReport, Progress, RepairReport
from lanceyard.identifier import Identifier
from lanceyard.namespace import CatalogName, Namespace, connect, properties_of
from lanceyard.yard import html, listing
from lanceyard.yard.data import as_body, read_data
from lanceyard.yard.listing import Found
from lanceyard.yard.names import Name, read_name
from lanceyard.yard.space import Space
from lanceyard.yard.sql import answer
from lanceyard.yard.table import Table
from lanceyard.yard.tags import Tags
from lanceyard.yard.transaction import Transaction

if TYPE_CHECKING:
    from types import TracebackType


def open(catalog: CatalogName, **properties: str) -> Yard:  # noqa: A001
    """Open a catalog: a path, a URI, the address of a server, or properties with ``impl``.

    Examples
    --------
    >>> import lanceyard, tempfile
    >>> yard = lanceyard.open(tempfile.mkdtemp())
    >>> _ = yard.create_namespace("shop")
    >>> yard.create_table("shop.fruits", {"name": ["pear", "plum"], "price": [3, 2]}).count()
    2
    >>> print(yard.tree())
    .
    └── shop
        └── fruits
    """
    return Yard(connect(properties_of(catalog), properties))


class Yard:
    """A catalog as a person holds it.

    Names are written ``a.b.t`` or ``a$b$t``; a name that contains a dot needs a list.
    """

    def __init__(self, namespace: Namespace) -> None:
        """Hold the catalog behind a namespace."""
        self.namespace = namespace

    def namespaces(self, parent: Name = "") -> list[str]:
        """The names of the namespaces directly below one."""
        return [*listing.namespaces_in(self.namespace, read_name(parent))]

    def tables(self, parent: Name = "") -> list[str]:
        """The names of the tables directly below a namespace."""
        return [*listing.tables_in(self.namespace, read_name(parent))]

    def tree(self, top: Name = "") -> str:
        """Everything below a namespace, drawn as a tree."""
        return listing.draw(self.namespace, read_name(top))

    def walk(self, top: Name = "") -> Iterator[Found]:
        """All namespaces and tables below a namespace; what is in one comes right after it."""
        return listing.walk(self.namespace, read_name(top))

    def find(self, name: Name) -> Found:
        """What a name means: a table, or a namespace; the root is one.

        Raises
        ------
        TableNotFoundError
            There is neither.
        """
        identifier = read_name(name)
        if identifier and self._is_table(identifier):
            return Found(identifier, True)
        try:
            self.namespace.namespace_exists({"id": list(identifier)})  # type: ignore[arg-type]
        except (errors.NamespaceNotFoundError, errors.UnsupportedOperationError):
            # A catalog that has no namespaces does not have this one either.
            raise errors.TableNotFoundError(
                f"neither a table nor a namespace {identifier} was found"
            ) from None
        return Found(identifier, False)

    def create_namespace(
        self,
        name: Name,
        properties: Mapping[str, str] | None = None,
        *,
        exist_ok: bool = False,
    ) -> Yard:
        """Create a namespace."""
        mode = "exist_ok" if exist_ok else "create"
        request = {"id": list(read_name(name)), "properties": dict(properties or {}), "mode": mode}
        self.namespace.create_namespace(request)  # type: ignore[arg-type]
        return self

    def create_table(
        self,
        name: Name,
        data: Any,
        *,
        schema: pa.Schema | None = None,
        properties: Mapping[str, str] | None = None,
        mode: str = "create",
    ) -> Table:
        """Create a table from Arrow, pandas, dicts or an iterable of batches.

        `mode` says what happens if it exists: ``create`` refuses, ``exist_ok`` keeps it,
        ``overwrite`` replaces it. A `pyarrow.Schema` as data makes an empty table.
        """
        identifier = read_name(name)
        request = {"id": list(identifier), "mode": mode, "properties": dict(properties or {})}
        self.namespace.create_table(request, as_body(read_data(data, schema)))  # type: ignore[arg-type]
        return Table(self.namespace, identifier)

    def declare(
        self,
        name: Name,
        *,
        location: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> Table:
        """Reserve a name and a location for a table, without data."""
        return self._put("declare_table", name, location, properties)

    def register(
        self,
        name: Name,
        location: str,
        *,
        properties: Mapping[str, str] | None = None,
        overwrite: bool = False,
    ) -> Table:
        """Give a table that lies inside the root a name; `overwrite` takes it from another."""
        mode = "overwrite" if overwrite else "create"
        return self._put("register_table", name, location, properties, mode=mode)

    def deregister(self, name: Name) -> str:
        """Take a table out of the catalog, keep its files, and tell where they are."""
        request = {"id": list(read_name(name))}
        return str(self.namespace.deregister_table(request).location)  # type: ignore[arg-type]

    def create_view(self, name: Name, sql: str, /, **tables: Name) -> Table:
        """Create a table that holds the answer to a query, and `Table.refresh` it later.

        The query is SQL of DataFusion; `tables` says which table each name in it means.
        """
        identifier = read_name(name)
        bases = {alias: list(read_name(base)) for alias, base in tables.items()}
        request = {
            "id": list(identifier),
            "kind": "query",
            "source_query": json.dumps({"sql": sql, "tables": bases}),
            "output_schema": "",
            "with_no_data": False,
        }
        self.namespace.create_materialized_view(request)  # type: ignore[arg-type]
        return Table(self.namespace, identifier)

    def table(self, name: Name) -> Table:
        """A table that exists. Raises `TableNotFoundError`."""
        identifier = read_name(name)
        self.namespace.table_exists({"id": list(identifier)})  # type: ignore[arg-type]
        return Table(self.namespace, identifier)

    def space(self, name: Name = "") -> Space:
        """A namespace that exists. Raises `NamespaceNotFoundError`."""
        identifier = read_name(name)
        self.namespace.namespace_exists({"id": list(identifier)})  # type: ignore[arg-type]
        return Space(self.namespace, identifier)

    def sql(self, query: str) -> pa.RecordBatchReader:
        """The answer to a query over all tables of the catalog, as a stream; nothing is changed.

        The SQL is that of DataFusion. A table is ``ns.t``, or ``"a.b.c".t`` below deeper
        namespaces; a name with capitals or dots in it is quoted.
        """
        return answer(self.namespace, query)

    def drop(self, name: Name, *, cascade: bool = False) -> None:
        """Drop a table, or a namespace; with `cascade` all below the namespace too."""
        identifier = read_name(name)
        try:
            self.namespace.drop_table({"id": list(identifier)})  # type: ignore[arg-type]
        except (errors.TableNotFoundError, errors.UnsupportedOperationError) as missing:
            behavior = "cascade" if cascade else "restrict"
            try:
                self.namespace.drop_namespace(
                    {"id": list(identifier), "behavior": behavior}  # type: ignore[arg-type]
                )
            except (errors.NamespaceNotFoundError, errors.UnsupportedOperationError):
                raise missing from None

    def rename(self, name: Name, new_name: Name) -> Table:
        """Give a table another name; one of a single part stays in its namespace."""
        identifier, target = read_name(name), read_name(new_name)
        parent = target.parent if len(target) > 1 else identifier.parent
        self.namespace.rename_table(
            {  # type: ignore[arg-type]
                "id": list(identifier),
                "new_table_name": target.name,
                "new_namespace_id": list(parent),
            }
        )
        return Table(self.namespace, parent.child(target.name))

    def migrate(
        self, *, dry_run: bool = False, progress: Callable[[Progress], None] | None = None
    ) -> MigrationReport:
        """Take all tables that are found by their directories (V1, bare) into the manifest.

        Afterwards ``dir_listing_enabled=false`` shows all of them. It may run beside writers, be
        cut short, and be run again.
        """
        return self.namespace.migrate(dry_run=dry_run, progress=progress)

    def repair(
        self,
        *,
        dry_run: bool = False,
        retention: timedelta = RETENTION,
        unreferenced_for: timedelta = RETENTION,
        progress: Callable[[Progress], None] | None = None,
    ) -> RepairReport:
        """Find what crashes, old programs and people left behind and, unless `dry_run`, mend it.

        Nothing that changed within the window is touched. A file of a table that no version
        refers to is an orphan once it is as old as `unreferenced_for`. What is removed goes to
        ``_lanceyard/trash`` in the root, and from there for good after the `retention`.
        """
        return self.namespace.repair(
            dry_run=dry_run,
            retention=retention,
            unreferenced_for=unreferenced_for,
            progress=progress,
        )

    def manage_versions(self, *, wait: timedelta | None = None) -> int:
        """Let the catalog keep the versions of tables, for transactions and its own history.

        Writers that know only directories, the reference implementation among them, can no longer
        write to it. Those who have a table open are given time to end: five seconds, or as long as
        `wait` says. Returns how many tables there are.
        """
        return self.namespace.manage_versions(wait=wait)

    def transaction(self, transaction_id: str | None = None) -> Transaction:
        """Begin a transaction over many tables, or take part in one that another process began.

        As a context manager it commits at the end of the block, and aborts on an exception.
        """
        if transaction_id is not None:
            return Transaction(self.namespace.join_transaction(transaction_id), is_ours=False)
        return Transaction(self.namespace.begin_transaction(), is_ours=True)

    @property
    def tags(self) -> Tags:
        """Names for states of the whole catalog."""
        return Tags(self.namespace)

    def states(self) -> list[State]:
        """The states of the whole catalog that are kept, oldest first."""
        return self.namespace.states()

    def as_of(self, moment: Moment) -> Yard:
        """The whole catalog as it was, to be read.

        The moment is a time (`datetime`, or seconds since the epoch), a version of the manifest, or
        a tag.
        """
        return Yard(self.namespace.as_of(moment))

    def diff(self, before: Moment, after: Moment | None = None) -> Difference:
        """What was created, dropped, renamed, committed and altered between two moments."""
        return self.namespace.difference(before, after)

    def dropped(self) -> list[Dropped]:
        """What can be brought back with `undrop`, the latest first."""
        return [*self.namespace.dropped()]

    def undrop(self, name: Name, new_name: Name | None = None) -> None:
        """Bring back a table, or a namespace with all below it, that was dropped.

        It takes a catalog whose property ``drop_retention`` is set.
        """
        target = None if new_name is None else read_name(new_name)
        self.namespace.undrop(read_name(name), target)

    def close(self) -> None:
        """Finish background work."""
        self.namespace.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Yard {self.namespace.namespace_id()}>"

    def _repr_html_(self) -> str:
        return html.tree(f"Yard {self.namespace.namespace_id()}", self.walk(), 0, {})

    def _is_table(self, identifier: Identifier) -> bool:
        try:
            self.namespace.table_exists({"id": list(identifier)})  # type: ignore[arg-type]
        except (errors.TableNotFoundError, errors.NamespaceNotFoundError):
            return False
        return True

    def _put(
        self,
        operation: str,
        name: Name,
        location: str | None,
        properties: Mapping[str, str] | None,
        **more: str,
    ) -> Table:
        identifier = read_name(name)
        request = {"id": list(identifier), "location": location, **more}
        getattr(self.namespace, operation)({**request, "properties": dict(properties or {})})
        return Table(self.namespace, identifier)
