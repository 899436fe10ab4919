"""Query a table, explain the plan of a query and analyze it."""

from __future__ import annotations

import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode

from .books import HERE, books, ids, index_texts, index_vectors, names, near, shelve, words
from .kit import Catalog, applies, refused, stream

ours = applies(extensions=True)

OPERATIONS = ["query", "explain", "analyze"]
ALL = ["id", "title", "text", "v", "place"]
each_operation = pytest.mark.parametrize("act", OPERATIONS)


@pytest.fixture
def shelf(catalog: Catalog, home: list[str]) -> list[str]:
    """Twelve books."""
    return shelve(catalog, [*home, "books"])


@pytest.fixture
def library(catalog: Catalog) -> list[str]:
    """The same in the root, for rules to which the namespace makes no difference."""
    return shelve(catalog)


def test_a_query_without_conditions_gives_the_first_rows(
    catalog: Catalog, shelf: list[str]
) -> None:
    assert catalog.query(shelf, k=3).equals(catalog.open(shelf).to_table(limit=3))


def test_a_filter_chooses_rows(catalog: Catalog, shelf: list[str]) -> None:
    assert ids(catalog.query(shelf, filter="id > 8")) == [9, 10, 11]


def test_a_query_without_vector_skips_and_limits(catalog: Catalog, library: list[str]) -> None:
    assert ids(catalog.query(library, filter="id > 4", k=2, offset=3)) == [8, 9]


def test_a_vector_finds_its_nearest_neighbours(catalog: Catalog, shelf: list[str]) -> None:
    found = catalog.query(shelf, vector=near(HERE), vector_column="v", k=4)
    nearest = {"column": "v", "q": HERE, "k": 4}
    assert found.equals(catalog.open(shelf).to_table(nearest=nearest))


def test_words_find_the_rows_that_match_best(catalog: Catalog, shelf: list[str]) -> None:
    index_texts(catalog, shelf, "text")
    found = catalog.query(shelf, full_text_query=words("dog"), columns=names("id"), k=4)
    query = {"full_text_query": "dog", "columns": ["id", "_score"], "limit": 4}
    assert found.equals(catalog.open(shelf).to_table(**query))
    assert len(found) == 4


def test_a_query_of_a_version_sees_the_rows_of_that_version(
    catalog: Catalog, history: list[str]
) -> None:
    assert catalog.query(history, version=1)["n"].to_pylist() == [1, 2, 3]
    assert catalog.query(history)["n"].to_pylist() == [1, 2, 3, 4]


def test_a_query_of_a_branch_sees_the_rows_of_the_branch(
    catalog: Catalog, history: list[str]
) -> None:
    branch = catalog.append(history, 5).create_branch("side")
    branch.delete("n < 3")
    assert catalog.query(history, branch="side")["n"].to_pylist() == [3, 4, 5]


@ours
def test_a_query_sees_what_was_written_last(catalog: Catalog, table: list[str]) -> None:
    for number in (4, 5, 6):
        catalog.append(table, number)
        assert catalog.query(table, filter=f"n = {number}").num_rows == 1


def test_an_empty_table_has_an_answer_without_rows(catalog: Catalog) -> None:
    catalog.create_table_from(["none"], stream(books()))
    assert catalog.query(["none"], vector=near(HERE), vector_column="v").num_rows == 0
    assert catalog.query(["none"]).schema.names == books().schema.names


def test_a_plan_tells_how_a_query_would_be_carried_out(catalog: Catalog, shelf: list[str]) -> None:
    query = {"vector": near(HERE), "vector_column": "v", "columns": names("id")}
    assert "KNNVectorDistance: metric=l2" in catalog.explain(shelf, **query)


def test_an_analysis_tells_how_a_query_was_carried_out(catalog: Catalog, shelf: list[str]) -> None:
    plan = catalog.analyze(shelf, vector=near(HERE), vector_column="v", columns=names("id"), k=4)
    assert "KNNVectorDistance" in plan
    assert "output_rows=4" in plan


@applies(mode="v2")
def test_a_verbose_plan_is_that_of_pylance(catalog: Catalog, library: list[str]) -> None:
    scan = catalog.open(library).scanner(filter="id > 3", limit=10)
    for verbose in (False, True):
        plan = catalog.explain(library, filter="id > 3", verbose=verbose)
        assert plan == scan.explain_plan(verbose=verbose)


def test_a_plan_is_that_of_the_version(catalog: Catalog, history: list[str]) -> None:
    assert "num_fragments=1" in catalog.explain(history, version=1)
    assert "num_fragments=2" in catalog.explain(history)
    assert "num_fragments=1" in catalog.analyze(history, version=1)


@applies(mode="v2")
@each_operation
def test_an_index_is_used_unless_it_is_bypassed(
    catalog: Catalog, library: list[str], act: str
) -> None:
    index_vectors(catalog, library, num_partitions=2)
    query = {"vector": near(HERE), "vector_column": "v", "columns": names("id")}
    direct = getattr(catalog, act)(library, **query, bypass_vector_index=True)
    if act == "query":
        assert ids(direct) == ids(catalog.query(library, **query))
    else:
        assert "ANNSubIndex" not in direct
        assert "ANNSubIndex" in getattr(catalog, act)(library, **query)


@applies(nested=True)
@each_operation
def test_a_query_of_a_missing_table_is_refused(catalog: Catalog, ns: list[str], act: str) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        getattr(catalog, act)([*ns, "missing"])


@each_operation
def test_a_query_of_a_missing_version_is_refused(
    catalog: Catalog, library: list[str], act: str
) -> None:
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        getattr(catalog, act)(library, version=9)


