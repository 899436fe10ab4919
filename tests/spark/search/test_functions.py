"""Table functions of SQL, beside what pylance finds itself."""

from __future__ import annotations

import datetime as dt
import decimal

import lance
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.types import ArrayType, _infer_type
from pyspark.sql.udtf import AnalyzeArgument

from lanceyard import errors
from lanceyard.spark import search
from lanceyard.spark.search.catalogs import Catalogs
from lanceyard.spark.search.functions import FUNCTIONS, analyzed
from tests.spark.search.conftest import ROWS, array, vectors

QUERY = vectors(1, seed=7)[0]


def nearest(dataset, k, **more):
    near = {"column": "v", "q": QUERY, "k": k, **more.pop("near", {})}
    return dataset.to_table(columns=["id", "_distance"], nearest=near, **more).to_pylist()


def shown(rows):
    return [(row.id, row._distance) for row in rows]


@pytest.mark.parametrize("table", ["plain", "items"])
def test_a_vector_search_finds_what_pylance_finds_exactly_and_by_the_index(sql, yard, table):
    found = sql(f"SELECT * FROM vector_search('yard.shop.{table}', {array(QUERY)}, 7)")
    expected = nearest(yard.table(f"shop.{table}").to_lance(), 7)
    assert shown(found) == [(row["id"], row["_distance"]) for row in expected]
    assert found[0].asDict().keys() == {"id", "text", "v", "_distance"}


def test_arguments_have_names(sql, yard):
    version = yard.table("shop.items").to_lance().version
    found = sql(
        f"""SELECT * FROM vector_search(table => 'shop.items', vector => {array(QUERY)}, k => 4,
            column => 'v', filter => 'id % 2 = 0', columns => array('id'), nprobes => 4,
            refine_factor => 50, metric => 'l2', version => {version})"""
    )
    near = {"nprobes": 4, "refine_factor": 50, "metric": "l2"}
    dataset = yard.table("shop.items").to_lance()
    expected = nearest(dataset, 4, near=near, filter="id % 2 = 0", prefilter=True)
    assert shown(found) == [(row["id"], row["_distance"]) for row in expected]
    assert found[0].asDict().keys() == {"id", "_distance"}


def test_an_exact_search_leaves_the_index_aside(sql, yard):
    found = sql(f"SELECT * FROM vector_search('shop.items', {array(QUERY)}, 50, exact => true)")
    expected = nearest(yard.table("shop.plain").to_lance(), 50)
    assert [row.id for row in found] == [row["id"] for row in expected]


def test_a_text_search_finds_what_pylance_finds(sql, yard):
    found = sql("SELECT id, _score FROM text_search('yard.shop.items', 'rare plum', 5)")
    dataset = yard.table("shop.items").to_lance()
    expected = dataset.to_table(columns=["id", "_score"], full_text_query="rare plum", limit=5)
    assert sorted(row._score for row in found) == sorted(expected["_score"].to_pylist())


def test_a_text_search_without_an_index_reads_through_a_column_that_is_named(sql):
    found = sql("SELECT id FROM text_search('shop.plain', 'rare', 99, text_column => 'text')")
    assert sorted(row.id for row in found) == [i for i in range(ROWS) if i % 97 == 5]


def test_a_hybrid_search_ranks_by_both_as_the_catalog_does(sql, yard):
    found = sql(f"SELECT * FROM hybrid_search('yard.shop.items', {array(QUERY)}, 'rare', 6)")
    expected = yard.table("shop.items").search(QUERY, "rare", limit=6, prefilter=True)
    names = ["id", "_distance", "_score", "_relevance_score"]
    assert [row.asDict() | {"v": 0} for row in found] == [
        row | {"v": 0} for row in expected.select(["text", "v", *names]).to_pylist()
    ]


def test_a_search_is_joined_and_kept_as_a_view(sql):
    sql(
        "CREATE OR REPLACE TEMPORARY VIEW found AS "
        f"SELECT id, _distance FROM vector_search('shop.plain', {array(QUERY)}, 3)"
    )
    ids = [row.id for row in sql("SELECT id FROM found ORDER BY _distance")]
    joined = sql("SELECT f.id FROM found f JOIN range(1000) r ON f.id = r.id")
    assert sorted(ids) == sorted(row.id for row in joined)


