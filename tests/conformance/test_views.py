"""Materialized views: tables that hold the answer to a query over others."""

from __future__ import annotations

import base64
import json
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode, InvalidTableStateError

from .kit import Catalog, applies, numbers, refused, stream

pytestmark = [applies(extensions=True, views=True)]
in_steps = applies(remote=False)
"""A refresh adds what is new where locks keep two of them apart; in a bucket it begins anew."""

TWICE = "SELECT n * 2 AS twice FROM base WHERE n > 1"
SUM = "SELECT sum(n) AS total FROM base"


def schema(**columns: pa.DataType) -> str:
    """The schema of a view, as a request has it."""
    return base64.b64encode(pa.schema(columns).serialize().to_pybytes()).decode()


def define(catalog: Catalog, view: list[str], sql: str, **more: Any) -> Any:
    """CreateMaterializedView; tables are given by the names that the query uses."""
    tables = more.pop("tables", {"base": ["t"]})
    more.setdefault("output_schema", schema(twice=pa.int64()))
    query = json.dumps({"sql": sql, "tables": tables})
    more.setdefault("kind", "query")
    return catalog.do("create_materialized_view", view, source_query=query, **more)


def refresh(catalog: Catalog, view: list[str], **fields: Any) -> Any:
    return catalog.do("refresh_materialized_view", view, **fields)


def answer(catalog: Catalog, view: list[str]) -> list[Any]:
    """The only column of a view, sorted."""
    return sorted(catalog.open(view).to_table().column(0).to_pylist())


def commits(catalog: Catalog, view: list[str]) -> list[str]:
    """What was done to a view, the latest first."""
    return [type(c.operation).__name__ for c in catalog.open(view).get_transactions() if c]


@pytest.fixture
def base(catalog: Catalog) -> list[str]:
    """A table that holds 1, 2 and 3."""
    catalog.create_table(["t"], 1, 2, 3)
    return ["t"]


@pytest.fixture
def view(catalog: Catalog, base: list[str]) -> list[str]:
    """A view of it that is up to date."""
    define(catalog, ["v"], TWICE, with_no_data=False)
    return ["v"]


def test_a_new_view_is_an_empty_table(catalog: Catalog, base: list[str]) -> None:
    created = define(catalog, ["v"], TWICE)
    assert (answer(catalog, ["v"]), created.job_id) == ([], None)
    assert created.version == catalog.open(["v"]).version
    assert catalog.tables([]) == ["t", "v"]


def test_a_view_may_be_filled_when_it_is_created(catalog: Catalog, base: list[str]) -> None:
    assert define(catalog, ["v"], TWICE, with_no_data=False).job_id
    assert answer(catalog, ["v"]) == [4, 6]


def test_a_refreshed_view_has_the_answer(catalog: Catalog, base: list[str]) -> None:
    define(catalog, ["v"], TWICE)
    assert refresh(catalog, ["v"]).job_id
    assert answer(catalog, ["v"]) == [4, 6]


