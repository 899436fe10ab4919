"""GetTableStats: how large a table is, and how it is divided."""

from __future__ import annotations

from .kit import Catalog, applies

ours = applies(extensions=True)


def test_rows_bytes_and_fragments_are_told(catalog: Catalog, table: list[str]) -> None:
    catalog.insert(table, *range(10))
    stats = catalog.do("get_table_stats", table)
    assert (stats.num_rows, stats.fragment_stats.num_fragments) == (13, 2)
    assert stats.total_bytes > 0
    assert stats.num_indices == 0


@ours
def test_bytes_are_those_of_the_data_files(catalog: Catalog, table: list[str]) -> None:
    files = (catalog.directory(table) / "data").iterdir()
    assert catalog.do("get_table_stats", table).total_bytes == sum(f.stat().st_size for f in files)


@ours
def test_deleted_rows_do_not_count(catalog: Catalog, table: list[str]) -> None:
    catalog.do("delete_from_table", table, predicate="n = 2")
    stats = catalog.do("get_table_stats", table)
    assert (stats.num_rows, stats.fragment_stats.lengths.max) == (2, 2)


@ours
def test_lengths_of_fragments_are_summed_up(catalog: Catalog) -> None:
    catalog.create_table(["t"], *range(10))
    for rows in (20, 30, 100):
        catalog.insert(["t"], *range(rows))
    stats = catalog.do("get_table_stats", ["t"]).fragment_stats
    lengths = stats.lengths
    assert (lengths.min, lengths.max, lengths.mean) == (10, 100, 40)
    assert (lengths.p25, lengths.p50, lengths.p75, lengths.p99) == (20, 30, 100, 100)
    assert stats.num_small_fragments == 4


@ours
def test_a_table_without_rows_has_statistics(catalog: Catalog) -> None:
    catalog.create_table(["t"])
    stats = catalog.do("get_table_stats", ["t"])
    assert (stats.num_rows, stats.fragment_stats.lengths.max) == (0, 0)


@ours
def test_indexes_are_counted(catalog: Catalog, table: list[str]) -> None:
    catalog.do("create_table_scalar_index", table, column="n", index_type="BTREE")
    assert catalog.do("get_table_stats", table).num_indices == 1


@ours
def test_a_branch_has_statistics_of_its_own(catalog: Catalog, table: list[str]) -> None:
    catalog.do("create_table_branch", table, name="side")
    catalog.insert(table, 4, branch="side")
    assert catalog.do("get_table_stats", table, branch="side").num_rows == 4
    assert catalog.do("get_table_stats", table).num_rows == 3
