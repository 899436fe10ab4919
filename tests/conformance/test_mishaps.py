"""Requests that Lance misreads, and what they could do to a table."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import lance
import pytest
from lance_namespace.errors import ErrorCode, LanceNamespaceError

from lanceyard.catalog.views import VIEW

from .kit import Catalog, applies, numbers, refused, stream

pytestmark = [applies(extensions=True)]

MISREAD = ["n < 3 adn n > 9", "n < 3 limit 1", "n < 3; and n > 9", "n < 3 order by n", "n < 3 n"]
"""Lance would take the first expression of each, and ignore the rest."""
BODY = stream(numbers(9))


@pytest.fixture
def t(catalog: Catalog) -> list[str]:
    """A table of the root that holds 1, 2 and 3."""
    catalog.create_table(["t"], 1, 2, 3)
    return ["t"]


@pytest.mark.parametrize("text", MISREAD)
@pytest.mark.parametrize(
    ("operation", "field", "fields"),
    [
        ("delete_from_table", "predicate", {}),
        ("count_table_rows", "predicate", {}),
        ("update_table", "predicate", {"updates": [["n", "0"]]}),
        ("query_table", "filter", {"k": 9, "vector": {}}),
        ("merge_insert_into_table", "when_not_matched_by_source_delete_filt", {"on": ["n"]}),
    ],
    ids=["delete", "count", "update", "query", "merge"],
)
@applies(mode="v2")
def test_what_follows_a_condition_is_not_ignored(
    catalog: Catalog, t: list[str], operation: str, field: str, fields: dict[str, Any], text: str
) -> None:
    body = [BODY] if "merge" in operation else []
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do(operation, t, *body, **fields, **{field: text})
    assert catalog.rows(t) == [1, 2, 3]


def test_a_comment_may_follow_a_condition(catalog: Catalog, t: list[str]) -> None:
    assert catalog.count(t, predicate="n > 1 or n < 0 -- not many") == 2


@applies(mode="v2")
@pytest.mark.parametrize(
    ("operation", "fields"),
    [
        ("query_table", {"k": 1, "columns": {"a\0b": "n"}}),
        ("query_table", {"k": 1, "columns": {"c": "named_struct('x\0y', n)"}}),
        ("alter_table_alter_columns", {"alterations": [{"path": "n", "rename": "a\0b"}]}),
        ("alter_table_add_columns", {"new_columns": [{"name": "a\0b", "expression": "n"}]}),
        ("update_table_schema_metadata", {"metadata": {"a\0": "b"}}),
    ],
    ids=["alias", "expression", "rename", "add", "metadata"],
)
def test_a_nul_does_not_get_to_lance(
    catalog: Catalog, t: list[str], operation: str, fields: dict[str, Any]
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        getattr(catalog.plain, operation)({"id": t, **fields})


@applies(mode="v2", managed=False)
@pytest.mark.parametrize("predicate", ["n = $1", "n = ?", "n.x = 1", "arrow_cast(n, 'Nope') = 1"])
def test_a_condition_that_lance_gives_up_on_is_refused(
    catalog: Catalog, t: list[str], predicate: str
) -> None:
    for operation in ("count_table_rows", "delete_from_table"):
        with refused(ErrorCode.INVALID_INPUT):
            catalog.do(operation, t, predicate=predicate)


@applies(mode="v2", managed=False)
def test_a_graph_that_fits_no_memory_is_refused(catalog: Catalog, t: list[str]) -> None:
    request = {"column": "n", "index_type": "IVF_HNSW_SQ", "ef_construction": 2**40}
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("create_table_index", t, **request)


@pytest.mark.parametrize("text", ["garbage", "{}", "[]", '{"sql": 1, "tables": {"t": 1}}'])
def test_nobody_else_says_that_a_table_is_a_view(catalog: Catalog, t: list[str], text: str) -> None:
    properties = {VIEW: text}
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_table(["x"], 1, properties=properties)
    with refused(ErrorCode.INVALID_INPUT):
        catalog.plain.alter_table({"id": t, "set": properties})
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("update_table", t, updates=[["n", "0"]], properties=properties)
    assert (catalog.tables([]), catalog.rows(t)) == (["t"], [1, 2, 3])


@applies(manifest=True, managed=False)
def test_what_others_say_of_views_locks_nothing(catalog: Catalog, t: list[str]) -> None:
    catalog.create_table(["x"], 1, properties={"a": "b"})
    manifest = lance.dataset(str(catalog.root / "__manifest"))
    manifest.update({"metadata": f"'{json.dumps({VIEW: 'garbage'})}'"}, where="object_id = 'x'")
    assert catalog.again().tables([]) == ["t", "x"]
    catalog.again().drop_table(t)


@applies(mode="v2")
@pytest.mark.parametrize(
    "key", ["ARROW:extension:name", "ARROW:extension:metadata", "lance-encoding:blob"]
)
def test_metadata_cannot_change_what_values_are(catalog: Catalog, t: list[str], key: str) -> None:
    update = {"path": "n", "metadata": {key: "arrow.uuid"}}
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("update_field_metadata", t, updates=[update])
    column = {"name": "m", "data_type": {"type": "int64"}, "metadata": {key: "arrow.uuid"}}
    with refused(ErrorCode.INVALID_INPUT):
        catalog.plain.alter_table_add_columns({"id": t, "new_columns": [column]})
    assert catalog.count(t) == 3


@applies(mode="v2")
@pytest.mark.parametrize("name", ["é", "x" * 5_000])
def test_a_tag_that_lance_would_lose_is_refused(catalog: Catalog, t: list[str], name: str) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("create_table_tag", t, tag=name, version=1)
    assert catalog.do("list_table_tags", t).tags == {}


@applies(mode="v2")
def test_a_branch_of_a_very_long_name_is_refused(catalog: Catalog, t: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("create_table_branch", t, name="x" * 5_000)


@applies(mode="v2", managed=False)
def test_tags_are_listed_while_others_come_and_go(catalog: Catalog, t: list[str]) -> None:
    catalog.do("create_table_tag", t, tag="keep", version=1)

    def churn() -> None:
        for step in range(60):
            catalog.do("create_table_tag", t, tag=f"x{step % 3}", version=1)
            catalog.do("delete_table_tag", t, tag=f"x{step % 3}")

    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(churn)
        while not busy.done():
            assert catalog.do("get_table_tag_version", t, tag="keep").version == 1
            assert "keep" in catalog.do("list_table_tags", t).tags
        busy.result()


@applies(mode="v2", managed=False)
@pytest.mark.parametrize(
    ("operation", "fields", "losers"),
    [
        ("create_table_branch", {"name": "b"}, {ErrorCode.TABLE_BRANCH_ALREADY_EXISTS}),
        ("delete_table_tag", {"tag": "x"}, {ErrorCode.TABLE_TAG_NOT_FOUND}),
    ],
    ids=["branch", "tag"],
)
def test_of_many_at_once_the_losers_are_told_so(
    catalog: Catalog,
    t: list[str],
    operation: str,
    fields: dict[str, Any],
    losers: set[ErrorCode],
) -> None:
    catalog.do("create_table_tag", t, tag="x", version=1)

    def attempt(_: int) -> ErrorCode | None:
        try:
            catalog.do(operation, t, **fields)
        except LanceNamespaceError as refusal:
            return refusal.code
        return None

    with ThreadPoolExecutor(8) as pool:
        codes = set(pool.map(attempt, range(8)))
    assert codes - {None} <= losers


@applies(mode="v2")
def test_rows_without_columns_are_refused(catalog: Catalog, t: list[str]) -> None:
    nothing = stream(numbers(1).select([]))
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do("insert_into_table", t, nothing, mode="overwrite")


@applies(mode="v2")
def test_many_threads_use_one_namespace(catalog: Catalog, t: list[str]) -> None:
    def work(number: int) -> None:
        for step in range(5):
            catalog.insert(t, number * 100 + step)
            assert catalog.count(t) > 3
            catalog.do("create_table_tag", t, tag=f"{number}-{step}", version=1)
            catalog.do("get_table_stats", t)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(1, 9)))
    assert catalog.count(t) == 3 + 8 * 5
    assert len(catalog.do("list_table_tags", t).tags) == 8 * 5


LONG = "x" * 300
TOO_LONG = {
    "branch": ("list_table_versions", {"branch": LONG}),
    "branch with a NUL": ("list_table_versions", {"branch": "a\0b"}),
    "version of a branch": ("describe_table_version", {"branch": LONG, "version": 1}),
    "versions of a branch": (
        "batch_delete_table_versions",
        {"branch": LONG, "ranges": [{"start_version": 1, "end_version": 2}]},
    ),
    "new branch": ("create_table_branch", {"name": "."}),
    "tag to move": ("update_table_tag", {"tag": LONG, "version": 1}),
    "tag to forget": ("delete_table_tag", {"tag": LONG}),
}


@applies(mode="v2")
@pytest.mark.parametrize(("operation", "fields"), TOO_LONG.values(), ids=TOO_LONG)
def test_a_name_that_no_file_can_have_is_refused(
    catalog: Catalog, t: list[str], operation: str, fields: dict[str, Any]
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do(operation, t, **fields)


@applies(manifest=True)
@pytest.mark.parametrize("location", ["x" * 300, f"a/{'y' * 300}.lance", "a\0b"])
@pytest.mark.parametrize("operation", ["declare_table", "register_table"])
def test_a_location_that_no_directory_can_have_is_refused(
    catalog: Catalog, operation: str, location: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.do(operation, ["d"], location=location)


@applies(manifest=True)
def test_a_batch_declares_no_table_at_an_empty_location(catalog: Catalog) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.commit({"declare_table": {"id": ["d"], "location": ""}})


@pytest.mark.parametrize("operation", ["describe_table", "table_exists"])
def test_a_version_beyond_all_numbers_is_not_found(
    catalog: Catalog, t: list[str], operation: str
) -> None:
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        catalog.do(operation, t, version=2**64)


def test_a_limit_beyond_all_numbers_is_no_limit(catalog: Catalog, t: list[str]) -> None:
    assert len(catalog.do("list_table_versions", t, limit=2**63).versions) == 1
