"""Hybrid queries: what a vector and a full-text search find together."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode

from .books import HERE, ids, index_texts, names, near, shelve, words
from .kit import Catalog, applies, refused, stream

pytestmark = applies(extensions=True)
few = applies(mode="v2")


@pytest.fixture
def library(catalog: Catalog) -> list[str]:
    """Twelve books with indexed texts."""
    shelve(catalog)
    index_texts(catalog, ["books"], "text")
    return ["books"]


def search(catalog: Catalog, **fields: Any) -> pa.Table:
    """What is near and about dogs."""
    query = {"vector": near(HERE), "full_text_query": words("dog"), **fields}
    return catalog.query(["books"], **{"columns": names("id"), **query})


def fused(*rankings: list[object]) -> dict[object, float]:
    """Reciprocal rank fusion, as in the paper."""
    rows = {row for ranking in rankings for row in ranking}
    return {
        row: sum(1 / (61 + ranking.index(row)) for ranking in rankings if row in ranking)
        for row in rows
    }


def test_rows_that_both_searches_rank_high_come_first(catalog: Catalog, library: list[str]) -> None:
    by_vector = catalog.query(library, vector=near(HERE), k=4)
    by_words = catalog.query(library, full_text_query=words("dog"), k=4)
    relevance = fused(ids(by_vector), ids(by_words))
    found = search(catalog, k=4)
    best = sorted(relevance, key=lambda row: (-relevance[row], row))[:4]
    assert ids(found) == best
    scores = [relevance[row] for row in best]
    assert found["_relevance_score"].to_pylist() == pytest.approx(scores)


def test_distance_and_score_are_null_where_a_search_did_not_find_the_row(
    catalog: Catalog, library: list[str]
) -> None:
    by_vector = catalog.query(library, vector=near([9.4, 0.0]), k=4).to_pylist()
    by_words = catalog.query(library, full_text_query=words("dog"), k=4).to_pylist()
    distances = {row["id"]: row["_distance"] for row in by_vector}
    scores = {row["id"]: row["_score"] for row in by_words}
    found = search(catalog, vector=near([9.4, 0.0]), k=4)
    assert found["_distance"].to_pylist() == [distances.get(row) for row in ids(found)]
    assert found["_score"].to_pylist() == [scores.get(row) for row in ids(found)]
    assert found["_distance"].null_count
    assert found["_score"].null_count


def test_a_hybrid_query_has_a_plan_of_two_parts(catalog: Catalog, library: list[str]) -> None:
    query = {"vector": near(HERE), "full_text_query": words("dog")}
    for plan in (catalog.explain(library, **query), catalog.analyze(library, **query)):
        by_vector, by_words = plan.split("Full-text search:\n")
        assert by_vector.startswith("Vector search:\n")
        assert "KNNVectorDistance" in by_vector
        assert "MatchQuery" in by_words


@few
@pytest.mark.usefixtures("library")
def test_a_hybrid_query_skips_the_most_relevant_rows(catalog: Catalog) -> None:
    everything = ids(search(catalog, k=99))
    assert len(everything) == 12
    assert ids(search(catalog, k=5, offset=10)) == everything[10:]
    assert ids(search(catalog, k=5, offset=99)) == []


@few
@pytest.mark.parametrize(
    ("columns", "chosen"),
    [
        (None, ["id", "title", "text", "v", "place"]),
        (names("title", "id"), ["title", "id"]),
        (names("id", "_score", "_distance", "_relevance_score"), ["id"]),
        (names("_distance"), []),
        ({"column_aliases": {"x": "id + 1", "y": "place.shelf"}}, ["x", "y"]),
    ],
    ids=str,
)
@pytest.mark.usefixtures("library")
def test_scores_come_after_the_columns(
    catalog: Catalog, columns: dict[str, Any] | None, chosen: list[str]
) -> None:
    scores = ["_distance", "_score", "_relevance_score"]
    assert search(catalog, columns=columns).schema.names == [*chosen, *scores]
    found = search(catalog, columns=columns, with_row_id=True)
    assert found.schema.names == [*chosen, *scores, "_rowid"]


@few
def test_the_columns_are_those_of_the_rows(catalog: Catalog, library: list[str]) -> None:
    found = search(catalog, columns=None, with_row_id=True)
    rows = catalog.open(library).to_table()
    assert found.select(rows.schema.names).equals(rows.take(found["_rowid"]))


@few
@pytest.mark.usefixtures("library")
def test_a_filter_is_applied_by_both_searches(catalog: Catalog) -> None:
    wanted = {"filter": "id > 6", "k": 12}
    assert set(ids(search(catalog, **wanted))) == {7, 8, 9, 10, 11}
    assert set(ids(search(catalog, **wanted, prefilter=True))) == {7, 8, 9, 10, 11}
    assert ids(search(catalog, filter="id > 6", k=1)) == []
    assert len(search(catalog, filter="id > 6", k=1, prefilter=True)) == 1


@few
@pytest.mark.usefixtures("library")
def test_a_hybrid_query_of_what_nobody_wrote_finds_the_neighbours(catalog: Catalog) -> None:
    found = search(catalog, full_text_query=words("unicorn"), k=3)
    assert ids(found) == [3, 4, 2]
    assert found["_score"].to_pylist() == [None] * 3


@few
@pytest.mark.usefixtures("library")
def test_a_hybrid_query_looks_for_one_vector(catalog: Catalog) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        search(catalog, vector=near(HERE, HERE))
    alone = search(catalog, vector={"multi_vector": [HERE]})
    assert alone.equals(search(catalog))


@few
def test_rows_that_are_equally_relevant_come_by_row_id(catalog: Catalog) -> None:
    data = {"id": [0, 1, 2], "text": ["dog", "dog", "cat"]}
    points = pa.array([[1, 1]] * 3, pa.list_(pa.float32(), 2))
    catalog.create_table_from(["books"], stream(pa.table({**data, "v": points})))
    index_texts(catalog, ["books"], "text")
    assert ids(search(catalog)) == [0, 1, 2]


@few
def test_fused_rows_may_have_columns_of_any_type(catalog: Catalog) -> None:
    tensors = pa.FixedShapeTensorArray.from_numpy_ndarray(
        pa.array([1.0, 2.0, 3.0, 4.0]).to_numpy().reshape(2, 2)
    )
    data = pa.table(
        {
            "id": [0, 1],
            "text": ["dog", "cat"],
            "v": pa.array([[9, 9], [1, 1]], pa.list_(pa.float32(), 2)),
            "kind": pa.array(["a", "b"]).dictionary_encode(),
            "tensor": tensors,
            "numbers": [[1], []],
            "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
        }
    )
    catalog.create_table_from(["books"], stream(data))
    index_texts(catalog, ["books"], "text")
    found = search(catalog, vector_column="v", columns=None, k=1, offset=1)
    assert found.select(data.schema.names).to_pylist() == data.slice(1).to_pylist()
