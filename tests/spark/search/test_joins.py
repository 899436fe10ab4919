"""Joins with the nearest rows of a table, beside comparing with all of them."""

from __future__ import annotations

import lance
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.errors import PySparkException

from lanceyard import errors
from lanceyard.spark.search import nearest_join
from lanceyard.spark.search.joins import QUERIES
from tests.spark.search.conftest import SIZE, fixed, vectors


@pytest.fixture(scope="session")
def ask(spark, yard):
    """A DataFrame of queries, in two partitions."""

    def frame(count, size=SIZE):
        values = np.random.default_rng(3).normal(size=(count, size)).astype("f4")
        rows = [(i, [float(x) for x in vector]) for i, vector in enumerate(values)]
        return spark.createDataFrame(rows, "q long, wanted array<float>").repartition(2)

    return frame


def brute(dataset, queries, k, where=None):
    """The ids of the nearest rows by comparing all of them, by query."""
    rows = dataset.to_table(columns=["id", "v"], filter=where)
    size = rows.schema.field("v").type.list_size
    held = np.array(rows["v"].to_pylist(), dtype="f8").reshape(-1, size)
    found = {}
    for row in queries.collect():
        distances = ((held - np.array(row.wanted)) ** 2).sum(axis=1)
        order = np.argsort(distances, kind="stable")[:k]
        found[row.q] = [rows["id"][int(place)].as_py() for place in order]
    return found


def by_query(joined):
    found = {}
    for row in joined.collect():
        found.setdefault(row.q, []).append(row.id)
    return found


def test_each_row_gets_its_nearest_ones_in_order(ask, yard, root):
    queries = ask(QUERIES + 40)
    joined = nearest_join(queries, "shop.plain", catalog=root, vector="wanted", k=3)
    assert joined.columns == ["q", "wanted", "id", "text", "v", "_distance"]
    assert by_query(joined) == brute(yard.table("shop.plain").to_lance(), queries, 3)


def test_the_index_is_used_as_pylance_uses_it(ask, yard, root):
    queries = ask(20)
    joined = nearest_join(
        queries, "shop.items", catalog=root, vector="wanted", on="v", k=5, columns=["id"], nprobes=2
    )
    dataset = yard.table("shop.items").to_lance()
    expected = {}
    for row in queries.collect():
        near = {"column": "v", "q": row.wanted, "k": 5, "nprobes": 2}
        expected[row.q] = dataset.to_table(columns=["id"], nearest=near)["id"].to_pylist()
    assert by_query(joined) == expected


def test_an_exact_join_leaves_the_index_aside(ask, yard, root):
    queries = ask(5)
    joined = nearest_join(queries, "shop.items", catalog=root, vector="wanted", k=40, exact=True)
    assert by_query(joined) == brute(yard.table("shop.plain").to_lance(), queries, 40)


def test_a_filter_comes_before_the_search(ask, yard, root):
    queries, where = ask(5), "id % 7 = 1"
    joined = nearest_join(queries, "shop.plain", catalog=root, vector="wanted", filter=where)
    assert by_query(joined) == brute(yard.table("shop.plain").to_lance(), queries, 10, where)


def test_a_left_join_keeps_rows_for_which_nothing_is_found(ask, yard, root):
    options = {"catalog": root, "vector": "wanted", "filter": "id > 9999", "columns": ["id"]}
    queries = ask(3)
    assert nearest_join(queries, "shop.plain", **options).count() == 0
    kept = nearest_join(queries, "shop.plain", how="left", **options).collect()
    assert sorted(row.q for row in kept) == [0, 1, 2]
    assert {(row.id, row._distance) for row in kept} == {(None, None)}


def test_names_that_both_sides_have_get_a_suffix(ask, yard, root):
    queries = ask(1).withColumnsRenamed({"q": "ID", "wanted": "v"})
    joined = nearest_join(queries, "shop.plain", catalog=root, vector="v", k=1)
    assert joined.columns == ["ID", "v", "id_found", "text", "v_found", "_distance"]
    again = nearest_join(joined, "shop.plain", catalog=root, vector="v", columns=[], k=1)
    assert again.columns[-1] == "_distance_found"
    with pytest.raises(errors.InvalidInputError, match="choose another suffix"):
        nearest_join(joined, "shop.plain", catalog=root, vector="v")


