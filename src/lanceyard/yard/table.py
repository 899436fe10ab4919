"""A table as a person holds it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from lanceyard import errors
from lanceyard.identifier import Identifier
from lanceyard.namespace.content.failures import told
from lanceyard.namespace.content.sql import condition
from lanceyard.yard import html
from lanceyard.yard.data import as_body, fit_data, read_data
from lanceyard.yard.differences import TableDifference, compare
from lanceyard.yard.names import write_name

if TYPE_CHECKING:
    import pyarrow as pa
    from lance import LanceDataset
    from lance_namespace import GetTableStatsResponse, TableVersion
    from lance_namespace_urllib3_client.models.index_content import IndexContent

    from lanceyard.namespace import Namespace


class Merged(NamedTuple):
    """What a merge did."""

    updated: int
    inserted: int
    deleted: int


class Table:
    """A table of a yard. It is looked up anew for every call, so it follows what others do."""

    def __init__(self, namespace: Namespace, identifier: Identifier) -> None:
        """Speak for a table that may or may not exist."""
        self._namespace = namespace
        self._identifier = identifier

    @property
    def name(self) -> str:
        """The name, with that of the namespaces above it."""
        return write_name(self._identifier)

    @property
    def location(self) -> str:
        """Where the table lies."""
        return str(self._describe().location)

    @property
    def properties(self) -> dict[str, str]:
        """The properties that the catalog keeps."""
        return dict(self._describe().properties or {})

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the latest version."""
        return self.to_lance().schema

    @property
    def version(self) -> int:
        """The number of the latest version."""
        return int(self.to_lance().version)

    def append(self, data: Any) -> Table:
        """Add rows. Arrow, pandas, dicts and iterables of batches are understood."""
        return self._write(data, "append")

    def overwrite(self, data: Any) -> Table:
        """Replace all rows, and the schema; earlier versions stay readable."""
        return self._write(data, "overwrite")

    def merge(
        self,
        data: Any,
        on: str | Sequence[str],
        *,
        update: bool | str = True,
        insert: bool = True,
        delete: bool | str = False,
    ) -> Merged:
        """Merge rows in, matched by columns: update those that match, insert the others.

        A text instead of True is a SQL condition: `update` compares ``source.…`` with
        ``target.…``, and `delete` chooses among the rows that the data lacks.
        """
        answer = self._do(
            "merge_insert_into_table",
            as_body(fit_data(data, self.schema)),
            on=[on] if isinstance(on, str) else list(on),
            when_matched_update_all=bool(update),
            when_matched_update_all_filt=update if isinstance(update, str) else None,
            when_not_matched_insert_all=insert,
            when_not_matched_by_source_delete=bool(delete),
            when_not_matched_by_source_delete_filt=delete if isinstance(delete, str) else None,
        )
        return Merged(answer.num_updated_rows, answer.num_inserted_rows, answer.num_deleted_rows)

    def update(self, columns: Mapping[str, str], *, where: str | None = None) -> int:
        """Set columns to SQL expressions, and say in how many rows."""
        updates = [[column, expression] for column, expression in columns.items()]
        return int(self._do("update_table", updates=updates, predicate=where).updated_rows)

    def delete(self, where: str) -> Table:
        """Delete the rows for which a SQL condition holds."""
        self._do("delete_from_table", predicate=where)
        return self

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        where: str | None = None,
        version: int | str | None = None,
    ) -> pa.Table:
        """Read rows: all of them, or those for which a SQL condition holds.

        A version is a number or the name of a tag.
        """
        wanted = None if columns is None else list(columns)
        with told(self._identifier):
            return self.to_lance(version).to_table(columns=wanted, filter=condition(where))

    def stream(
        self,
        columns: Sequence[str] | None = None,
        *,
        where: str | None = None,
        version: int | str | None = None,
    ) -> pa.RecordBatchReader:
        """Read rows as `read` does, batch by batch."""
        import pyarrow as pa

        wanted = None if columns is None else list(columns)
        with told(self._identifier):
            scanner = self.to_lance(version).scanner(columns=wanted, filter=condition(where))
            reader = scanner.to_reader()
        return pa.RecordBatchReader.from_batches(reader.schema, self._told_batches(reader))

    def head(self, rows: int = 10, *, version: int | str | None = None) -> pa.Table:
        """Read the first rows."""
        return self.to_lance(version).head(rows)  # type: ignore[no-untyped-call]

    def count(self, where: str | None = None) -> int:
        """Count rows: all of them, or those for which a SQL condition holds."""
        return int(self._do("count_table_rows", predicate=where).count)

    def search(
        self,
        vector: Any = None,
        text: str | None = None,
        *,
        limit: int = 10,
        where: str | None = None,
        columns: Sequence[str] | None = None,
        **options: Any,
    ) -> pa.Table:
        """Find the rows nearest to a vector, those that a text occurs in, or the best of both.

        Options are those of QueryTable, such as ``vector_column``, ``distance_type``, ``nprobes``,
        ``refine_factor``, ``prefilter`` and ``offset``.
        """
        import pyarrow as pa

        if vector is not None:
            options["vector"] = vector.tolist() if hasattr(vector, "tolist") else list(vector)
        if text is not None:
            options["full_text_query"] = {"query": text}
        if columns is not None:
            options["columns"] = list(columns)
        answer = self._do("query_table", k=limit, filter=where, **options)
        return pa.ipc.open_file(pa.py_buffer(answer.data)).read_all()

    def versions(self) -> list[TableVersion]:
        """The versions, the latest first."""
        return list(self._do("list_table_versions").versions)

    def diff(self, before: int | str, after: int | str | None = None) -> TableDifference:
        """What two versions differ in; the second is the latest unless another is given."""
        return compare(self.to_lance(before), self.to_lance(after))

    def stats(self) -> GetTableStatsResponse:
        """How large the table is, in rows, bytes and fragments."""
        return self._do("get_table_stats")  # type: ignore[no-any-return]

    def restore(self, version: int) -> Table:
        """Make an earlier version the latest one again."""
        self._do("restore_table", version=version)
        return self

    def index(self, column: str, kind: str = "BTREE", **parameters: Any) -> Table:
        """Index a column.

        Kinds and parameters are those of CreateTableIndex: ``FTS`` for words, ``IVF_PQ`` for
        vectors, ``name``, ``replace``, ``distance_type``, ``num_partitions`` and more.
        """
        self._do("create_table_index", column=column, index_type=kind, **parameters)
        return self

    def indexes(self) -> list[IndexContent]:
        """The indexes, by name."""
        return list(self._do("list_table_indices").indexes)

    def drop_index(self, name: str) -> Table:
        """Drop an index."""
        self._do("drop_table_index", index_name=name)
        return self

    def tag(self, name: str, version: int | None = None) -> Table:
        """Let a tag, new or not, name a version: the latest, unless another is given."""
        operation = "update_table_tag" if name in self.tags() else "create_table_tag"
        self._do(operation, tag=name, version=self.version if version is None else version)
        return self

    def tags(self) -> dict[str, int]:
        """The tags and the versions that they name."""
        return {name: tag.version for name, tag in self._do("list_table_tags").tags.items()}

    def untag(self, name: str) -> Table:
        """Forget a tag."""
        self._do("delete_table_tag", tag=name)
        return self

    def branch(self, name: str, version: int | None = None) -> Table:
        """Let a new branch begin at a version: the latest, unless another is given."""
        self._do("create_table_branch", name=name, from_version=version)
        return self

    def branches(self) -> dict[str, int]:
        """The branches and the versions that they began at; the main one is not among them."""
        found = self._do("list_table_branches").branches
        return {name: branch.parent_version for name, branch in found.items()}

    def drop_branch(self, name: str) -> Table:
        """Delete a branch and its versions."""
        self._do("delete_table_branch", name=name)
        return self

    def set_properties(self, properties: Mapping[str, str]) -> Table:
        """Put properties; others stay."""
        self._do("alter_table", set=dict(properties))
        return self

    def unset_properties(self, *names: str) -> Table:
        """Take properties away."""
        self._do("alter_table", unset=list(names))
        return self

    def add_columns(self, columns: Mapping[str, str]) -> Table:
        """Add columns, each with the SQL expression that its values come from."""
        entries = [{"name": name, "expression": each} for name, each in columns.items()]
        self._do("alter_table_add_columns", new_columns=entries)
        return self

    def rename_column(self, column: str, new_name: str) -> Table:
        """Give a column another name; its indexes stay."""
        self._do("alter_table_alter_columns", alterations=[{"path": column, "rename": new_name}])
        return self

    def drop_columns(self, *columns: str) -> Table:
        """Drop columns."""
        self._do("alter_table_drop_columns", columns=list(columns))
        return self

    def refresh(self) -> Table:
        """Bring a view up to date with the tables that it is made of."""
        self._do("refresh_materialized_view")
        return self

    def to_lance(self, version: int | str | None = None) -> LanceDataset:
        """The table as pylance knows it, at its latest version or at another, or at a tag."""
        import lance

        described = self._describe(check_declared=True)
        if described.is_only_declared:
            raise errors.InvalidTableStateError(
                f"table {self._identifier} was declared and has no data yet: append to it, "
                "or create it"
            )
        try:
            dataset = lance.dataset(**self._address(described))
        except (ValueError, OSError) as cause:
            raise errors.InvalidTableStateError(
                f"table {self._identifier} cannot be opened: {cause}"
            ) from cause
        if version is None:
            return dataset
        at = {"tag": version} if isinstance(version, str) else {"version": version}
        self._do("describe_table", **at)  # tells what is missing
        return dataset.checkout_version(version)

    def __repr__(self) -> str:
        return f"<Table {self.name}>"

    def _repr_html_(self) -> str:
        described = self._describe(check_declared=True)
        facts: dict[str, object] = {"location": described.location}
        columns: list[tuple[str, str]] = []
        if described.is_only_declared:
            facts["state"] = "declared, without data"
        else:
            dataset = self.to_lance()
            stats = self.stats()
            facts |= {"version": dataset.version, "rows": stats.num_rows}
            facts |= {"bytes": stats.total_bytes, "fragments": stats.fragment_stats.num_fragments}
            facts |= {
                "index " + each.index_name: ", ".join(each.columns) for each in self.indexes()
            }
            columns = [(field.name, str(field.type)) for field in dataset.schema]
        return html.card(f"Table {self.name}", {**facts, **(described.properties or {})}, columns)

    def _told_batches(self, reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        with told(self._identifier):
            yield from reader

    def _do(self, operation: str, *body: Any, **fields: Any) -> Any:
        request = {"id": list(self._identifier), **fields}
        return getattr(self._namespace, operation)(request, *body)

    def _describe(self, **asked: bool) -> Any:
        return self._do("describe_table", **asked)

    def _address(self, described: Any) -> dict[str, Any]:
        """How pylance opens the table: by its place, or through the catalog that keeps versions."""
        options = {"storage_options": described.storage_options}
        if described.managed_versioning:
            return {
                "namespace_client": self._namespace,
                "table_id": list(self._identifier),
                **options,
            }
        return {"uri": described.location, **options}

    def _write(self, data: Any, mode: str) -> Table:
        import lance

        described = self._describe(check_declared=True)
        if described.is_only_declared:
            # Where pylance goes through the catalog, `create` would declare the table again.
            mode = "overwrite" if described.managed_versioning else "create"
        stream = fit_data(data, self.schema) if mode == "append" else read_data(data)
        try:
            lance.write_dataset(stream, mode=mode, **self._address(described))
        except (ValueError, OSError) as cause:
            raise errors.InvalidInputError(
                f"cannot {mode} to table {self._identifier}: {cause}"
            ) from cause
        return self