@each_operation
def test_a_query_of_a_missing_branch_is_refused(
    catalog: Catalog, library: list[str], act: str
) -> None:
    with refused(ErrorCode.TABLE_BRANCH_NOT_FOUND):
        getattr(catalog, act)(library, branch="missing")


@applies(declare=True)
@each_operation
def test_a_query_of_a_declared_table_is_refused(
    catalog: Catalog, declared: list[str], act: str
) -> None:
    with refused(ErrorCode.INVALID_TABLE_STATE):
        getattr(catalog, act)(declared)


@applies(mode="v2")
@each_operation
@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"k": 0}, ErrorCode.INVALID_INPUT),
        ({"filter": "id >> "}, ErrorCode.INVALID_INPUT),
        ({"filter": "missing = 1"}, ErrorCode.TABLE_COLUMN_NOT_FOUND),
        ({"columns": names("missing")}, ErrorCode.TABLE_COLUMN_NOT_FOUND),
        ({"columns": names("id", "id")}, ErrorCode.INVALID_INPUT),
        ({"columns": {"column_aliases": {"x": "missing"}}}, ErrorCode.TABLE_COLUMN_NOT_FOUND),
        ({"full_text_query": words("dog")}, ErrorCode.INVALID_INPUT),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_a_mistake_in_a_query_is_refused(
    catalog: Catalog, library: list[str], act: str, fields: dict[str, object], code: ErrorCode
) -> None:
    with refused(code):
        getattr(catalog, act)(library, **fields)


@ours
@applies(mode="v2")
def test_the_table_of_an_explained_query_may_be_named_once_or_twice(
    catalog: Catalog, library: list[str]
) -> None:
    explain = catalog.plain.explain_table_query_plan
    plan = explain({"id": library, "query": {"k": 1}})
    assert plan == explain({"query": {"id": library, "k": 1}})
    assert plan == explain({"id": library, "query": {"id": library, "k": 1}})
    with refused(ErrorCode.INVALID_INPUT):
        explain({"id": library, "query": {"id": ["other"], "k": 1}})
    with refused(ErrorCode.INVALID_INPUT):
        explain({"query": {"k": 1}})


@ours
@applies(mode="v2")
def test_the_branch_of_an_explained_query_may_be_named_once_or_twice(
    catalog: Catalog, history: list[str]
) -> None:
    catalog.append(history, 5).create_branch("side")
    explain = catalog.plain.explain_table_query_plan
    for request in ({"branch": "side", "query": {"k": 1}}, {"query": {"k": 1, "branch": "side"}}):
        assert "/tree/side/" in explain({"id": history, **request})
    with refused(ErrorCode.INVALID_INPUT):
        explain({"id": history, "branch": "main", "query": {"k": 1, "branch": "side"}})


@applies(mode="v2")
def test_dictionaries_that_differ_between_fragments_fit_one_file(catalog: Catalog) -> None:
    kind = pa.dictionary(pa.int32(), pa.string())
    schema = pa.schema([("d", kind), ("inside", pa.struct([("d", kind)]))])
    for name in ("a", "b"):
        row = pa.table({"d": [name], "inside": [{"d": name}]}).cast(schema)
        if name == "a":
            catalog.create_table_from(["t"], stream(row))
        else:
            catalog.do("insert_into_table", ["t"], stream(row))
    found = catalog.query(["t"])
    assert found.to_pylist() == [{"d": each, "inside": {"d": each}} for each in ("a", "b")]
    assert found.schema == schema


@ours
@applies(mode="v2")
def test_a_query_may_be_a_plain_dict(catalog: Catalog, library: list[str]) -> None:
    answer = catalog.plain.query_table({"id": library, "k": 1, "vector": {"single_vector": HERE}})
    assert ids(pa.ipc.open_file(answer.data).read_all()) == [3]
    assert "KNN" in catalog.plain.analyze_table_query_plan(
        {"id": library, "k": 1, "vector": HERE, "version": None}
    )


@ours
@applies(mode="v2")
@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, ALL),
        ({"vector": None, "columns": None, "filter": None, "version": None}, ALL),
        ({"vector": [], "columns": []}, ALL),
        ({"vector": HERE}, [*ALL, "_distance"]),
        ({"vector": [HERE, HERE]}, ["query_index", *ALL, "_distance"]),
        ({"vector": {"multi_vector": [HERE]}}, ["query_index", *ALL, "_distance"]),
        ({"columns": ["id", "title"]}, ["id", "title"]),
        ({"columns": {"x": "id", "y": "id + 1"}}, ["x", "y"]),
        ({"columns": {"column_names": ["id"], "column_aliases": None}}, ["id"]),
        ({"columns": {"column_names": "id"}}, ["column_names"]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_a_plain_dict_may_be_as_loose_as_clients_send_it(
    catalog: Catalog, library: list[str], fields: dict[str, object], found: list[str]
) -> None:
    answer = catalog.plain.query_table({"id": library, "k": 2, **fields})
    assert pa.ipc.open_file(answer.data).schema.names == found


@ours
@applies(mode="v2")
@pytest.mark.parametrize(
    "fields",
    [{"k": None}, {"k": "1"}, {"vector": "abc"}, {"vector": [1, "a"]}, {"columns": 1}, {"k": 1.5}],
    ids=str,
)
def test_a_plain_dict_that_makes_no_sense_is_refused(
    catalog: Catalog, library: list[str], fields: dict[str, object]
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.plain.query_table({"id": library, "k": 2, **fields})