def test_a_view_may_join_tables_of_any_namespace(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_table(["t"], 1, 2, 3)
    names = pa.table({"n": pa.array([1, 3], pa.int64()), "name": ["one", "three"]})
    catalog.create_table_from([*ns, "names"], stream(names))
    sql = "SELECT name FROM a JOIN b ON a.n = b.n"
    tables = {"a": ["t"], "b": [*ns, "names"]}
    more = {"tables": tables, "output_schema": schema(name=pa.string()), "with_no_data": False}
    define(catalog, [*ns, "v"], sql, **more)
    assert answer(catalog, [*ns, "v"]) == ["one", "three"]


@in_steps
def test_rows_that_were_added_are_appended(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    catalog.insert(base, 4, 5)
    refresh(catalog, view)
    assert answer(catalog, view) == [4, 6, 8, 10]
    assert commits(catalog, view)[0] == "Append"


def test_an_aggregate_is_made_anew(catalog: Catalog, base: list[str]) -> None:
    define(catalog, ["v"], SUM, output_schema=schema(total=pa.int64()), with_no_data=False)
    catalog.insert(base, 4)
    refresh(catalog, ["v"])
    assert answer(catalog, ["v"]) == [10]


@pytest.mark.parametrize(
    ("operation", "fields", "expected"),
    [
        ("delete_from_table", {"predicate": "n = 3"}, [4]),
        ("update_table", {"updates": [["n", "n + 10"]]}, [22, 24, 26]),
    ],
    ids=["delete", "update"],
)
def test_rows_that_were_changed_make_it_anew(
    catalog: Catalog,
    base: list[str],
    view: list[str],
    operation: str,
    fields: dict[str, Any],
    expected: list[int],
) -> None:
    catalog.do(operation, base, **fields)
    refresh(catalog, view)
    assert answer(catalog, view) == expected
    assert commits(catalog, view)[0] == "Overwrite"


def test_a_view_that_others_wrote_to_is_made_anew(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    catalog.do("delete_from_table", view, predicate="twice = 4")
    catalog.insert(base, 4)
    refresh(catalog, view)
    assert answer(catalog, view) == [4, 6, 8]


def test_a_view_that_is_up_to_date_is_left_alone(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    before = catalog.open(view).version
    refresh(catalog, view)
    assert catalog.open(view).version == before


def test_a_view_may_show_an_earlier_version_of_its_base(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    version = catalog.open(base).version
    catalog.insert(base, 4)
    refresh(catalog, view)
    refresh(catalog, view, src_version=version)
    assert answer(catalog, view) == [4, 6]


def test_a_view_of_a_view_is_a_view(catalog: Catalog, base: list[str], view: list[str]) -> None:
    more = {"tables": {"v": ["v"]}, "output_schema": schema(total=pa.int64())}
    define(catalog, ["w"], "SELECT sum(twice) AS total FROM v", **more, with_no_data=False)
    assert answer(catalog, ["w"]) == [10]
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.drop_table(view)


def test_the_rows_per_fragment_are_limited(catalog: Catalog, base: list[str]) -> None:
    catalog.insert(base, *range(100, 200))
    define(catalog, ["v"], TWICE)
    refresh(catalog, ["v"], max_rows_per_fragment=40)
    assert catalog.do("get_table_stats", ["v"]).fragment_stats.lengths.max <= 40


@pytest.mark.parametrize("removal", ["drop_table", "deregister_table"])
def test_a_base_cannot_be_removed(
    catalog: Catalog, base: list[str], view: list[str], removal: str
) -> None:
    with pytest.raises(InvalidTableStateError, match="table 't' is the base of 'v'"):
        getattr(catalog, removal)(base)
    assert catalog.rows(base) == [1, 2, 3]


def test_a_namespace_with_a_base_of_a_view_elsewhere_cannot_be_dropped(
    catalog: Catalog, ns: list[str]
) -> None:
    catalog.create_table([*ns, "t"], 1, 2, 3)
    define(catalog, ["v"], TWICE, tables={"base": [*ns, "t"]})
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.drop_namespace(ns, behavior="cascade")
    assert catalog.tables(ns) == ["t"]


def test_a_view_goes_together_with_its_base(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_table([*ns, "t"], 1, 2, 3)
    define(catalog, [*ns, "v"], TWICE, tables={"base": [*ns, "t"]})
    catalog.drop_namespace(ns, behavior="cascade")
    assert catalog.namespaces([]) == []


def test_a_base_can_be_dropped_after_its_views(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    catalog.drop_table(view)
    catalog.drop_table(base)
    assert catalog.tables([]) == []


def test_a_view_follows_the_new_name_of_its_base(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    catalog.rename_table(base, "renamed")
    catalog.insert(["renamed"], 4)
    refresh(catalog, view)
    assert answer(catalog, view) == [4, 6, 8]
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.drop_table(["renamed"])


def test_a_renamed_view_is_refreshed_under_its_new_name(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    catalog.rename_table(view, "w")
    catalog.insert(base, 4)
    refresh(catalog, ["w"])
    assert answer(catalog, ["w"]) == [4, 6, 8]


@applies(manifest=True)
def test_the_row_of_a_view_names_its_bases(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    catalog.rename_table(base, "renamed")
    manifest = lance.dataset(str(catalog.root / "__manifest"))
    found = manifest.to_table(filter="object_id = 'v'").to_pylist()
    assert [(row["object_type"], row["base_objects"]) for row in found] == [("table", ["renamed"])]


@applies(listing=True)
def test_a_base_that_only_its_directory_tells_of_cannot_be_dropped(catalog: Catalog) -> None:
    lance.write_dataset(numbers(1, 2, 3), str(catalog.root / "t.lance"))
    define(catalog, ["v"], TWICE)
    with refused(ErrorCode.INVALID_TABLE_STATE):
        catalog.drop_table(["t"])
    assert catalog.rows(["t"]) == [1, 2, 3]


@applies(managed=True)
def test_every_refresh_is_a_version_of_the_catalog(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    before = catalog.versions(view)
    catalog.insert(base, 4)
    refresh(catalog, view)
    assert len(catalog.versions(view)) == len(before) + 1
    assert catalog.versions(view)[0] == catalog.open(view).version


BAD_VIEWS = {
    "bad sql": ({"sql": "SELEC 1"}, ErrorCode.INVALID_INPUT),
    "no query": ({"sql": "DROP TABLE base"}, ErrorCode.INVALID_INPUT),
    "unknown column": ({"sql": "SELECT nope FROM base"}, ErrorCode.TABLE_COLUMN_NOT_FOUND),
    "unknown name": ({"sql": "SELECT n AS twice FROM other"}, ErrorCode.INVALID_INPUT),
    "missing base": ({"tables": {"base": ["nope"]}}, ErrorCode.TABLE_NOT_FOUND),
    "no base": ({"tables": {}}, ErrorCode.INVALID_INPUT),
    "other columns": (
        {"output_schema": schema(thrice=pa.int64())},
        ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR,
    ),
    "bad schema": ({"output_schema": "AAAA"}, ErrorCode.INVALID_INPUT),
    "no schema": ({"output_schema": "!"}, ErrorCode.INVALID_INPUT),
    "kind": ({"kind": "udtf"}, ErrorCode.UNSUPPORTED),
    "by itself": ({"auto_refresh": True}, ErrorCode.UNSUPPORTED),
}


@pytest.mark.parametrize(("fields", "code"), BAD_VIEWS.values(), ids=BAD_VIEWS)
def test_a_view_that_makes_no_sense_is_refused(
    catalog: Catalog, base: list[str], fields: dict[str, Any], code: ErrorCode
) -> None:
    with refused(code):
        define(catalog, ["v"], **{"sql": TWICE, **fields})
    assert catalog.tables([]) == ["t"]


@pytest.mark.parametrize("text", ["SELECT 1", "[]", '{"sql": "SELECT 1"}', '{"tables": {}}'])
def test_a_query_that_is_not_in_our_form_is_refused(
    catalog: Catalog, base: list[str], text: str
) -> None:
    fields = {"kind": "query", "source_query": text, "output_schema": schema(n=pa.int64())}
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("create_materialized_view", ["v"], **fields)


def test_a_view_whose_first_answer_fails_is_not_created(catalog: Catalog, base: list[str]) -> None:
    more = {"output_schema": schema(twice=pa.int8()), "with_no_data": False}
    with refused(ErrorCode.INVALID_INPUT):
        define(catalog, ["v"], "SELECT n * 1000 AS twice FROM base", **more)
    assert catalog.tables([]) == ["t"]


def test_a_view_over_a_name_that_is_taken_is_refused(catalog: Catalog, base: list[str]) -> None:
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        define(catalog, base, TWICE)


def test_what_is_no_view_cannot_be_refreshed(catalog: Catalog, base: list[str]) -> None:
    with refused(ErrorCode.INVALID_TABLE_STATE):
        refresh(catalog, base)


def test_a_limit_for_chunkers_is_refused(catalog: Catalog, view: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        refresh(catalog, view, output_limit=1)


@pytest.mark.parametrize("version", [0, 99])
def test_a_missing_version_of_the_base_is_told(
    catalog: Catalog, view: list[str], version: int
) -> None:
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        refresh(catalog, view, src_version=version)


def test_a_version_that_gets_its_number_again_is_another_one(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    catalog.insert(base, 4)
    refresh(catalog, view)
    latest = catalog.open(base).version
    catalog.delete_table_versions(base, (latest, latest + 1))
    catalog.insert(base, 100)
    refresh(catalog, view)
    assert answer(catalog, view) == [4, 6, 200]


def test_a_view_of_all_columns_keeps_its_own(catalog: Catalog, base: list[str]) -> None:
    define(catalog, ["v"], "SELECT * FROM base", output_schema="", with_no_data=False)
    new = {"name": "m", "expression": "n + 1"}
    catalog.do("alter_table_add_columns", base, new_columns=[new])
    refresh(catalog, ["v"])
    assert catalog.open(["v"]).schema.names == ["n"]
    assert answer(catalog, ["v"]) == [1, 2, 3]


@in_steps
def test_an_index_of_the_base_is_no_news(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    before = catalog.open(view).version
    catalog.do("create_table_scalar_index", base, column="n", index_type="BTREE")
    refresh(catalog, view)
    assert catalog.open(view).version == before


@in_steps
def test_an_alias_of_the_base_does_not_make_it_anew(catalog: Catalog, base: list[str]) -> None:
    sql = "SELECT b.n * 2 AS twice FROM base b"
    define(catalog, ["v"], sql, with_no_data=False)
    catalog.insert(base, 4)
    refresh(catalog, ["v"])
    assert commits(catalog, ["v"])[0] == "Append"


def test_a_view_that_becomes_a_table_frees_its_base(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    catalog.plain.alter_table({"id": view, "unset": ["lanceyard.view"]})
    catalog.drop_table(base)
    assert catalog.tables([]) == ["v"]


@applies(manifest=True)
def test_the_row_of_a_former_view_names_no_bases(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    catalog.plain.alter_table({"id": view, "unset": ["lanceyard.view"]})
    manifest = lance.dataset(str(catalog.root / "__manifest"))
    found = manifest.to_table(filter="object_id = 'v'").to_pylist()
    assert [row["base_objects"] for row in found] == [None]


def test_a_refresh_leaves_nothing_behind(
    catalog: Catalog, base: list[str], view: list[str]
) -> None:
    catalog.insert(base, 4)
    refresh(catalog, view)
    assert not (catalog.directory(view) / "_refreshing").exists()
