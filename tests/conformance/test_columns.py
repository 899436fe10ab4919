"""Add, alter and drop the columns of tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode

from .kit import Catalog, applies, refused, stream

ours = applies(extensions=True)
once = applies(mode="v2", managed=False)
"""What Lance does is the same on every backend."""

ROWS = pa.Table.from_pylist(
    [
        {"n": 1, "name": "one", "pair": {"a": 1, "b.c": "x"}, "list": [1], "gap": None},
        {"n": 2, "name": "two", "pair": {"a": 2, "b.c": "y"}, "list": [2], "gap": 2},
    ],
    schema=pa.schema(
        [
            pa.field("n", pa.int64(), nullable=False),
            pa.field("name", pa.string()),
            pa.field("pair", pa.struct([("a", pa.int64()), ("b.c", pa.string())])),
            pa.field("list", pa.list_(pa.int64())),
            pa.field("gap", pa.int64()),
        ]
    ),
)


@pytest.fixture
def items(catalog: Catalog, home: list[str]) -> list[str]:
    """A table of two rows."""
    identifier = [*home, "items"]
    catalog.create_table_from(identifier, stream(ROWS))
    return identifier


@pytest.fixture
def goods(catalog: Catalog) -> list[str]:
    """The same in the root, for rules to which the namespace makes no difference."""
    catalog.create_table_from(["goods"], stream(ROWS))
    return ["goods"]


def add(catalog: Catalog, table: list[str], *columns: dict[str, Any], **fields: Any) -> int:
    """AlterTableAddColumns, as a dict: models of the specification do not have our extensions."""
    answer = catalog.plain.alter_table_add_columns(
        {"id": table, "new_columns": [*columns], **fields}
    )
    return int(answer.version)


def alter(catalog: Catalog, table: list[str], *alterations: dict[str, Any], **fields: Any) -> int:
    """AlterTableAlterColumns."""
    answer = catalog.do("alter_table_alter_columns", table, alterations=[*alterations], **fields)
    return int(answer.version)


def drop(catalog: Catalog, table: list[str], *columns: str, **fields: Any) -> int:
    """AlterTableDropColumns."""
    answer = catalog.do("alter_table_drop_columns", table, columns=[*columns], **fields)
    return int(answer.version)


def names(catalog: Catalog, table: list[str], branch: str | None = None) -> list[str]:
    """The columns of a table, as pylance tells."""
    dataset = catalog.open(table)
    return list((dataset.checkout_version((branch, None)) if branch else dataset).schema.names)


def values(catalog: Catalog, table: list[str], column: str) -> list[object]:
    """What is in a column, as pylance reads it."""
    return list(catalog.open(table).to_table()[column].to_pylist())


def test_an_expression_is_evaluated_over_the_rows(catalog: Catalog, items: list[str]) -> None:
    column = {"name": "twice", "expression": "n * 2"}
    answer = catalog.do("alter_table_add_columns", items, new_columns=[column])
    assert values(catalog, items, "twice") == [2, 4]
    assert answer.version == catalog.open(items).version


@once
@pytest.mark.parametrize(
    "expression", ["n + 1", "upper(name)", "pair.`b.c`", "`gap`", "list[1]", "'text'", "1.5"]
)
def test_a_column_is_what_pylance_makes_of_its_expression(
    catalog: Catalog, goods: list[str], expression: str
) -> None:
    catalog.create_table_from(["plain"], stream(ROWS))
    column = {"name": "new", "expression": expression}
    catalog.do("alter_table_add_columns", goods, new_columns=[column])
    plain = catalog.open(["plain"])
    plain.add_columns({"new": expression})
    assert catalog.open(goods).to_table()["new"] == plain.to_table()["new"]


@pytest.mark.parametrize("expression", ["n + 1", "'text'"])
def test_rows_that_come_later_have_no_value(
    catalog: Catalog, goods: list[str], expression: str
) -> None:
    """Lance would not let them come, for what is an expression without nulls."""
    column = {"name": "new", "expression": expression}
    catalog.do("alter_table_add_columns", goods, new_columns=[column])
    catalog.do("insert_into_table", goods, stream(ROWS.slice(1)))
    assert values(catalog, goods, "new")[2] is None


@ours
def test_a_column_of_a_type_has_no_values(catalog: Catalog, items: list[str]) -> None:
    item = {"name": "item", "nullable": True, "type": {"type": "float32"}}
    vector = {"type": "fixed_size_list", "fields": [item], "length": 4}
    add(catalog, items, {"name": "new", "data_type": vector, "metadata": {"unit": "m"}})
    field = catalog.open(items).schema.field("new")
    assert (field.type, field.metadata) == (pa.list_(pa.float32(), 4), {b"unit": b"m"})
    assert values(catalog, items, "new") == [None, None]


@ours
def test_several_columns_are_added_at_once(catalog: Catalog, goods: list[str]) -> None:
    version = add(
        catalog,
        goods,
        {"name": "empty", "data_type": {"type": "int8"}},
        {"name": "b", "expression": "n"},
        {"name": "filled", "computed": "n"},
        {"name": "a", "expression": "name"},
    )
    assert {*names(catalog, goods)} == {*ROWS.schema.names, "empty", "a", "b", "filled"}
    assert version == catalog.open(goods).version


def test_a_branch_gets_a_column_of_its_own(catalog: Catalog, goods: list[str]) -> None:
    catalog.do("create_table_branch", goods, name="side")
    column = {"name": "new", "expression": "n"}
    catalog.do("alter_table_add_columns", goods, new_columns=[column], branch="side")
    assert "new" not in names(catalog, goods)
    assert "new" in names(catalog, goods, branch="side")


BAD_COLUMNS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "no kind": [{"name": "x"}],
    "two kinds": [{"name": "x", "expression": "n", "computed": "n"}],
    "three kinds": [{"name": "x", "expression": "n", "computed": "n", "data_type": {}}],
    "an existing name": [{"name": "n", "expression": "gap"}],
    "an existing name of an empty column": [{"name": "n", "data_type": {"type": "int8"}}],
    "a name twice": [{"name": "x", "expression": "n"}, {"name": "x", "computed": "n"}],
    "no name": [{"name": "", "expression": "n"}],
    "a name with a dot": [{"name": "pair.x", "expression": "n"}],
    "a name with a dot and no values": [{"name": "pair.x", "data_type": {"type": "int8"}}],
    "a quoted name": [{"name": "`x`", "expression": "n"}],
    "a name of Lance": [{"name": "_rowid", "data_type": {"type": "int8"}}],
    "bad SQL": [{"name": "x", "expression": "n +"}],
    "computed bad SQL": [{"name": "x", "computed": "n +"}],
    "empty SQL": [{"name": "x", "expression": ""}],
    "a subquery": [{"name": "x", "expression": "(SELECT 1)"}],
    "an aggregate": [{"name": "x", "computed": "sum(n)"}],
    "an unknown function": [{"name": "x", "expression": "nothing(n)"}],
    "types that do not fit": [{"name": "x", "expression": "name + 1"}],
    "a value that cannot be computed": [{"name": "x", "expression": "1 / (n - n)"}],
    "an unknown type": [{"name": "x", "data_type": {"type": "int33"}}],
    "a type that Lance has not": [{"name": "x", "data_type": {"type": "month_day_nano_interval"}}],
    "metadata of an expression": [{"name": "x", "expression": "n", "metadata": {"a": "b"}}],
}


@once
@ours
@pytest.mark.parametrize("case", BAD_COLUMNS)
def test_a_column_that_cannot_be_added_is_refused(
    catalog: Catalog, goods: list[str], case: str
) -> None:
    good = [{"name": "y", "expression": "n"}, {"name": "z", "computed": "n"}]
    with refused(ErrorCode.INVALID_INPUT):
        add(catalog, goods, *(good if BAD_COLUMNS[case] else []), *BAD_COLUMNS[case])
    assert catalog.open(goods).version == 1


@pytest.mark.parametrize("kind", ["expression", "computed"])
def test_an_expression_over_a_missing_column_is_refused(
    catalog: Catalog, goods: list[str], kind: str
) -> None:
    column = {"name": "new", kind: "n + missing"}
    with refused(ErrorCode.TABLE_COLUMN_NOT_FOUND):
        catalog.do("alter_table_add_columns", goods, new_columns=[column])
    assert catalog.open(goods).version == 1


FUNCTION = {
    "input_columns": ["n"],
    "outputs": [],
    "image": "image",
    "udf": "",
    "udf_name": "f",
    "udf_version": "1",
}


@ours
def test_functions_of_users_do_not_run(catalog: Catalog, goods: list[str]) -> None:
    with refused(ErrorCode.UNSUPPORTED):
        add(catalog, goods, {"name": "new", "virtual_column": FUNCTION})
    with refused(ErrorCode.UNSUPPORTED):
        alter(catalog, goods, {"path": "n", "virtual_column": {"udf": ""}})
    assert catalog.open(goods).version == 1


def test_a_column_is_renamed(catalog: Catalog, items: list[str]) -> None:
    version = alter(catalog, items, {"path": "n", "rename": "number"})
    assert values(catalog, items, "number") == [1, 2]
    assert version == catalog.open(items).version == 2


def test_a_nested_column_is_renamed(catalog: Catalog, goods: list[str]) -> None:
    alter(catalog, goods, {"path": "pair.`b.c`", "rename": "b"})
    assert values(catalog, goods, "pair") == [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]


def test_a_renamed_column_keeps_its_index(catalog: Catalog, goods: list[str]) -> None:
    catalog.do("create_table_scalar_index", goods, column="n", index_type="BTREE")
    alter(catalog, goods, {"path": "n", "rename": "number"})
    (index,) = catalog.do("list_table_indices", goods).indexes
    assert (index.index_name, index.columns) == ("n_idx", ["number"])
    assert "n_idx" in catalog.open(goods).scanner(filter="number = 1").explain_plan()


def test_a_column_is_cast(catalog: Catalog, items: list[str]) -> None:
    alter(catalog, items, {"path": "n", "data_type": {"type": "int32"}})
    assert catalog.open(items).schema.field("n").type == pa.int32()
    assert values(catalog, items, "n") == [1, 2]


@pytest.mark.parametrize(("path", "nullable"), [("n", True), ("name", False)])
def test_a_column_may_hold_nulls_or_not(
    catalog: Catalog, goods: list[str], path: str, nullable: bool
) -> None:
    alter(catalog, goods, {"path": path, "nullable": nullable})
    assert catalog.open(goods).schema.field(path).nullable is nullable


def test_several_alterations_are_one_commit(catalog: Catalog, goods: list[str]) -> None:
    version = alter(
        catalog,
        goods,
        {"path": "name", "rename": "gap", "nullable": False},
        {"path": "gap", "rename": "name"},
        {"path": "n", "nullable": True},
    )
    assert (version, names(catalog, goods)) == (2, ["n", "gap", "pair", "list", "name"])


def test_a_column_of_a_branch_is_altered_there(catalog: Catalog, goods: list[str]) -> None:
    catalog.do("create_table_branch", goods, name="side")
    alter(catalog, goods, {"path": "n", "rename": "number"}, branch="side")
    assert names(catalog, goods) == ROWS.schema.names
    assert "number" in names(catalog, goods, branch="side")


BAD_ALTERATIONS: dict[str, list[dict[str, Any]]] = {
    "none": [],
    "nothing to alter": [{"path": "n"}],
    "nothing to alter in one": [{"path": "name", "rename": "x"}, {"path": "n"}],
    "a column twice": [{"path": "n", "rename": "x"}, {"path": "`n`", "nullable": True}],
    "a cast of texts to numbers": [{"path": "name", "data_type": {"type": "int64"}}],
    "a cast of a struct": [{"path": "pair", "data_type": {"type": "int64"}}],
    "an unknown type": [{"path": "n", "data_type": {"type": "int33"}}],
    "nulls that are there": [{"path": "gap", "nullable": False}],
    "no name": [{"path": "n", "rename": ""}],
    "a name with a dot": [{"path": "n", "rename": "pair.x"}],
    "a quoted name": [{"path": "n", "rename": "`x`"}],
    "a name of Lance": [{"path": "n", "rename": "_rowaddr"}],
    "the items of a list": [{"path": "list.item", "rename": "x"}],
}


@once
@ours
@pytest.mark.parametrize("case", BAD_ALTERATIONS)
def test_an_alteration_that_cannot_be_made_is_refused(
    catalog: Catalog, goods: list[str], case: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        alter(catalog, goods, *BAD_ALTERATIONS[case])
    assert catalog.open(goods).version == 1


@ours
@pytest.mark.parametrize(("path", "name"), [("n", "name"), ("pair.a", "b.c")])
def test_a_name_that_is_taken_is_refused(
    catalog: Catalog, goods: list[str], path: str, name: str
) -> None:
    with refused(ErrorCode.TABLE_SCHEMA_VALIDATION_ERROR):
        alter(catalog, goods, {"path": path, "rename": name})
    assert catalog.open(goods).version == 1


@ours
def test_values_that_do_not_fit_a_type_are_not_cast(catalog: Catalog) -> None:
    catalog.create_table(["t"], 1, 1000)
    with refused(ErrorCode.INVALID_INPUT):
        alter(catalog, ["t"], {"path": "n", "data_type": {"type": "int8"}})
    assert catalog.rows(["t"]) == [1, 1000]


@ours
def test_a_column_with_an_index_is_not_cast(catalog: Catalog, goods: list[str]) -> None:
    catalog.do("create_table_scalar_index", goods, column="n", index_type="BTREE")
    with refused(ErrorCode.INVALID_INPUT):
        alter(catalog, goods, {"path": "n", "data_type": {"type": "int32"}})


def test_dropped_columns_are_gone(catalog: Catalog, items: list[str]) -> None:
    version = drop(catalog, items, "name", "list", "name")
    assert names(catalog, items) == ["n", "pair", "gap"]
    assert version == catalog.open(items).version == 2


def test_a_part_of_a_column_is_dropped(catalog: Catalog, goods: list[str]) -> None:
    drop(catalog, goods, "pair.`b.c`")
    assert values(catalog, goods, "pair") == [{"a": 1}, {"a": 2}]


def test_a_dropped_column_takes_its_index_along(catalog: Catalog, goods: list[str]) -> None:
    catalog.do("create_table_scalar_index", goods, column="gap", index_type="BTREE")
    drop(catalog, goods, "gap")
    assert catalog.do("list_table_indices", goods).indexes == []


def test_a_column_of_a_branch_is_dropped_there(catalog: Catalog, goods: list[str]) -> None:
    catalog.do("create_table_branch", goods, name="side")
    drop(catalog, goods, "gap", branch="side")
    assert "gap" in names(catalog, goods)
    assert "gap" not in names(catalog, goods, branch="side")


@ours
@pytest.mark.parametrize(
    "columns",
    [[], ROWS.schema.names, ["list.item"]],
    ids=["none", "all", "the items of a list"],
)
def test_a_table_keeps_columns(catalog: Catalog, goods: list[str], columns: list[str]) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        drop(catalog, goods, *columns)
    assert catalog.open(goods).version == 1


ACTS: dict[str, Callable[[Catalog, list[str], str], object]] = {
    "alter": lambda catalog, table, path: alter(catalog, table, {"path": path, "rename": "x"}),
    "drop": drop,
}
each_act = pytest.mark.parametrize("act", ACTS.values(), ids=[*ACTS])


@each_act
@pytest.mark.parametrize("path", ["missing", "pair.missing", "b.c", "N"])
def test_a_column_that_is_not_there_is_not_changed(
    catalog: Catalog, goods: list[str], act: Callable[[Catalog, list[str], str], object], path: str
) -> None:
    with refused(ErrorCode.TABLE_COLUMN_NOT_FOUND):
        act(catalog, goods, path)
    assert catalog.open(goods).version == 1


@each_act
def test_a_missing_table_has_no_columns(
    catalog: Catalog, act: Callable[[Catalog, list[str], str], object]
) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        act(catalog, ["missing"], "n")
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.do(
            "alter_table_add_columns", ["missing"], new_columns=[{"name": "x", "expression": "n"}]
        )