def test_a_view_finds_what_was_added_since(spark, sql, yard):
    table = yard.create_table("shop.grows", pa.table({"s": ["one apple"]}))
    sql(
        "CREATE OR REPLACE TEMPORARY VIEW apples AS "
        "SELECT s FROM text_search('shop.grows', 'apple', text_column => 's')"
    )
    before = spark.table("apples")
    table.append(pa.table({"s": ["two apples, one apple"]}))
    assert (before.count(), len(sql("SELECT * FROM apples"))) == (1, 2)


def test_a_lateral_search_takes_the_vector_of_each_row(sql, yard):
    found = sql(
        """SELECT q.id, f.id AS near FROM (SELECT * FROM vector_search('shop.plain', array(
           1, 0, 0, 0, 0, 0, 0, 0), 5)) q, LATERAL vector_search('shop.plain', q.v, 2) f"""
    )
    assert len(found) == 10
    assert {row.id for row in found} == {row.near for row in found if row.near == row.id}


def test_a_lateral_search_takes_words_filters_and_numbers_of_each_row(sql):
    found = sql(
        """SELECT q.w, q.n, f.id FROM VALUES ('rare', 3, 'id > 100'), ('none', 4, 'id > 0'),
           ('plum', 1, 'id = 2') AS q(w, n, f)
           LEFT JOIN LATERAL text_search('shop.items', q.w, q.n, filter => q.f) f ON true"""
    )
    assert sorted((row.w, row.id or 0) for row in found) == [
        ("none", 0),
        ("plum", 2),
        *(("rare", i) for i in sorted(row.id for row in found if row.w == "rare")),
    ]
    assert all(row.id > 100 for row in found if row.w == "rare")


def test_spark_drops_rows_of_a_left_lateral_join_that_has_no_condition(sql):
    """A mistake of Spark, with any Python table function: docs/spark-search.md warns of it."""
    call = "VALUES ('none') AS q(w) LEFT JOIN LATERAL text_search('shop.items', q.w) f"
    assert [len(sql(f"SELECT * FROM {call}{end}")) for end in ("", " ON true")] == [0, 1]


def test_a_version_is_searched_by_its_number_or_tag(sql, yard):
    table = yard.create_table("shop.versions", pa.table({"s": ["apple"]}))
    table.append(pa.table({"s": ["apple"]}))
    table.to_lance().tags.create("first", 1)
    for version, count in (("1", 1), ("'first'", 1), ("2", 2)):
        call = f"text_search('shop.versions', 'apple', text_column => 's', version => {version})"
        assert len(sql(f"SELECT * FROM {call}")) == count


def test_all_kinds_of_values_come_back(sql, yard, spark):
    moment = dt.datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=dt.UTC)
    row = {
        "t": moment,
        "d": dt.date(2026, 3, 4),
        "n": decimal.Decimal("1.25"),
        "b": b"\x00\xff",
        "s": {"x": 1, "l": ["a", None]},
        "m": [("k", 1.5)],
        "u": 255,
        "none": None,
        "words": "apple",
    }
    schema = pa.schema(
        {
            "t": pa.timestamp("us", "UTC"),
            "d": pa.date32(),
            "n": pa.decimal128(5, 2),
            "b": pa.binary(),
            "s": pa.struct({"x": pa.int8(), "l": pa.list_(pa.string())}),
            "m": pa.map_(pa.string(), pa.float64()),
            "u": pa.uint8(),
            "none": pa.int32(),
            "words": pa.large_string(),
        }
    )
    table = yard.create_table(
        "shop.kinds",
        pa.Table.from_pylist([row], schema=schema),
        properties={},
    )
    columns = ", ".join(f"'{name}'" for name in schema.names)
    (found,) = sql(
        "SELECT * FROM text_search('shop.kinds', 'apple', text_column => 'words', "
        f"columns => array({columns}))"
    )
    (read,) = spark.read.format("lanceyard").load(table.location).collect()
    assert found.asDict(recursive=True) == read.asDict(recursive=True) | {"_score": found._score}


def told(value):
    """An argument as Spark tells the analysis of a function of it."""
    item = value[0] if isinstance(value, list) else value
    kind = _infer_type(item)
    kind = ArrayType(kind) if isinstance(value, list) else kind
    return AnalyzeArgument(kind, value, isTable=False, isConstantExpression=True)


