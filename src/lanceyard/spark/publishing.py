"""Publishing: what a job writes to several tables lands at once, or not at all.

The tables of a publication are those of a transaction of the catalog, in folders that nobody else
looks at. Executors write there, by paths; what was staged can be read and checked before it lands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from lanceyard import errors
from lanceyard.catalog.transactions import Status
from lanceyard.namespace import CatalogName, connect, properties_of

if TYPE_CHECKING:
    from types import TracebackType

    from pyspark.sql import DataFrame, SparkSession

    from lanceyard.catalog.transactions import Transaction

FORMAT = "lanceyard"


class CheckFailedError(Exception):
    """What was staged is not as it should be, and is not published."""


class Publication:
    """Tables that are written together.

    As a context manager it lands everything at the end of the block, and nothing if the block
    raises. A driver that dies leaves nothing that anybody can see; repair removes the rest.
    """

    def __init__(self, spark: SparkSession, transaction: Transaction) -> None:
        """Stage tables in a transaction."""
        self._spark = spark
        self._transaction = transaction
        self._is_over = False

    @property
    def id(self) -> str:
        """Of the transaction: other processes join it by ``yard.transaction(id)``."""
        return self._transaction.id

    @property
    def tables(self) -> list[str]:
        """The names of the tables that are staged."""
        from lanceyard.yard.names import write_name

        return [write_name(identifier) for identifier in self._transaction.tables()]

    def options(self, table: str) -> dict[str, str]:
        """Options of the data source that read and write a table as it is staged.

        A table that the catalog does not have is a new one.
        """
        from lanceyard.yard.names import read_name

        try:
            return self._staged(table)
        except errors.TableNotFoundError:
            return self._at(self._transaction.create(read_name(table), {}))

    def write(self, frame: DataFrame, table: str, *, mode: str = "append", **options: str) -> None:
        """Stage rows: added to a table, or in place of what it has (``overwrite``).

        More `options` are those of the data source.
        """
        writer = frame.write.format(FORMAT).mode(mode)
        writer.options(**options).options(**self.options(table)).save()

    def read(self, table: str, **options: str) -> DataFrame:
        """A table as it is staged so far, or as it was when the publication began."""
        return self._spark.read.format(FORMAT).options(**options, **self._staged(table)).load()

    def _staged(self, table: str) -> dict[str, str]:
        """Where a table is staged that there is. Raises `TableNotFoundError`."""
        from lanceyard.yard.names import read_name

        return self._at(self._transaction.open(read_name(table)))

    def _at(self, path: str) -> dict[str, str]:
        """Options by which executors reach a path as the transaction does."""
        storage = self._transaction.storage_options
        return {"path": path, **{f"storage.{name}": value for name, value in storage.items()}}

    def check(self, is_right: Callable[..., object], *tables: str, text: str = "") -> None:
        """Publish nothing unless something is so.

        The function is called at once, with the staged tables of these names as data frames.

        Raises
        ------
        CheckFailedError
            It answered False.
        """
        if not is_right(*map(self.read, tables)):
            name = text or getattr(is_right, "__name__", "a check")
            about = f" of {', '.join(tables)}" if tables else ""
            raise CheckFailedError(f"{name}{about} failed, so nothing is published")

    def require(self, table: str) -> None:
        """Publish nothing if others change a table meanwhile that is only read here."""
        from lanceyard.yard.names import read_name

        self._transaction.require(read_name(table))

    def commit(self) -> None:
        """Land everything. Raises `ConcurrentModificationError` if others changed a table."""
        self._transaction.commit()
        self._is_over = True

    def abort(self) -> None:
        """Land nothing."""
        self._transaction.abort()
        self._is_over = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._is_over:
            return
        if error is None:
            self.commit()  # which says if somebody else has ended it
        elif self._transaction.status() is Status.RUNNING:
            self.abort()

    def __repr__(self) -> str:
        return f"<Publication {self.id} {self._transaction.status().value}>"


def publish(spark: SparkSession, *, catalog: CatalogName) -> Publication:
    """Begin a publication: several tables that land at once, or not at all.

    Raises
    ------
    UnsupportedOperationError
        The catalog does not manage versions.

    Examples
    --------
    ::

        with lanceyard.spark.publish(spark, catalog="./catalog") as publication:
            publication.write(orders, "shop.orders")
            publication.write(totals, "shop.totals", mode="overwrite")
            publication.check(lambda staged: staged.count() > 0, "shop.totals")
    """
    return Publication(spark, _begin(catalog))


def _begin(catalog: CatalogName) -> Transaction:
    namespace: Any = connect(properties_of(catalog))
    try:
        begun: Transaction = namespace.begin_transaction()
    except errors.UnsupportedOperationError as cause:
        raise errors.UnsupportedOperationError(
            f"tables cannot be published together here: {cause}. A catalog in a directory or a "
            "bucket does it once it manages versions: call lanceyard.open(root).manage_versions(), "
            "or make it with table_version_management=true"
        ) from cause
    return begun
