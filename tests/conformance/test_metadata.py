"""Update the metadata in the schemas of tables, and of their fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lance
import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode

from lanceyard.catalog.properties import PENDING

from .kit import Catalog, applies, numbers, refused, stream

ours = applies(extensions=True)

ROWS = pa.table(
    {"n": [1], "pair": [{"a": 1, "b.c": 2}], "list": [[1]]},
    schema=pa.schema(
        [
            pa.field("n", pa.int64(), metadata={"unit": "m", "old": "yes"}),
            pa.field("pair", pa.struct([("a", pa.int64()), ("b.c", pa.int64())])),
            pa.field("list", pa.list_(pa.int64())),
        ]
    ),
)


@pytest.fixture
def units(catalog: Catalog, home: list[str]) -> list[str]:
    """A table whose column has metadata."""
    identifier = [*home, "units"]
    catalog.create_table_from(identifier, stream(ROWS))
    return identifier


@pytest.fixture
def sizes(catalog: Catalog) -> list[str]:
    """The same in the root, for rules to which the namespace makes no difference."""
    catalog.create_table_from(["sizes"], stream(ROWS))
    return ["sizes"]


def mark(catalog: Catalog, table: list[str], *updates: dict[str, Any], **fields: Any) -> Any:
    """UpdateFieldMetadata."""
    return catalog.do("update_field_metadata", table, updates=[*updates], **fields)


def marks(catalog: Catalog, table: list[str], path: str) -> dict[str, str]:
    """The metadata of a field, as pylance tells."""
    field: Any = catalog.open(table).lance_schema.field(path)
    return dict(field.metadata)


def side_schema(catalog: Catalog, table: list[str]) -> pa.Schema:
    """The schema of the branch `side`, as pylance tells."""
    return catalog.open(table).checkout_version(("side", None)).schema


def test_metadata_is_merged_into_that_of_a_field(catalog: Catalog, units: list[str]) -> None:
    answer = mark(catalog, units, {"path": "n", "metadata": {"unit": "km", "by": "me"}})
    merged = {"unit": "km", "old": "yes", "by": "me"}
    assert answer.fields == {"n": merged}
    assert marks(catalog, units, "n") == merged
    assert answer.version == catalog.open(units).version == 2


def test_metadata_replaces_that_of_a_field_on_request(catalog: Catalog, sizes: list[str]) -> None:
    answer = mark(catalog, sizes, {"path": "n", "metadata": {"by": "me"}, "replace": True})
    assert answer.fields == {"n": {"by": "me"}}
    assert marks(catalog, sizes, "n") == {"by": "me"}


@pytest.mark.parametrize(("replace", "left"), [(False, {"unit": "m"}), (True, {})])
def test_a_null_deletes_a_key(
    catalog: Catalog, sizes: list[str], replace: bool, left: dict[str, str]
) -> None:
    update = {"path": "n", "metadata": {"old": None, "never": None}, "replace": replace}
    assert mark(catalog, sizes, update).fields == {"n": left}
    assert marks(catalog, sizes, "n") == left


def test_several_fields_are_updated_in_one_commit(catalog: Catalog, sizes: list[str]) -> None:
    answer = mark(
        catalog,
        sizes,
        {"path": "n", "metadata": {"a": "1"}},
        {"path": "`pair`.`b.c`", "metadata": {"b": "2"}, "replace": True},
        {"path": "list.item", "metadata": {"c": "3"}},
    )
    assert answer.version == 2
    assert answer.fields == {
        "n": {"unit": "m", "old": "yes", "a": "1"},
        "pair.`b.c`": {"b": "2"},
        "list.item": {"c": "3"},
    }
    assert marks(catalog, sizes, "pair.`b.c`") == {"b": "2"}


def test_a_field_of_a_branch_is_updated_there(catalog: Catalog, sizes: list[str]) -> None:
    catalog.do("create_table_branch", sizes, name="side")
    mark(catalog, sizes, {"path": "n", "metadata": {"a": "1"}}, branch="side")
    assert "a" not in marks(catalog, sizes, "n")
    assert side_schema(catalog, sizes).field("n").metadata[b"a"] == b"1"


@pytest.mark.parametrize("path", ["missing", "pair.missing", "b.c", "pair..a"])
def test_a_field_that_is_not_there_is_not_updated(
    catalog: Catalog, sizes: list[str], path: str
) -> None:
    good = {"path": "n", "metadata": {"a": "1"}}
    with refused(ErrorCode.TABLE_COLUMN_NOT_FOUND):
        catalog.plain.update_field_metadata(
            {"id": sizes, "updates": [good, {"path": path, "metadata": {}}]}
        )
    assert catalog.open(sizes).version == 1


def test_a_field_is_not_updated_twice(catalog: Catalog, sizes: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        mark(catalog, sizes, {"path": "n", "metadata": {}}, {"path": "`n`", "metadata": {}})
    with refused(ErrorCode.INVALID_INPUT):
        mark(catalog, sizes)


def test_metadata_that_lance_cannot_follow_is_refused(catalog: Catalog, sizes: list[str]) -> None:
    key = {"lance-schema:unenforced-primary-key": "true"}
    with refused(ErrorCode.INVALID_INPUT):
        mark(catalog, sizes, {"path": "pair.a", "metadata": key})


def put(catalog: Catalog, table: list[str], **fields: Any) -> dict[str, str]:
    """UpdateTableSchemaMetadata."""
    return dict(catalog.do("update_table_schema_metadata", table, **fields).metadata)


def test_metadata_is_put_over_that_of_the_schema(catalog: Catalog, home: list[str]) -> None:
    table = [*home, "t"]
    body = numbers(1).replace_schema_metadata({"a": "1", "b": "1"})
    catalog.create_table_from(table, stream(body))
    assert put(catalog, table, metadata={"b": "2", "c": "2"}) == {"a": "1", "b": "2", "c": "2"}
    assert catalog.open(table).schema.metadata == {b"a": b"1", b"b": b"2", b"c": b"2"}


@ours
@pytest.mark.parametrize("metadata", [{}, None])
def test_no_metadata_is_no_commit(
    catalog: Catalog, sizes: list[str], metadata: dict[str, str] | None
) -> None:
    assert put(catalog, sizes, metadata={"a": "1"}) == {"a": "1"}
    before = catalog.open(sizes).version
    assert put(catalog, sizes, metadata=metadata) == {"a": "1"}
    assert catalog.open(sizes).version == before


def test_the_schema_of_a_branch_is_updated_there(catalog: Catalog, sizes: list[str]) -> None:
    catalog.do("create_table_branch", sizes, name="side")
    put(catalog, sizes, metadata={"a": "1"}, branch="side")
    assert not catalog.open(sizes).schema.metadata
    assert side_schema(catalog, sizes).metadata == {b"a": b"1"}


@applies(extensions=True, managed=False)
def test_properties_that_wait_in_the_schema_are_kept_and_not_shown(
    catalog: Catalog, home: list[str]
) -> None:
    table = [*home, "t"]
    waiting = b'{"owner": "ml"}'
    catalog.create_table(table, 1)
    body = numbers(2).replace_schema_metadata({PENDING: waiting})
    lance.write_dataset(body, catalog.location(table), mode="overwrite")
    assert put(catalog, table, metadata={"a": "1"}) == {"a": "1"}
    assert catalog.open(table).schema.metadata == {PENDING: waiting, b"a": b"1"}


@ours
def test_the_key_of_waiting_properties_is_not_to_be_put(catalog: Catalog, sizes: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        put(catalog, sizes, metadata={PENDING.decode(): "{}"})


ACTS: dict[str, Callable[[Catalog, list[str]], object]] = {
    "update_field_metadata": lambda catalog, table: mark(
        catalog, table, {"path": "n", "metadata": {"a": "1"}}
    ),
    "update_table_schema_metadata": lambda catalog, table: put(catalog, table, metadata={"a": "1"}),
}
each_act = pytest.mark.parametrize("act", ACTS.values(), ids=[*ACTS])


@each_act
def test_a_missing_table_has_no_metadata(
    catalog: Catalog, act: Callable[[Catalog, list[str]], object]
) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        act(catalog, ["missing"])


@applies(declare=True, extensions=True)
@each_act
def test_a_table_without_content_has_no_metadata(
    catalog: Catalog, declared: list[str], act: Callable[[Catalog, list[str]], object]
) -> None:
    with refused(ErrorCode.INVALID_TABLE_STATE):
        act(catalog, declared)
