"""SQL over a whole catalog: DataFusion asks for a table when a query names it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lanceyard.identifier import Identifier
from lanceyard.namespace.views.query import new_context, plan, told_of_query
from lanceyard.yard import listing
from lanceyard.yard.names import read_name
from lanceyard.yard.table import Table

if TYPE_CHECKING:
    from lanceyard.namespace import Namespace

ROOT = "."
"""How the root is called where DataFusion has a catalog, or a schema, and a query names none."""


def answer(namespace: Namespace, query: str) -> pa.RecordBatchReader:
    """The answer to a query that changes nothing. See `Yard.sql`."""
    context = _context_over(namespace)
    frame = plan(context, query)
    schema = frame.schema()

    def batches() -> Iterator[pa.RecordBatch]:
        _ = context  # which Lance's tables need for as long as they are read
        with told_of_query():
            for batch in pa.RecordBatchReader.from_stream(frame):
                yield batch.cast(schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def _context_over(namespace: Namespace) -> Any:
    """A session in which the tables of a catalog are looked up by name."""
    new_context()  # which says what is missing
    from datafusion import SessionConfig
    from datafusion.catalog import CatalogProvider, CatalogProviderList, SchemaProvider

    class Tables(SchemaProvider):
        def __init__(self, parent: Identifier) -> None:
            self._parent = parent

        def table_names(self) -> set[str]:
            return {*listing.tables_in(namespace, self._parent)}

        def table(self, name: str) -> Any:
            from lance import FFILanceTableProvider

            found = Table(namespace, self._parent.child(name))
            return FFILanceTableProvider(found.to_lance())

        def table_exist(self, name: str) -> bool:
            return name in self.table_names()

    class Spaces(CatalogProvider):
        def __init__(self, parent: Identifier) -> None:
            self._parent = parent

        def schema_names(self) -> set[str]:
            return {*listing.namespaces_in(namespace, self._parent), ROOT}

        def schema(self, name: str) -> Any:
            return Tables(_below(self._parent, name))

    class Tops(CatalogProviderList):
        def catalog_names(self) -> set[str]:
            return {*listing.namespaces_in(namespace, Identifier()), ROOT}

        def catalog(self, name: str) -> Any:
            return Spaces(_below(Identifier(), name))

    config = SessionConfig().with_default_catalog_and_schema(ROOT, ROOT)
    context = new_context(config.with_create_default_catalog_and_schema(False))
    context.register_catalog_provider_list(Tops())
    return context


def _below(parent: Identifier, name: str) -> Identifier:
    return parent if name == ROOT else Identifier.parse([*parent, *read_name(name)])
