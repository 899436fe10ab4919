"""Searches for vectors: neighbours, batches, offsets, and the columns that hold them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode, InvalidInputError

from .books import COUNT, HERE, books, ids, index_vectors, names, near, shelve, writable
from .kit import Catalog, applies, refused, stream

ours = applies(extensions=True)
pytestmark = applies(mode="v2")

THERE = [9.4, 0.0]
"""From here it is ever farther to 9, 10, 8, 11, 7, …"""


@pytest.fixture
def library(catalog: Catalog) -> list[str]:
    """Twelve books."""
    return shelve(catalog)


def search(catalog: Catalog, *vectors: list[float], **fields: Any) -> pa.Table:
    """The numbers of the books that are nearest to vectors."""
    query = {"vector_column": "v", "columns": names("id"), **fields}
    return catalog.query(["books"], vector=near(*vectors), **query)


def create(catalog: Catalog, **columns: pa.Array) -> list[str]:
    """A table with these columns, and numbers."""
    length = len(next(iter(columns.values())))
    catalog.create_table_from(["t"], stream(pa.table({"id": range(length), **columns})))
    return ["t"]


def vectors(kind: pa.DataType) -> pa.Array:
    """Three vectors of two dimensions."""
    return pa.array([[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]).cast(pa.list_(kind, 2))


@pytest.mark.usefixtures("library")
def test_neighbours_come_nearest_first_with_their_distance(catalog: Catalog) -> None:
    found = search(catalog, HERE, k=3)
    assert found.schema.names == ["id", "_distance"]
    assert ids(found) == [3, 4, 2]
    assert found["_distance"].to_pylist() == pytest.approx([0.04, 0.64, 1.44], rel=1e-4)


@pytest.mark.usefixtures("library")
def test_an_offset_skips_the_nearest(catalog: Catalog) -> None:
    assert ids(search(catalog, HERE, k=2, offset=3)) == [5, 1]


@pytest.mark.usefixtures("library")
def test_an_offset_past_the_end_leaves_nothing(catalog: Catalog) -> None:
    for offset in (COUNT, 2**31 - 1):
        assert ids(search(catalog, HERE, offset=offset)) == []


@ours
@pytest.mark.parametrize("indexed", [False, True])
def test_a_client_without_a_limit_gets_all_rows(
    catalog: Catalog, library: list[str], indexed: bool
) -> None:
    if indexed:
        index_vectors(catalog, library)
    everything = 2**64 - 1  # what clients in Rust send, and Lance would reserve memory for
    assert len(search(catalog, HERE, k=everything, refine_factor=2**32 - 1)) == COUNT
    assert len(search(catalog, HERE, k=everything, offset=everything)) == 0
    assert len(catalog.query(library, k=everything, offset=2)) == COUNT - 2


@ours
@pytest.mark.parametrize("field", ["nprobes", "minimum_nprobes", "maximum_nprobes"])
@pytest.mark.usefixtures("library")
def test_a_number_that_no_machine_has_is_refused(catalog: Catalog, field: str) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        search(catalog, HERE, **{field: 2**70})


@pytest.mark.usefixtures("library")
def test_several_vectors_have_an_answer_each(catalog: Catalog) -> None:
    found = search(catalog, HERE, THERE, k=2)
    assert found.schema.names == ["query_index", "id", "_distance"]
    assert found["query_index"].to_pylist() == [0, 0, 1, 1]
    assert ids(found) == [3, 4, 9, 10]


@ours
@pytest.mark.parametrize("indexed", [False, True])
def test_an_offset_skips_the_nearest_of_each_vector(
    catalog: Catalog, library: list[str], indexed: bool
) -> None:
    if indexed:
        index_vectors(catalog, library)
    found = search(catalog, HERE, THERE, [11.0, 0.0], k=2, offset=1, minimum_nprobes=2)
    assert found["query_index"].to_pylist() == [0, 0, 1, 1, 2, 2]
    assert ids(found) == [4, 2, 10, 8, 10, 9]


@ours
@pytest.mark.usefixtures("library")
def test_an_offset_skips_the_nearest_that_a_filter_leaves_to_each_vector(catalog: Catalog) -> None:
    wanted = {"filter": "id < 5 or id = 9", "k": 3, "offset": 1}
    assert ids(search(catalog, HERE, THERE, **wanted)) == [4, 2]
    assert ids(search(catalog, HERE, THERE, **wanted, prefilter=True)) == [4, 2, 1, 4, 3, 2]


@ours
def test_several_vectors_are_one_query_of_a_column_of_multi_vectors(catalog: Catalog) -> None:
    kind = pa.list_(pa.list_(pa.float32(), 2))
    table = create(catalog, mv=pa.array([[[i, 1], [1, i]] for i in range(8)], kind))
    pair = [[3.0, 1.0], [1.0, 3.0]]
    nearest = {"column": "mv", "q": pair, "k": 4}
    expected = catalog.open(table).to_table(columns=["id", "_distance"], nearest=nearest)
    query = {"vector": near(*pair), "columns": names("id")}
    assert catalog.query(table, **query, k=4).equals(expected)
    assert catalog.query(table, **query, k=3, offset=1).equals(expected.slice(1))


@ours
def test_the_only_column_of_vectors_need_not_be_named(catalog: Catalog) -> None:
    table = create(catalog, point=vectors(pa.float32()), pair=vectors(pa.int32()))
    assert ids(catalog.query(table, vector=near([2.0, 2.0]), k=1)) == [1]


@ours
@pytest.mark.parametrize("name", ["at", "at.once", "at once"])
def test_the_only_column_of_vectors_may_be_inside_another(catalog: Catalog, name: str) -> None:
    kind = pa.struct({name: pa.list_(pa.float32(), 2)})
    table = create(catalog, outer=pa.array([{name: [1, 1]}, {name: [2, 2]}], kind))
    assert ids(catalog.query(table, vector=near([2.0, 2.0]))) == [1, 0]
    path = f"outer.`{name}`"
    assert ids(catalog.query(table, vector=near([2.0, 2.0]), vector_column=path)) == [1, 0]


@ours
def test_the_columns_of_vectors_to_choose_from_are_told(catalog: Catalog) -> None:
    table = create(catalog, first=vectors(pa.float32()), second=vectors(pa.float32()))
    with pytest.raises(InvalidInputError, match="first, second"):
        catalog.query(table, vector=near([1.0, 1.0]))


@ours
def test_a_vector_is_refused_by_a_table_without_vectors(catalog: Catalog, table: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.query(table, vector=near([1.0, 1.0]))


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_vectors_may_have_floats_of_any_size(catalog: Catalog, kind: pa.DataType) -> None:
    table = create(catalog, v=vectors(kind))
    query = {"vector": near([2.0, 2.0]), "vector_column": "v", "k": 2, "offset": 1}
    assert catalog.query(table, **query)["_distance"].to_pylist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"vector_column": "missing"}, ErrorCode.TABLE_COLUMN_NOT_FOUND),
        ({"vector_column": "V"}, ErrorCode.TABLE_COLUMN_NOT_FOUND),
        ({"vector_column": "id"}, ErrorCode.INVALID_INPUT),
        ({"vector": near([1.0])}, ErrorCode.INVALID_INPUT),
        ({"vector": near(HERE, [1.0])}, ErrorCode.INVALID_INPUT),
        ({"vector": near([], [])}, ErrorCode.INVALID_INPUT),
        ({"vector": {**near(HERE), **near(HERE, HERE)}}, ErrorCode.INVALID_INPUT),
        ({"distance_type": "miles"}, ErrorCode.INVALID_INPUT),
        ({"minimum_nprobes": 3, "maximum_nprobes": 2}, ErrorCode.INVALID_INPUT),
        ({"columns": {**names("id"), "column_aliases": {"x": "id"}}}, ErrorCode.INVALID_INPUT),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_mistake_in_a_search_is_refused(
    catalog: Catalog, library: list[str], fields: dict[str, Any], code: ErrorCode
) -> None:
    with refused(code):
        catalog.query(library, **{"vector": near(HERE), "vector_column": "v", **fields})


@pytest.mark.parametrize("kind", ["l2", "L2", "cosine", "dot"])
def test_distances_are_of_the_type_that_is_asked_for(
    catalog: Catalog, library: list[str], kind: str
) -> None:
    nearest = {"column": "v", "q": [1.0, 2.0], "k": 3, "metric": kind}
    expected = catalog.open(library).to_table(columns=["id", "_distance"], nearest=nearest)
    assert search(catalog, [1.0, 2.0], k=3, distance_type=kind).equals(expected)


@pytest.mark.usefixtures("library")
def test_bounds_leave_distances_from_the_lower_up_to_the_upper(catalog: Catalog) -> None:
    assert ids(search(catalog, [3.0, 0.0], lower_bound=1, upper_bound=9.0)) == [2, 4, 1, 5]
    assert ids(search(catalog, [3.0, 0.0], upper_bound=0.5)) == [3]
    assert ids(search(catalog, [0.0, 0.0], lower_bound=100)) == [10, 11]


@pytest.mark.usefixtures("library")
def test_a_filter_leaves_some_of_the_neighbours(catalog: Catalog) -> None:
    """It is applied to what was found, as pylance and the reference do without `prefilter`."""
    assert ids(search(catalog, HERE, filter="id > 3", k=4)) == [4, 5]
    assert ids(search(catalog, HERE, filter="id > 3", k=4, prefilter=False)) == [4, 5]


@pytest.mark.usefixtures("library")
def test_a_prefilter_chooses_the_rows_to_search(catalog: Catalog) -> None:
    assert ids(search(catalog, HERE, filter="id > 3", k=4, prefilter=True)) == [4, 5, 6, 7]


@pytest.mark.parametrize(
    ("fields", "probes"),
    [
        ({}, "minimum_nprobes=1, maximum_nprobes=None"),
        ({"nprobes": 0}, "minimum_nprobes=1, maximum_nprobes=None"),
        ({"nprobes": 2}, "minimum_nprobes=2, maximum_nprobes=Some(2)"),
        ({"minimum_nprobes": 3}, "minimum_nprobes=3, maximum_nprobes=None"),
        (
            {"minimum_nprobes": 1, "maximum_nprobes": 3},
            "minimum_nprobes=1, maximum_nprobes=Some(3)",
        ),
        ({"nprobes": 2, "minimum_nprobes": 3}, "minimum_nprobes=3, maximum_nprobes=None"),
        ({"nprobes": 2, "maximum_nprobes": 3}, "minimum_nprobes=1, maximum_nprobes=Some(3)"),
    ],
    ids=str,
)
def test_partitions_are_probed_as_asked(
    catalog: Catalog, library: list[str], fields: dict[str, int], probes: str
) -> None:
    index_vectors(catalog, library, num_partitions=4)
    assert probes in catalog.explain(library, vector=near(HERE), vector_column="v", **fields)


def test_refining_computes_the_distances_of_more_neighbours(
    catalog: Catalog, library: list[str]
) -> None:
    index_vectors(catalog, library)
    query = {"vector": near(HERE), "vector_column": "v", "k": 2}
    assert "k=6" in catalog.explain(library, **query, refine_factor=3)
    assert catalog.explain(library, **query, refine_factor=0) == catalog.explain(library, **query)


@ours
def test_the_effort_of_a_search_grows_with_its_offset(catalog: Catalog, library: list[str]) -> None:
    """Lance refuses an effort that is smaller than the number of neighbours."""
    writable(catalog, library).create_index("v", "IVF_HNSW_SQ", num_partitions=1)
    assert len(search(catalog, HERE, k=3, ef=3, offset=2)) == 3
    for effort in (0, 2**40):  # unset, and more than there is memory for
        assert len(search(catalog, HERE, k=3, ef=effort)) == 3
    with refused(ErrorCode.INVALID_INPUT):
        search(catalog, HERE, k=3, ef=2)


def test_a_fast_search_sees_only_what_is_indexed(catalog: Catalog, library: list[str]) -> None:
    index_vectors(catalog, library)
    catalog.do("insert_into_table", library, stream(books(COUNT)))
    point = [float(COUNT), 0.0]
    assert ids(search(catalog, point, k=1)) == [COUNT]
    assert ids(search(catalog, point, k=1, fast_search=True)) == [COUNT - 1]
