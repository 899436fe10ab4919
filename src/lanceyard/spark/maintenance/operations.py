"""The operations of maintenance, as Python functions.

Each is for one table, a namespace with all below it, or the whole catalog (no name); without a
catalog the name is the path of a table. `dry_run` changes nothing, and reports what would be done.
Without a session the work is done by threads of this process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from lanceyard import errors
from lanceyard.catalog.maintenance import RETENTION
from lanceyard.namespace import CatalogName
from lanceyard.spark.maintenance.counting import parallelism
from lanceyard.spark.maintenance.expiry import AGE, Expiry, Kept
from lanceyard.spark.maintenance.reports import Plan, Report, TablePlan, TableReport
from lanceyard.spark.maintenance.scope import Scope
from lanceyard.spark.maintenance.work import carry_out

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lanceyard.spark.maintenance.progress import Watcher
    from lanceyard.spark.maintenance.values import Function


def compact(
    spark: SparkSession | None,
    table: str | None = None,
    *,
    catalog: CatalogName | None = None,
    dry_run: bool = False,
    progress: Watcher | None = None,
    **options: Any,
) -> Report:
    """Make large fragments of small ones, and let deleted rows go.

    Options are those of `lance.optimize.CompactionOptions`, such as ``target_rows_per_fragment``.
    Indexes are kept; where rows have no stable ids, the driver rewrites them at the commit.
    """
    from lanceyard.spark.maintenance.compaction import Compaction, check_options

    begin = partial(Compaction, options=check_options(options))
    scope = Scope.read(table, catalog)
    return carry_out(spark, "compact", scope, begin, dry_run=dry_run, progress=progress)


def index(
    spark: SparkSession | None,
    table: str,
    column: str,
    kind: str = "BTREE",
    *,
    catalog: CatalogName | None = None,
    name: str | None = None,
    replace: bool = False,
    tasks: int | None = None,
    dry_run: bool = False,
    progress: Watcher | None = None,
    **parameters: Any,
) -> Report:
    """Build an index on a column of a table, a segment in each task, and commit them at once.

    Kinds and parameters are those of CreateTableIndex: ``BTREE``, ``FTS``, ``IVF_PQ``,
    ``distance_type``, ``num_partitions`` and more. `tasks` is how many segments are wanted; by
    default as many as it takes to keep all cores busy.
    """
    from lanceyard.spark.maintenance.indexing import Indexing

    begin = partial(
        Indexing,
        column=column,
        kind=kind,
        name=name,
        replace=replace,
        tasks=tasks or parallelism(spark),
        parameters=parameters,
    )
    scope = _one(table, catalog)
    return carry_out(spark, "index", scope, begin, dry_run=dry_run, progress=progress)


def refresh(
    spark: SparkSession | None,
    table: str | None = None,
    *,
    catalog: CatalogName | None = None,
    names: Sequence[str] | None = None,
    tasks: int | None = None,
    dry_run: bool = False,
    progress: Watcher | None = None,
) -> Report:
    """Let indexes cover the fragments that came since they were built.

    `names` chooses among the indexes of one table.
    """
    from lanceyard.spark.maintenance.refreshing import Refreshing

    scope = Scope.read(table, catalog) if names is None else _one(table or "", catalog)
    begin = partial(Refreshing, names=names, tasks=tasks or parallelism(spark))
    return carry_out(spark, "refresh", scope, begin, dry_run=dry_run, progress=progress)


def backfill(
    spark: SparkSession | None,
    table: str,
    values: Mapping[str, str] | Function,
    *,
    catalog: CatalogName | None = None,
    reads: Sequence[str] | None = None,
    schema: pa.Schema | None = None,
    only_missing: bool = False,
    batch_size: int | None = None,
    tasks: int | None = None,
    restart: bool = False,
    dry_run: bool = False,
    progress: Watcher | None = None,
) -> Report:
    """Compute columns of a table, new ones or ones that it has, in one version.

    A run that was killed is carried on by the next one with the same values: fragments that were
    finished are not computed again, for five days.

    Parameters
    ----------
    values
        SQL expressions by the names of columns, or a function from a record batch to new columns:
        a batch, a table, a data frame or a dict of arrays. It is run on executors, and may be run
        twice on the same rows.
    reads
        The columns that the function needs; all unless said.
    schema
        What the function returns; unless said, it is tried on the first rows, on the driver.
    only_missing
        Compute a column that the table has only for fragments that lack it, such as those that
        were appended since.
    restart
        Forget what an earlier run has computed.
    """
    from lanceyard.spark.maintenance.backfilling import Backfilling
    from lanceyard.spark.maintenance.values import Computed, Expressions

    if isinstance(values, Mapping):
        if not values:
            raise errors.InvalidInputError("say which column to compute, and how")
        if reads is not None or schema is not None:
            raise errors.InvalidInputError("reads and schema are for functions, not for SQL")
        chosen: Any = Expressions(dict(values))
    else:
        chosen = Computed.of(values, reads, schema)
    begin = partial(
        Backfilling,
        values=chosen,
        only_missing=only_missing,
        batch_size=batch_size,
        tasks=tasks or parallelism(spark),
        restart=restart,
    )
    scope = _one(table, catalog)
    return carry_out(spark, "backfill", scope, begin, dry_run=dry_run, progress=progress)


def expire(
    spark: SparkSession | None,
    table: str | None = None,
    *,
    catalog: CatalogName | None = None,
    older_than: timedelta = AGE,
    keep: int = 1,
    keep_history: bool = True,
    dry_run: bool = False,
    progress: Watcher | None = None,
) -> Report:
    """Remove versions that were replaced longer ago than `older_than`, and their files.

    The newest `keep` stay, and those with a tag or a branch. Where the catalog keeps versions,
    those stay too that a tagged state of the catalog shows and, with `keep_history`, those that
    anybody saw within the history that the catalog keeps.
    """
    if keep < 1:
        raise errors.InvalidInputError("at least one version is kept")
    scope = Scope.read(table, catalog)
    begin = partial(
        Expiry, older_than=older_than, keep=keep, kept=_kept(scope, keep_history=keep_history)
    )
    return carry_out(spark, "expire", scope, begin, dry_run=dry_run, progress=progress)


def sweep(
    spark: SparkSession | None,
    table: str | None = None,
    *,
    catalog: CatalogName | None = None,
    older_than: timedelta = RETENTION,
    dry_run: bool = False,
    progress: Watcher | None = None,
) -> Report:
    """Delete files of tables that no version refers to, and that were written long ago.

    A job that still runs has files that no version refers to yet: `older_than` must be longer
    than any job takes. What a back-fill has computed and could be carried on with stays. Tables
    with branches are spared.
    """
    from lanceyard.spark.maintenance.sweeping import Sweeping

    scope = Scope.read(table, catalog)
    begin = partial(Sweeping, older_than=older_than, dry_run=dry_run)
    return carry_out(spark, "sweep", scope, begin, dry_run=dry_run, progress=progress)


def migrate(
    spark: SparkSession | None,  # noqa: ARG001 - all operations are called in the same way
    table: None = None,
    *,
    catalog: CatalogName,
    dry_run: bool = False,
    progress: Watcher | None = None,  # noqa: ARG001 - it takes one commit
) -> Report:
    """Take all tables that are found by their directories (V1) into the manifest (V2).

    That is a matter of names, for the whole catalog, and is done by the driver: no file moves.
    """
    if table is not None:
        raise errors.InvalidInputError("a catalog is migrated as a whole: leave the name out")
    started = time.monotonic()
    yard = Scope.read(None, catalog).yard
    assert yard is not None
    found = yard.migrate(dry_run=dry_run)
    names = [each.object_id.replace("$", ".") for each in found.migrated]
    plan = Plan(
        "migrate",
        tuple(TablePlan(name, what="into the manifest") for name in names),
        len(names) + found.present + len(found.skipped),
    )
    done = () if dry_run else tuple(TableReport(name, "is in the manifest") for name in names)
    failures = tuple(
        (each.location, errors.InvalidTableStateError(each.reason)) for each in found.skipped
    )
    return Report(plan, done, failures, dry_run, time.monotonic() - started)


def read_option(text: str) -> bool | float | str:
    """An option as SQL and shells have it: a text, which may mean a number or a flag."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _one(table: str, catalog: CatalogName | None) -> Scope:
    """A scope of exactly one table."""
    scope = Scope.read(table, catalog)
    if not scope.is_one:
        raise errors.TableNotFoundError(f"{table or 'the catalog'} is not a table: name one")
    return scope


def _kept(scope: Scope, *, keep_history: bool) -> Kept | None:
    """What the catalog still needs; None if it does not tell."""
    try:
        return Kept.by(scope.yard, keep_history=keep_history)
    except errors.UnsupportedOperationError:
        return None
