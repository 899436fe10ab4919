"""Computed columns: their expressions are kept, and evaluated when they are backfilled."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace.errors import ErrorCode

from .kit import Catalog, applies, numbers, refused, stream

pytestmark = applies(extensions=True)


@pytest.fixture
def three(catalog: Catalog) -> list[str]:
    """A table of 1, 2 and 3 in the root: the namespace makes no difference to most rules."""
    catalog.create_table(["t"], 1, 2, 3)
    return ["t"]


def compute(catalog: Catalog, table: list[str], expression: str, **fields: Any) -> None:
    """Add a computed column `c`."""
    column = {"name": "c", "computed": expression}
    catalog.do("alter_table_add_columns", table, new_columns=[column], **fields)


def fill(catalog: Catalog, table: list[str], column: str = "c", **fields: Any) -> Any:
    """AlterTableBackfillColumns."""
    return catalog.do("alter_table_backfill_columns", table, column=column, **fields)


def pairs(catalog: Catalog, table: list[str], branch: str | None = None) -> dict[object, object]:
    """What is computed for each number, as pylance reads it."""
    dataset = catalog.open(table)
    dataset = dataset.checkout_version((branch, None)) if branch else dataset
    found = dataset.to_table().to_pydict()
    return dict(sorted(zip(found["n"], found["c"], strict=True)))


def test_a_computed_column_is_empty_and_remembers_its_expression(
    catalog: Catalog, table: list[str]
) -> None:
    compute(catalog, table, "n * 2")
    field = catalog.open(table).schema.field("c")
    assert (field.type, field.metadata) == (pa.int64(), {b"lanceyard.computed": b"n * 2"})
    assert pairs(catalog, table) == {1: None, 2: None, 3: None}


@applies(mode="v2", managed=False)
@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("n > 1", pa.bool_()),
        ("CAST(n AS FLOAT) / 2", pa.float32()),
        ("concat('a', CAST(n AS VARCHAR))", pa.string()),
        ("7", pa.int64()),
    ],
)
def test_the_type_is_that_of_the_expression(
    catalog: Catalog, expression: str, kind: pa.DataType
) -> None:
    catalog.create_table(["t"], 1, 2, 3)
    compute(catalog, ["t"], expression)
    assert catalog.open(["t"]).schema.field("c").type == kind
    fill(catalog, ["t"])
    plain = catalog.open(["t"]).to_table(columns={"x": expression, "n": "n"})
    assert [*pairs(catalog, ["t"]).values()] == plain.sort_by("n")["x"].to_pylist()


def test_backfilling_computes_all_rows_in_one_commit(catalog: Catalog, table: list[str]) -> None:
    compute(catalog, table, "n * 2")
    before = catalog.open(table).version
    assert fill(catalog, table).job_id
    assert pairs(catalog, table) == {1: 2, 2: 4, 3: 6}
    assert catalog.open(table).version == before + 1


def test_backfilling_again_computes_what_came_since(catalog: Catalog, three: list[str]) -> None:
    compute(catalog, three, "n * 2")
    fill(catalog, three)
    catalog.insert(three, 4)
    assert pairs(catalog, three)[4] is None
    fill(catalog, three, where="c IS NULL")
    assert pairs(catalog, three) == {1: 2, 2: 4, 3: 6, 4: 8}


def test_backfilling_computes_where_a_predicate_holds(catalog: Catalog, three: list[str]) -> None:
    compute(catalog, three, "n * 2")
    fill(catalog, three, where="n = 2")
    assert pairs(catalog, three) == {1: None, 2: 4, 3: None}


def test_a_renamed_column_is_backfilled(catalog: Catalog, three: list[str]) -> None:
    compute(catalog, three, "n * 2")
    catalog.do("alter_table_alter_columns", three, alterations=[{"path": "c", "rename": "d e"}])
    fill(catalog, three, "`d e`")
    assert sorted(catalog.open(three).to_table()["d e"].to_pylist()) == [2, 4, 6]


def test_a_branch_is_backfilled_by_itself(catalog: Catalog, three: list[str]) -> None:
    compute(catalog, three, "n * 2")
    catalog.do("create_table_branch", three, name="side")
    fill(catalog, three, branch="side")
    assert pairs(catalog, three)[1] is None
    assert pairs(catalog, three, branch="side")[1] == 2


def test_a_column_that_is_not_computed_is_not_backfilled(
    catalog: Catalog, three: list[str]
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        fill(catalog, three, "n")
    assert catalog.rows(three) == [1, 2, 3]


def test_a_column_that_is_not_there_is_not_backfilled(catalog: Catalog, three: list[str]) -> None:
    with refused(ErrorCode.TABLE_COLUMN_NOT_FOUND):
        fill(catalog, three)


def test_a_missing_table_is_not_backfilled(catalog: Catalog) -> None:
    with refused(ErrorCode.TABLE_NOT_FOUND):
        fill(catalog, ["missing"])


@pytest.mark.parametrize(
    ("where", "code"),
    [
        ("missing = 1", ErrorCode.TABLE_COLUMN_NOT_FOUND),
        ("n =", ErrorCode.INVALID_INPUT),
        ("n", ErrorCode.INVALID_INPUT),
    ],
)
def test_a_predicate_that_is_none_is_refused(
    catalog: Catalog, three: list[str], where: str, code: ErrorCode
) -> None:
    compute(catalog, three, "n * 2")
    with refused(code):
        fill(catalog, three, where=where)
    assert pairs(catalog, three)[1] is None


def test_an_expression_over_a_column_that_is_gone_is_refused(catalog: Catalog) -> None:
    data = numbers(1).append_column("m", pa.array([1]))
    catalog.create_table_from(["t"], stream(data))
    compute(catalog, ["t"], "m + 1")
    catalog.do("alter_table_drop_columns", ["t"], columns=["m"])
    with refused(ErrorCode.TABLE_COLUMN_NOT_FOUND):
        fill(catalog, ["t"])


def test_only_the_latest_version_is_computed_from(catalog: Catalog, three: list[str]) -> None:
    compute(catalog, three, "n * 2")
    latest = catalog.open(three).version
    with refused(ErrorCode.INVALID_INPUT):
        fill(catalog, three, read_version=1)
    with refused(ErrorCode.TABLE_VERSION_NOT_FOUND):
        fill(catalog, three, read_version=99)
    fill(catalog, three, read_version=latest)
    assert pairs(catalog, three)[1] == 2
