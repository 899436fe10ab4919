"""Create, list, describe and drop the indexes of tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode

from .kit import Catalog, applies, refused, stream

ours = applies(extensions=True)
once = applies(mode="v2", managed=False)
"""What Lance does is the same on every backend."""
ROWS = 20


def documents(first: int = 0, count: int = ROWS) -> pa.Table:
    """Rows with a column for every kind of index."""
    numbers = range(first, first + count)
    point = pa.struct([("x", pa.float64()), ("y", pa.float64())])
    geometry = {"ARROW:extension:name": "geoarrow.point", "ARROW:extension:metadata": "{}"}
    fields = [
        pa.field("n", pa.int64()),
        pa.field("text", pa.string()),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("vector", pa.list_(pa.float32(), 16)),
        pa.field("nested", pa.struct([("a", pa.int64()), ("b.c", pa.int64())])),
        pa.field("parts", pa.list_(pa.struct([("text", pa.string())]))),
        pa.field("point", point, metadata=geometry),
    ]
    rows = [
        {
            "n": n,
            "text": f"some words {n}",
            "tags": ["even" if n % 2 == 0 else "odd"],
            "vector": [float(n + i) for i in range(16)],
            "nested": {"a": n, "b.c": -n},
            "parts": [{"text": f"part {n}"}],
            "point": {"x": float(n), "y": 0.0},
        }
        for n in numbers
    ]
    return pa.Table.from_pylist(rows, schema=pa.schema(fields))


@pytest.fixture
def docs(catalog: Catalog, home: list[str]) -> list[str]:
    """A table to be indexed."""
    identifier = [*home, "docs"]
    catalog.create_table_from(identifier, stream(documents()))
    return identifier


@pytest.fixture
def notes(catalog: Catalog) -> list[str]:
    """The same in the root, for rules to which the namespace makes no difference."""
    catalog.create_table_from(["notes"], stream(documents()))
    return ["notes"]


def index(catalog: Catalog, table: list[str], column: str = "n", **fields: Any) -> None:
    """CreateTableIndex, a BTREE unless another kind is asked for."""
    given = {"index_type": "BTREE", **fields}
    catalog.do("create_table_index", table, column=column, **given)


def listed(catalog: Catalog, table: list[str], **fields: Any) -> list[str]:
    """The names of the indexes of a table."""
    answer = catalog.do("list_table_indices", table, **fields)
    return [each.index_name for each in answer.indexes]


def stats(catalog: Catalog, table: list[str], name: str = "n_idx", **fields: Any) -> Any:
    """DescribeTableIndexStats."""
    return catalog.do("describe_table_index_stats", table, index_name=name, **fields)


def plan(catalog: Catalog, table: list[str], where: str) -> str:
    """How pylance would look for rows."""
    return str(catalog.open(table).scanner(filter=where).explain_plan())


def test_pylance_makes_use_of_a_created_index(catalog: Catalog, docs: list[str]) -> None:
    assert "n_idx" not in plan(catalog, docs, "n = 3")
    index(catalog, docs)
    assert "n_idx" in plan(catalog, docs, "n = 3")


def test_an_index_is_one_commit(catalog: Catalog, docs: list[str]) -> None:
    index(catalog, docs)
    assert catalog.open(docs).version == 2


def test_a_scalar_index_is_created_by_the_operation_for_them(
    catalog: Catalog, docs: list[str]
) -> None:
    catalog.do("create_table_scalar_index", docs, column="n", index_type="BITMAP")
    assert stats(catalog, docs).index_type.upper() == "BITMAP"


@ours
def test_an_index_on_vectors_is_not_created_by_the_operation_for_scalar_ones(
    catalog: Catalog, notes: list[str]
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("create_table_scalar_index", notes, column="vector", index_type="IVF_FLAT")
    assert catalog.open(notes).version == 1


KINDS = {
    "BTREE": "n",
    "BITMAP": "n",
    "LABEL_LIST": "tags",
    "NGRAM": "text",
    "ZONEMAP": "n",
    "BLOOMFILTER": "n",
    "RTREE": "point",
    "MINHASHLSH": "text",
    "FTS": "text",
    "IVF_FLAT": "vector",
    "IVF_PQ": "vector",
    "IVF_SQ": "vector",
    "IVF_RQ": "vector",
    "IVF_HNSW_FLAT": "vector",
    "IVF_HNSW_PQ": "vector",
    "IVF_HNSW_SQ": "vector",
}


@once
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_index_is_created_and_listed_by_its_name(
    catalog: Catalog, notes: list[str], kind: str
) -> None:
    index(catalog, notes, KINDS[kind], index_type=kind)
    (found,) = catalog.do("list_table_indices", notes).indexes
    assert (found.index_type, found.columns) == (kind, [KINDS[kind]])


@once
@ours
@pytest.mark.parametrize("kind", ["btree", "B-Tree", "inverted", "zone_map", "ivf-flat"])
def test_the_name_of_a_kind_has_any_case_and_separators(
    catalog: Catalog, notes: list[str], kind: str
) -> None:
    column = {"inverted": "text", "ivf-flat": "vector"}.get(kind, "n")
    index(catalog, notes, column, index_type=kind)
    assert listed(catalog, notes) == [f"{column}_idx"]


@ours
@pytest.mark.parametrize("kind", ["VECTOR", "HASH", ""])
def test_an_unknown_kind_of_index_is_refused(catalog: Catalog, notes: list[str], kind: str) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        index(catalog, notes, "vector", index_type=kind)


def test_an_index_has_the_name_it_is_given(catalog: Catalog, notes: list[str]) -> None:
    index(catalog, notes, name="by number")
    assert listed(catalog, notes) == ["by number"]


def test_a_name_that_is_taken_is_refused(catalog: Catalog, docs: list[str]) -> None:
    index(catalog, docs)
    with refused(ErrorCode.TABLE_INDEX_ALREADY_EXISTS):
        index(catalog, docs, "text", name="n_idx")
    assert stats(catalog, docs).num_indices == 1
    assert catalog.open(docs).version == 2


@ours
def test_an_index_is_replaced_on_request(catalog: Catalog, notes: list[str]) -> None:
    index(catalog, notes)
    wanted = {"id": notes, "index_type": "BITMAP", "name": "n_idx", "replace": True}
    catalog.plain.create_table_index({"column": "n", **wanted})
    (found,) = catalog.do("list_table_indices", notes).indexes
    assert (found.index_type, found.num_segments) == ("BITMAP", 1)
    with refused(ErrorCode.TABLE_INDEX_ALREADY_EXISTS):
        catalog.plain.create_table_index({"column": "text", **wanted})


@ours
@pytest.mark.parametrize("name", ["", "__lance_frag_reuse"])
def test_a_name_that_lance_keeps_for_itself_is_refused(
    catalog: Catalog, notes: list[str], name: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        index(catalog, notes, name=name)


@pytest.mark.parametrize("kind", ["BTREE", "FTS", "IVF_FLAT"])
@pytest.mark.parametrize("column", ["missing", "nested.missing", "b.c"])
@once
def test_a_column_that_is_not_there_cannot_be_indexed(
    catalog: Catalog, notes: list[str], kind: str, column: str
) -> None:
    with refused(ErrorCode.TABLE_COLUMN_NOT_FOUND):
        index(catalog, notes, column, index_type=kind)


def test_a_missing_column_cannot_be_indexed(catalog: Catalog, notes: list[str]) -> None:
    with refused(ErrorCode.TABLE_COLUMN_NOT_FOUND):
        index(catalog, notes, "missing")
    assert catalog.open(notes).version == 1


WRONG = {
    "BTREE": ["vector", "nested", "tags", "parts.item.text"],
    "BITMAP": ["vector"],
    "LABEL_LIST": ["n", "parts"],
    "NGRAM": ["n", "parts.item.text"],
    "ZONEMAP": ["parts.item.text"],
    "BLOOMFILTER": ["vector"],
    "RTREE": ["n", "text", "nested", "vector"],
    "MINHASHLSH": ["n"],
    "FTS": ["n", "nested", "vector"],
    "IVF_FLAT": ["n", "text", "nested", "tags"],
    "IVF_PQ": ["n", "parts"],
}


@once
@pytest.mark.parametrize(("kind", "column"), [(k, column) for k in WRONG for column in WRONG[k]])
def test_a_column_of_another_type_cannot_be_indexed(
    catalog: Catalog, notes: list[str], kind: str, column: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        index(catalog, notes, column, index_type=kind)
    assert catalog.open(notes).version == 1


SHAPES = {
    "text": ("geoarrow.wkt", pa.array(["no shape"])),
    "bytes": ("geoarrow.wkb", pa.array([b"no shape"])),
    "few bytes": ("geoarrow.wkb", pa.array([b"\x01\x01\x00\x00\x00"])),
    "numbers": ("geoarrow.point", pa.array([1])),
}


@applies(mode="v2", managed=False, extensions=True)
@pytest.mark.parametrize("case", SHAPES)
def test_what_is_said_to_be_shapes_and_is_not_cannot_be_indexed(
    catalog: Catalog, case: str
) -> None:
    extension, data = SHAPES[case]
    field = pa.field("shape", data.type, metadata={"ARROW:extension:name": extension})
    catalog.create_table_from(["t"], stream(pa.table([data], schema=pa.schema([field]))))
    with refused(ErrorCode.INVALID_INPUT):
        index(catalog, ["t"], "shape", index_type="RTREE")


def test_a_nested_column_is_indexed_by_its_path(catalog: Catalog, docs: list[str]) -> None:
    index(catalog, docs, "nested.`b.c`")
    index(catalog, docs, "`nested`.a", name="quoted")
    indexes = catalog.do("list_table_indices", docs).indexes
    assert [each.columns for each in indexes] == [["nested.`b.c`"], ["nested.a"]]
    assert "nested.`b.c`_idx" in plan(catalog, docs, "nested.`b.c` = 3")


@once
@ours
@pytest.mark.parametrize("column", ["parts.text", "parts.item.text", "tags", "tags.item"])
def test_texts_inside_of_lists_are_indexed(catalog: Catalog, notes: list[str], column: str) -> None:
    index(catalog, notes, column, index_type="FTS")
    (found,) = catalog.do("list_table_indices", notes).indexes
    assert found.columns == (["tags"] if "tags" in column else ["parts.item.text"])


def test_an_index_of_a_branch_is_not_one_of_the_table(catalog: Catalog, notes: list[str]) -> None:
    catalog.do("create_table_branch", notes, name="side")
    index(catalog, notes, branch="side")
    assert (listed(catalog, notes, branch="side"), listed(catalog, notes)) == (["n_idx"], [])
    assert stats(catalog, notes, branch="side").num_indexed_rows == ROWS
    catalog.do("drop_table_index", notes, index_name="n_idx", branch="side")
    assert listed(catalog, notes, branch="side") == []


def test_what_is_listed_is_what_pylance_says(catalog: Catalog, docs: list[str]) -> None:
    before = datetime.now(UTC) - timedelta(seconds=1)
    index(catalog, docs, "vector", index_type="IVF_FLAT", distance_type="cosine")
    (found,) = catalog.do("list_table_indices", docs).indexes
    (said,) = catalog.open(docs).describe_indices()
    (segment,) = said.segments
    assert (found.index_name, found.index_uuid) == ("vector_idx", segment.uuid)
    assert (found.status, found.index_type, found.type_url) == (
        "SUCCEEDED",
        "IVF_FLAT",
        said.type_url,
    )
    assert (found.num_indexed_rows, found.num_unindexed_rows) == (ROWS, 0)
    assert (found.num_segments, found.size_bytes) == (1, said.total_size_bytes)
    assert before < found.created_at < segment.created_at + timedelta(milliseconds=1)
    assert found.index_version == segment.index_version
    assert json.loads(found.index_details)["metric_type"] == "COSINE"


def test_indexes_are_listed_by_name_in_pages(catalog: Catalog, notes: list[str]) -> None:
    for name in ("b", "c", "a"):
        index(catalog, notes, name=name)
    first = catalog.do("list_table_indices", notes, limit=2)
    second = catalog.do("list_table_indices", notes, limit=2, page_token=first.page_token)
    pages = [[each.index_name for each in page.indexes] for page in (first, second)]
    assert pages == [["a", "b"], ["c"]]
    assert not second.page_token


def test_a_page_starts_after_any_name(catalog: Catalog, notes: list[str]) -> None:
    index(catalog, notes, name="a")
    index(catalog, notes, name="c")
    assert listed(catalog, notes, page_token="b") == ["c"]


@ours
def test_a_page_of_no_indexes_is_refused(catalog: Catalog, notes: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        listed(catalog, notes, limit=0)


def test_indexes_are_listed_as_of_a_version(catalog: Catalog, docs: list[str]) -> None:
    index(catalog, docs)
    index(catalog, docs, name="later")
    assert listed(catalog, docs, version=1) == []
    assert listed(catalog, docs, version=2) == ["n_idx"]
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        listed(catalog, docs, version=9)


@applies(extensions=True, managed=False)
def test_indexes_that_lance_keeps_for_itself_are_not_seen(
    catalog: Catalog, notes: list[str]
) -> None:
    catalog.do("insert_into_table", notes, stream(documents(ROWS)))
    index(catalog, notes)
    dataset = catalog.open(notes)
    dataset.optimize.compact_files(defer_index_remap=True)
    assert len(dataset.describe_indices()) == 2
    assert listed(catalog, notes) == ["n_idx"]
    with refused(ErrorCode.TABLE_INDEX_NOT_FOUND):
        stats(catalog, notes, "__lance_frag_reuse")
    with refused(ErrorCode.TABLE_INDEX_NOT_FOUND):
        catalog.do("drop_table_index", notes, index_name="__lance_frag_reuse")


def test_statistics_count_the_rows_that_live(catalog: Catalog, docs: list[str]) -> None:
    index(catalog, docs)
    catalog.do("delete_from_table", docs, predicate="n < 5")
    catalog.do("insert_into_table", docs, stream(documents(ROWS, 3)))
    found = stats(catalog, docs)
    assert (found.num_indexed_rows, found.num_unindexed_rows) == (ROWS - 5, 3)
    (also,) = catalog.do("list_table_indices", docs).indexes
    assert (also.num_indexed_rows, also.num_unindexed_rows) == (ROWS - 5, 3)


def test_statistics_are_those_of_a_version(catalog: Catalog, notes: list[str]) -> None:
    index(catalog, notes)
    catalog.do("delete_from_table", notes, predicate="n < 5")
    assert stats(catalog, notes, version=2).num_indexed_rows == ROWS
    with refused(ErrorCode.TABLE_INDEX_NOT_FOUND):
        stats(catalog, notes, version=1)


def test_statistics_tell_the_distance_type_of_vectors(catalog: Catalog, notes: list[str]) -> None:
    index(catalog, notes, "vector", index_type="IVF_FLAT", distance_type="dot")
    found = stats(catalog, notes, "vector_idx")
    assert (found.index_type, found.distance_type, found.num_indices) == ("IVF_FLAT", "dot", 1)


@once
def test_an_index_with_too_few_rows_to_learn_from_covers_none(
    catalog: Catalog, notes: list[str]
) -> None:
    index(catalog, notes, "vector", index_type="IVF_PQ")
    found = stats(catalog, notes, "vector_idx")
    assert (found.num_indexed_rows, found.num_unindexed_rows) == (0, ROWS)


def test_a_missing_index_has_no_statistics(catalog: Catalog, docs: list[str]) -> None:
    with refused(ErrorCode.TABLE_INDEX_NOT_FOUND):
        stats(catalog, docs, "missing")


def test_a_dropped_index_is_gone(catalog: Catalog, docs: list[str]) -> None:
    index(catalog, docs)
    catalog.do("drop_table_index", docs, index_name="n_idx")
    assert listed(catalog, docs) == []
    assert "n_idx" not in plan(catalog, docs, "n = 3")
    index(catalog, docs)


def test_a_missing_index_cannot_be_dropped(catalog: Catalog, docs: list[str]) -> None:
    with refused(ErrorCode.TABLE_INDEX_NOT_FOUND):
        catalog.do("drop_table_index", docs, index_name="missing")
    assert catalog.open(docs).version == 1


@ours
@pytest.mark.parametrize("name", ["describe_table_index_stats", "drop_table_index"])
def test_an_index_needs_a_name(catalog: Catalog, notes: list[str], name: str) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do(name, notes)


ACTS: dict[str, Callable[[Catalog, list[str]], object]] = {
    "create_table_index": index,
    "create_table_scalar_index": lambda catalog, table: catalog.do(
        "create_table_scalar_index", table, column="n", index_type="BTREE"
    ),
    "list_table_indices": listed,
    "describe_table_index_stats": stats,
    "drop_table_index": lambda catalog, table: catalog.do(
        "drop_table_index", table, index_name="n_idx"
    ),
}
each_act = pytest.mark.parametrize("act", ACTS.values(), ids=[*ACTS])


@each_act
def test_a_missing_table_has_no_indexes(
    catalog: Catalog, act: Callable[[Catalog, list[str]], object]
) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        act(catalog, ["missing"])


@applies(declare=True, extensions=True)
@each_act
def test_a_table_without_content_has_no_indexes(
    catalog: Catalog, declared: list[str], act: Callable[[Catalog, list[str]], object]
) -> None:
    with refused(ErrorCode.INVALID_TABLE_STATE):
        act(catalog, declared)
