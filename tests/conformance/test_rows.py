"""Insert into, merge into, update, delete from and count the rows of tables."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode

from .kit import Catalog, applies, numbers, refused, stream

ours = applies(extensions=True)


def people(*rows: tuple[int, str, int]) -> bytes:
    """A body with rows of three columns."""
    ids, names, ages = zip(*rows, strict=True) if rows else ((), (), ())
    columns = {"id": pa.array(ids, pa.int64()), "name": pa.array(names, pa.string())}
    return stream(pa.table({**columns, "age": pa.array(ages, pa.int64())}))


@pytest.fixture
def staff(catalog: Catalog, home: list[str]) -> list[str]:
    """A table of three people."""
    identifier = [*home, "staff"]
    catalog.create_table_from(identifier, people((1, "ann", 30), (2, "bob", 40), (3, "cid", 50)))
    return identifier


@pytest.fixture
def team(catalog: Catalog) -> list[str]:
    """The same in the root, for rules to which the namespace makes no difference."""
    catalog.create_table_from(["team"], people((1, "ann", 30), (2, "bob", 40), (3, "cid", 50)))
    return ["team"]


def rows(catalog: Catalog, table: list[str]) -> list[tuple[object, ...]]:
    """The rows of a table, sorted, as pylance reads them at its location."""
    found = catalog.open(table).to_table().to_pylist()
    return sorted(tuple(row.values()) for row in found)


def test_inserted_rows_are_appended(catalog: Catalog, table: list[str]) -> None:
    answer = catalog.insert(table, 4, 5)
    assert catalog.rows(table) == [1, 2, 3, 4, 5]
    assert answer.version == catalog.open(table).version


@ours
def test_an_insert_says_how_many_rows_it_inserted(catalog: Catalog, team: list[str]) -> None:
    answer = catalog.do("insert_into_table", team, people((4, "dan", 1), (5, "eve", 2)))
    assert answer.num_inserted_rows == 2


@pytest.mark.parametrize("mode", ["overwrite", "Overwrite", "OVERWRITE"])
def test_an_overwriting_insert_replaces_all_rows(
    catalog: Catalog, table: list[str], mode: str
) -> None:
    catalog.insert(table, 9, mode=mode)
    assert catalog.rows(table) == [9]


@ours
def test_an_overwriting_insert_keeps_the_properties(catalog: Catalog, home: list[str]) -> None:
    table = [*home, "t"]
    catalog.create_table(table, 1, properties={"owner": "ml"})
    catalog.insert(table, 2, mode="overwrite")
    assert catalog.describe_table(table).properties == {"owner": "ml"}


@ours
def test_an_unknown_mode_of_insert_is_refused(catalog: Catalog, team: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("insert_into_table", team, people((4, "dan", 1)), mode="upsert")


@ours
def test_columns_that_an_insert_leaves_out_are_null(catalog: Catalog, team: list[str]) -> None:
    catalog.do("insert_into_table", team, stream(pa.table({"id": pa.array([4], pa.int64())})))
    assert catalog.open(team).to_table(filter="id = 4").to_pylist() == [
        {"id": 4, "name": None, "age": None}
    ]


@ours
@pytest.mark.parametrize("as_file", [True, False], ids=["file", "chunks"])
def test_the_rows_of_an_insert_may_come_as_a_file_or_in_chunks(
    catalog: Catalog, team: list[str], *, as_file: bool
) -> None:
    body = people((4, "dan", 1))

    def chunks() -> Iterator[bytes]:
        yield body[:100]
        yield body[100:]

    given = io.BytesIO(body) if as_file else chunks()
    catalog.plain.insert_into_table({"id": team}, given)
    assert catalog.count(team) == 4


@ours
@pytest.mark.parametrize(
    "columns",
    [
        {"id": pa.array(["x"])},
        {"id": pa.array([1], pa.int32())},
        {"id": pa.array([1], pa.int64()), "shoe_size": pa.array([1])},
    ],
    ids=["type", "narrower", "unknown"],
)
def test_rows_of_another_schema_are_refused(
    catalog: Catalog, team: list[str], columns: dict[str, pa.Array]
) -> None:
    before = catalog.open(team).version
    with refused(ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR):
        catalog.do("insert_into_table", team, stream(pa.table(columns)))
    assert catalog.open(team).version == before


@ours
@pytest.mark.parametrize(
    "body",
    [b"", b"no arrow at all", stream(numbers(*range(10_000)))[:4_000]],
    ids=["empty", "garbage", "cut short"],
)
@pytest.mark.parametrize("operation", ["insert_into_table", "merge_insert_into_table"])
def test_a_body_that_is_no_arrow_stream_is_refused(
    catalog: Catalog, operation: str, body: bytes
) -> None:
    catalog.create_table(["t"], 1, 2, 3)
    fields = {"on": ["n"], "when_matched_update_all": True} if "merge" in operation else {}
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do(operation, ["t"], body, **fields)
    assert catalog.rows(["t"]) == [1, 2, 3]


def test_a_merge_updates_what_matches_and_inserts_the_rest(
    catalog: Catalog, staff: list[str]
) -> None:
    clauses = {"when_matched_update_all": True, "when_not_matched_insert_all": True}
    body = people((2, "bea", 41), (4, "dan", 20))
    answer = catalog.do("merge_insert_into_table", staff, body, on=["id"], **clauses)
    assert rows(catalog, staff) == [(1, "ann", 30), (2, "bea", 41), (3, "cid", 50), (4, "dan", 20)]
    assert (answer.num_updated_rows, answer.num_inserted_rows) == (1, 1)


@ours
def test_a_merge_says_its_version(catalog: Catalog, team: list[str]) -> None:
    answer = catalog.do(
        "merge_insert_into_table",
        team,
        people((1, "a", 1)),
        on=["id"],
        when_matched_update_all=True,
    )
    assert answer.version == catalog.open(team).version


@ours
def test_a_merge_matches_by_all_columns_given(catalog: Catalog, team: list[str]) -> None:
    body = people((1, "ann", 31), (2, "bea", 41))
    catalog.do(
        "merge_insert_into_table", team, body, on=["id", "name"], when_matched_update_all=True
    )
    assert rows(catalog, team) == [(1, "ann", 31), (2, "bob", 40), (3, "cid", 50)]


@ours
def test_a_merge_updates_where_its_filter_holds(catalog: Catalog, team: list[str]) -> None:
    body = people((1, "ann", 31), (2, "bob", 39))
    catalog.do(
        "merge_insert_into_table",
        team,
        body,
        on=["id"],
        when_matched_update_all_filt="source.age > target.age",
    )
    assert rows(catalog, team) == [(1, "ann", 31), (2, "bob", 40), (3, "cid", 50)]


@ours
@pytest.mark.parametrize(
    ("clause", "left"),
    [
        ({"when_not_matched_by_source_delete": True}, [1]),
        ({"when_not_matched_by_source_delete_filt": "age > 45"}, [1, 2]),
    ],
    ids=["all", "filtered"],
)
def test_a_merge_deletes_what_its_source_lacks(
    catalog: Catalog, team: list[str], clause: dict[str, object], left: list[int]
) -> None:
    answer = catalog.do(
        "merge_insert_into_table",
        team,
        people((1, "ann", 30)),
        on=["id"],
        when_matched_update_all=True,
        **clause,
    )
    assert [row[0] for row in rows(catalog, team)] == left
    assert answer.num_deleted_rows == 3 - len(left)


@ours
@pytest.mark.parametrize("timeout", ["30s", "500 ms", "5m", "1h"])
@pytest.mark.parametrize("use_index", [True, False])
def test_a_merge_takes_a_timeout_and_whether_to_use_an_index(
    catalog: Catalog, team: list[str], timeout: str, *, use_index: bool
) -> None:
    clauses = {"when_not_matched_insert_all": True, "timeout": timeout, "use_index": use_index}
    catalog.do("merge_insert_into_table", team, people((4, "dan", 1)), on=["id"], **clauses)
    assert catalog.count(team) == 4


BAD_MERGES = {
    "no clause": ({"on": ["id"]}, ErrorCode.INVALID_INPUT),
    "no columns": ({"when_matched_update_all": True}, ErrorCode.INVALID_INPUT),
    "unknown column": (
        {"on": ["nope"], "when_matched_update_all": True},
        ErrorCode.TABLE_COLUMN_NOT_FOUND,
    ),
    "unknown column in a filter": (
        {"on": ["id"], "when_matched_update_all_filt": "nope > 1"},
        ErrorCode.TABLE_COLUMN_NOT_FOUND,
    ),
    "bad filter": (
        {"on": ["id"], "when_not_matched_by_source_delete_filt": "age >"},
        ErrorCode.INVALID_INPUT,
    ),
    "bad timeout": (
        {"on": ["id"], "when_matched_update_all": True, "timeout": "soon"},
        ErrorCode.INVALID_INPUT,
    ),
}


@ours
@pytest.mark.parametrize(("fields", "code"), BAD_MERGES.values(), ids=BAD_MERGES)
def test_a_merge_that_makes_no_sense_is_refused(
    catalog: Catalog, team: list[str], fields: dict[str, object], code: ErrorCode
) -> None:
    before = rows(catalog, team)
    with refused(code):
        catalog.do("merge_insert_into_table", team, people((1, "x", 1)), **fields)
    assert rows(catalog, team) == before


@ours
def test_a_merge_of_two_rows_into_one_is_refused(catalog: Catalog, team: list[str]) -> None:
    body = people((1, "x", 1), (1, "y", 2))
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("merge_insert_into_table", team, body, on=["id"], when_matched_update_all=True)


def test_an_update_sets_columns_where_its_predicate_holds(
    catalog: Catalog, staff: list[str]
) -> None:
    updates = [["age", "age + 1"], ["name", "upper(name)"]]
    answer = catalog.do("update_table", staff, updates=updates, predicate="id > 1")
    assert rows(catalog, staff) == [(1, "ann", 30), (2, "BOB", 41), (3, "CID", 51)]
    assert (answer.updated_rows, answer.version) == (2, catalog.open(staff).version)


def test_an_update_without_a_predicate_sets_all_rows(catalog: Catalog, team: list[str]) -> None:
    catalog.do("update_table", team, updates=[["age", "0"]])
    assert {row[2] for row in rows(catalog, team)} == {0}


@ours
def test_an_update_may_put_properties(catalog: Catalog, staff: list[str]) -> None:
    answer = catalog.do("update_table", staff, updates=[["age", "0"]], properties={"owner": "ml"})
    assert answer.properties == catalog.describe_table(staff).properties == {"owner": "ml"}


BAD_UPDATES = {
    "unknown column": ({"updates": [["nope", "1"]]}, ErrorCode.TABLE_COLUMN_NOT_FOUND),
    "unknown source": ({"updates": [["age", "nope"]]}, ErrorCode.TABLE_COLUMN_NOT_FOUND),
    "bad expression": ({"updates": [["age", "1 +"]]}, ErrorCode.INVALID_INPUT),
    "wrong type": ({"updates": [["age", "'old'"]]}, ErrorCode.INVALID_INPUT),
    "nothing": ({"updates": []}, ErrorCode.INVALID_INPUT),
    "twice": ({"updates": [["age", "1"], ["age", "2"]]}, ErrorCode.INVALID_INPUT),
    "bad predicate": (
        {"updates": [["age", "1"]], "predicate": "age >>> 1"},
        ErrorCode.INVALID_INPUT,
    ),
    "unknown in predicate": (
        {"updates": [["age", "1"]], "predicate": "nope = 1"},
        ErrorCode.TABLE_COLUMN_NOT_FOUND,
    ),
}


@ours
@pytest.mark.parametrize(("fields", "code"), BAD_UPDATES.values(), ids=BAD_UPDATES)
def test_an_update_that_makes_no_sense_is_refused(
    catalog: Catalog, team: list[str], fields: dict[str, object], code: ErrorCode
) -> None:
    before = rows(catalog, team)
    with refused(code):
        catalog.do("update_table", team, **fields)
    assert rows(catalog, team) == before


def test_a_delete_removes_rows_for_which_its_predicate_holds(
    catalog: Catalog, table: list[str]
) -> None:
    answer = catalog.do("delete_from_table", table, predicate="n > 1")
    assert catalog.rows(table) == [1]
    assert answer.version == catalog.open(table).version


BAD_PREDICATES = {
    "unknown column": ("nope = 1", ErrorCode.TABLE_COLUMN_NOT_FOUND),
    "bad syntax": ("n >>> 1", ErrorCode.INVALID_INPUT),
    "empty": ("", ErrorCode.INVALID_INPUT),
    "no condition": ("n + 1", ErrorCode.INVALID_INPUT),
    "unknown function": ("frobnicate(n) = 1", ErrorCode.INVALID_INPUT),
}
each_bad_predicate = pytest.mark.parametrize(
    ("predicate", "code"), BAD_PREDICATES.values(), ids=BAD_PREDICATES
)


@ours
@each_bad_predicate
@pytest.mark.parametrize("operation", ["delete_from_table", "count_table_rows"])
def test_a_predicate_that_makes_no_sense_is_refused(
    catalog: Catalog, operation: str, predicate: str, code: ErrorCode
) -> None:
    catalog.create_table(["t"], 1, 2, 3)
    with refused(code):
        catalog.do(operation, ["t"], predicate=predicate)
    assert catalog.rows(["t"]) == [1, 2, 3]


def test_rows_are_counted(catalog: Catalog, table: list[str]) -> None:
    assert catalog.count(table) == 3
    assert catalog.count(table, predicate="n > 1") == 2


def test_rows_of_an_earlier_version_are_counted(catalog: Catalog, table: list[str]) -> None:
    before = catalog.open(table).version
    catalog.insert(table, 4)
    assert catalog.count(table, version=before) == 3
    assert catalog.count(table) == 4


def test_deleted_rows_are_not_counted(catalog: Catalog, table: list[str]) -> None:
    catalog.do("delete_from_table", table, predicate="n = 2")
    assert catalog.count(table) == 2


@applies(on_disk=True)
def test_what_another_client_wrote_is_counted_at_once(catalog: Catalog, table: list[str]) -> None:
    assert catalog.count(table) == 3
    catalog.again().insert(table, 4)
    assert catalog.count(table) == 4


def test_a_table_that_was_dropped_and_made_again_is_another_one(
    catalog: Catalog, table: list[str]
) -> None:
    assert catalog.count(table) == 3
    catalog.drop_table(table)
    catalog.create_table(table, 7, 8)
    assert catalog.count(table) == 2


@ours
@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("update_table", {"updates": [["n", "n + 10"]]}),
        ("delete_from_table", {"predicate": "n > 1"}),
        ("count_table_rows", {"predicate": "n > 0"}),
    ],
    ids=["update", "delete", "count"],
)
def test_a_branch_is_changed_apart_from_the_table(
    catalog: Catalog, table: list[str], operation: str, fields: dict[str, object]
) -> None:
    catalog.do("create_table_branch", table, name="side")
    catalog.insert(table, 4, branch="side")
    catalog.do(operation, table, branch="side", **fields)
    assert catalog.rows(table) == [1, 2, 3]
    assert catalog.count(table, branch="side") == (1 if "delete" in operation else 4)


@ours
def test_a_merge_may_go_into_a_branch(catalog: Catalog, team: list[str]) -> None:
    catalog.do("create_table_branch", team, name="side")
    clauses = {"on": ["id"], "when_not_matched_insert_all": True}
    catalog.do("merge_insert_into_table", team, people((4, "d", 1)), branch="side", **clauses)
    assert (catalog.count(team), catalog.count(team, branch="side")) == (3, 4)


@applies(managed=True)
def test_every_change_of_rows_is_a_version_of_the_catalog(
    catalog: Catalog, staff: list[str]
) -> None:
    before = catalog.versions(staff)
    catalog.do("insert_into_table", staff, people((4, "dan", 1)))
    catalog.do("update_table", staff, updates=[["age", "0"]])
    catalog.do("delete_from_table", staff, predicate="id = 1")
    catalog.do(
        "merge_insert_into_table",
        staff,
        people((2, "b", 2)),
        on=["id"],
        when_matched_update_all=True,
    )
    assert len(catalog.versions(staff)) == len(before) + 4
    assert catalog.versions(staff)[0] == catalog.open(staff).version