def analyze(root, name, *positional, **named):
    (function,) = (each for each in FUNCTIONS if each.name == name)
    catalogs = Catalogs.read(root, {"yard": root})
    given = function.bind([*map(told, positional)], {key: told(named[key]) for key in named})
    return analyzed(function, catalogs, given)


@pytest.mark.parametrize(
    ("positional", "named", "text"),
    [
        ((), {}, "vector_search needs its argument vector"),
        (([1.0, 2.0],), {}, "'v' have 8 dimensions, not 2"),
        (("abc",), {}, "vector must be an array of numbers, but is string"),
        ((None,), {}, "vector must be an array of numbers, but is void"),
        (([1.0, None],), {}, "a vector to search for contains null"),
        (([float("nan")],), {}, "contains nan"),
        (([1.0],), {"nprobe": 2}, "did you mean nprobes?"),
        (([1.0],), {"column": "id"}, "'id' holds no vectors"),
        (([1.0],), {"column": "w"}, "there is no column 'w'"),
        (([1.0],), {"columns": ["w"]}, "has no column 'w'"),
        (([1.0],), {"columns": "id"}, "must be an array of names"),
        (([1.0],), {"k": 0}, "k must be at least 1"),
        (([1.0],), {"version": 99}, "version 99"),
    ],
)
def test_a_vector_search_that_does_not_fit_is_refused(root, yard, positional, named, text):
    with pytest.raises(errors.LanceNamespaceError) as refusal:
        analyze(root, "vector_search", "shop.items", *positional, **named)
    assert text in str(refusal.value)


@pytest.mark.parametrize(
    ("call", "named", "text"),
    [
        (("text_search", "shop.plain", "a"), {}, "table shop.plain has no full-text index"),
        (("text_search", "shop.items", "a"), {"text_column": "id"}, "'id' holds no texts"),
        (("hybrid_search", "shop.items", [1.0], None), {}, "words must be a string, but is void"),
    ],
)
def test_a_search_for_words_that_does_not_fit_is_refused(root, yard, call, named, text):
    with pytest.raises(errors.LanceNamespaceError) as refusal:
        analyze(root, *call, **named)
    assert text in str(refusal.value)


def test_spark_tells_why_a_search_was_refused(sql):
    with pytest.raises(PySparkException, match=r"table shop.none was not found"):
        sql("SELECT * FROM vector_search('yard.shop.none', array(1))")
    with pytest.raises(PySparkException, match="No field named nope"):
        sql("SELECT * FROM text_search('shop.items', 'a', filter => 'nope = 1')")


def test_a_null_in_a_row_is_refused(sql):
    with pytest.raises(PySparkException, match="words of text_search is null"):
        sql("SELECT * FROM VALUES ('a'), (NULL) AS q(w), LATERAL text_search('shop.items', q.w)")


def test_a_table_in_no_catalog_is_refused(spark, yard, root):
    search.register(spark, catalogs={"yard": root})
    with pytest.raises(PySparkException, match="names begin with yard"):
        spark.sql("SELECT * FROM text_search('shop.items', 'a')")
    with pytest.raises(errors.InvalidInputError, match="name the catalogs"):
        search.register(spark)


def test_a_plan_does_not_tell_the_properties_of_the_catalog(spark, sql, root):
    frame = spark.sql("SELECT * FROM text_search('yard.shop.items', 'rare')")
    assert root not in frame._jdf.queryExecution().toString()


def test_blobs_are_left_to_the_caller(sql, yard):
    rows = pa.table(
        {"s": ["apple"], "b": pa.array([b"x"], pa.large_binary())},
        schema=pa.schema(
            [
                pa.field("s", pa.string()),
                pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
            ]
        ),
    )
    table = yard.create_table("shop.blobs", rows)
    assert lance.dataset(table.location).count_rows() == 1
    call = "text_search('shop.blobs', 'apple', text_column => 's'"
    with pytest.raises(PySparkException, match=r"column 'b' of table shop.* holds blobs"):
        sql(f"SELECT * FROM {call})")
    assert sql(f"SELECT s FROM {call}, columns => array('s'))")[0].s == "apple"