def test_a_table_is_named_by_its_path_too(ask, yard):
    location = yard.table("shop.plain").location
    assert nearest_join(ask(2), location, vector="wanted", k=2).count() == 4


def test_one_version_is_searched_whatever_others_append(ask, yard, root):
    table = yard.create_table(
        "shop.growing", pa.table({"id": range(5), "v": fixed(vectors(5, seed=2))})
    )
    joined = nearest_join(ask(4), "shop.growing", catalog=root, vector="wanted", k=99)
    table.append(pa.table({"id": range(5, 9), "v": fixed(vectors(4, seed=3))}))
    later = nearest_join(ask(4), "shop.growing", catalog=root, vector="wanted", k=99)
    first = nearest_join(ask(4), "shop.growing", catalog=root, vector="wanted", k=99, version=1)
    assert (joined.count(), later.count(), first.count()) == (20, 36, 20)


def test_columns_of_all_kinds_pass_through(spark, yard, root):
    queries = spark.range(1).selectExpr(
        "TIMESTAMP '2026-01-02 03:04:05' AS t",
        "X'00FF' AS b",
        "map('a', array(1, NULL)) AS m",
        "named_struct('i', CAST(NULL AS INT), 's', 'é') AS s",
        f"array_repeat(1.5, {SIZE}) AS w",
    )
    joined = nearest_join(queries, "shop.plain", catalog=root, vector="w", k=2, columns=["id"])
    assert joined.drop("id", "_distance").collect() == queries.collect() * 2


@pytest.mark.parametrize(
    ("vector", "text"),
    [
        ("CAST(NULL AS array<float>)", "column 'w' has a null"),
        ("array(1F, NULL)", "column 'w' has a null"),
        ("array(1F, 2F)", "'v' have 8 dimensions, not 2"),
        ("array_repeat(FLOAT('nan'), 8)", "column 'w' has a number that is not finite"),
    ],
)
def test_vectors_that_cannot_be_compared_are_refused(spark, yard, root, vector, text):
    queries = spark.range(1).selectExpr(f"{vector} AS w")
    with pytest.raises(PySparkException) as refusal:
        nearest_join(queries, "shop.plain", catalog=root, vector="w").collect()
    assert text in str(refusal.value)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"vector": "nope"}, "the queries have no column 'nope'"),
        ({"vector": "q"}, "must be an array of numbers, but is bigint"),
        ({"on": "text"}, "'text' holds no vectors"),
        ({"columns": ["nope"]}, "has no column 'nope'"),
        ({"how": "outer"}, "how must be 'inner' or 'left'"),
        ({"k": 0}, "k must be at least 1"),
        ({"version": "nope"}, "nope"),
    ],
)
def test_a_join_that_does_not_fit_is_refused_before_it_runs(ask, root, options, text):
    with pytest.raises(errors.LanceNamespaceError) as refusal:
        nearest_join(ask(1), "shop.plain", **{"catalog": root, "vector": "wanted", **options})
    assert text in str(refusal.value)


def test_a_missing_table_is_refused(ask, root):
    with pytest.raises(errors.TableNotFoundError):
        nearest_join(ask(1), "shop.none", catalog=root, vector="wanted")


POINTS = st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2)), min_size=1, max_size=8)


@settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    held=POINTS, asked=POINTS, k=st.integers(1, 9), is_left=st.booleans(), least=st.integers(0, 8)
)
def test_a_join_is_what_comparing_all_rows_gives(
    spark, tmp_path_factory, held, asked, k, is_left, least
):
    rows = pa.table({"id": range(len(held)), "v": fixed(np.array(held, dtype="f4"))})
    path = str(tmp_path_factory.mktemp("join") / "t.lance")
    dataset = lance.write_dataset(rows, path)
    queries = spark.createDataFrame(
        [(i, [float(x) for x in point]) for i, point in enumerate(asked)],
        "q long, wanted array<double>",
    )
    how = "left" if is_left else "inner"
    where = f"id >= {least}"
    joined = nearest_join(queries, path, vector="wanted", k=k, filter=where, how=how)
    model = brute(dataset, queries, k, where)
    if is_left:
        model = {q: ids or [None] for q, ids in model.items()}
    assert by_query(joined) == {q: ids for q, ids in model.items() if ids}
