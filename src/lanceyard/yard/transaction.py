"""A transaction as a person holds it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from lanceyard import errors
from lanceyard.catalog.transactions import Status
from lanceyard.yard.data import read_data
from lanceyard.yard.names import Name, read_name, write_name

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from lance import LanceDataset

    from lanceyard.catalog.transactions import Transaction as Inner


class Transaction:
    """Changes to many tables that nobody sees before all of them land at once.

    Tables are as they were when it began, and as it left them since. They are opened as pylance
    knows them: append, overwrite, merge, delete, update and index by its own calls.

    Examples
    --------
    >>> import lanceyard, tempfile
    >>> yard = lanceyard.open(tempfile.mkdtemp(), table_version_management="true")
    >>> _ = yard.create_table("stock", {"pears": [5]})
    >>> with yard.transaction() as tx:
    ...     _ = tx.table("stock").update({"pears": "pears - 1"})
    ...     _ = tx.create_table("sales", {"pears": [1]})
    >>> yard.table("stock").read()["pears"].to_pylist()
    [4]
    """

    def __init__(self, inner: Inner, *, is_ours: bool) -> None:
        """Hold a transaction; one that is ours ends with its block, one we joined does not."""
        self._inner = inner
        self._is_ours = is_ours
        self._options = dict(inner.storage_options) or None

    @property
    def id(self) -> str:
        """By which other processes join: ``yard.transaction(id)``."""
        return self._inner.id

    @property
    def status(self) -> str:
        """Running, Succeeded, Failed or Canceled."""
        return self._inner.status().value

    def tables(self) -> list[str]:
        """The names of the tables that were opened or created in it."""
        return [write_name(identifier) for identifier in self._inner.tables()]

    def table(self, name: Name) -> LanceDataset:
        """A table, to be read and written; opened again it shows what was written before."""
        import lance

        identifier = read_name(name)
        location = self._inner.open(identifier)
        try:
            return lance.dataset(location, storage_options=self._options)
        except (ValueError, OSError) as cause:
            raise errors.InvalidTableStateError(
                f"table {identifier} was declared and has no data yet: write to it first"
            ) from cause

    def create_table(
        self,
        name: Name,
        data: Any,
        *,
        schema: pa.Schema | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> LanceDataset:
        """Create a table from Arrow, pandas, dicts or an iterable of batches."""
        import lance

        stream = read_data(data, schema)
        location = self._inner.create(read_name(name), properties or {})
        try:
            return lance.write_dataset(stream, location, storage_options=self._options)
        except (ValueError, OSError) as cause:
            raise errors.InvalidInputError(f"cannot write table {name}: {cause}") from cause

    def write(self, name: Name, data: Any, *, mode: str = "append") -> LanceDataset:
        """Append to a table, overwrite it, or give one its first data that was only declared."""
        import lance

        identifier = read_name(name)
        location = self._inner.open(identifier)
        try:
            return lance.write_dataset(
                read_data(data), location, mode=mode, storage_options=self._options
            )
        except (ValueError, OSError) as cause:
            raise errors.InvalidInputError(
                f"cannot {mode} to table {identifier}: {cause}"
            ) from cause

    def require(self, name: Name) -> None:
        """Let the commit fail if others change a table that is only read here."""
        self._inner.require(read_name(name))

    def commit(self) -> None:
        """Land everything at once; `ConcurrentModificationError` names what others changed."""
        self._inner.commit()

    def abort(self) -> None:
        """Forget everything."""
        self._inner.abort()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if not self._is_ours:
            self._inner.leave()
        elif self._inner.status() is not Status.RUNNING:
            return
        elif error is None:
            self.commit()
        else:
            self.abort()

    def __repr__(self) -> str:
        return f"<Transaction {self.id} {self.status}>"
