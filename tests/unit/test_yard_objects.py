"""What a yard says of its objects, and does to their names, properties and references."""

from __future__ import annotations

from pathlib import Path

import pytest

import lanceyard
from lanceyard import errors


@pytest.fixture
def yard(tmp_path: Path) -> lanceyard.Yard:
    yard = lanceyard.open(tmp_path)
    yard.create_namespace("shop")
    yard.create_table("shop.fruits", {"n": [1, 2]})
    return yard


def test_a_name_is_found_to_be_a_table_or_a_namespace(yard: lanceyard.Yard) -> None:
    kinds = [yard.find(name).kind for name in ("", "shop", "shop.fruits")]
    assert kinds == ["namespace", "namespace", "table"]


@pytest.mark.parametrize("name", ["nope", "shop.nope", "nope.nope"])
def test_a_name_that_means_nothing_is_not_found(yard: lanceyard.Yard, name: str) -> None:
    with pytest.raises(errors.TableNotFoundError, match="neither a table nor a namespace"):
        yard.find(name)


def test_a_walk_comes_to_what_is_in_a_namespace_right_after_it(yard: lanceyard.Yard) -> None:
    yard.create_namespace("zoo").create_table("a", {"n": [1]})
    assert [found.name for found in yard.walk()] == ["a", "shop", "shop.fruits", "zoo"]
    assert [found.name for found in yard.walk("shop")] == ["shop.fruits"]


def test_a_table_is_declared_and_filled(yard: lanceyard.Yard) -> None:
    table = yard.declare("shop.later", properties={"owner": "ann"})
    assert table.properties == {"owner": "ann"}
    assert table.append({"n": [1]}).count() == 1


def test_a_table_that_was_deregistered_is_registered_again(yard: lanceyard.Yard) -> None:
    location = Path(yard.deregister("shop.fruits")).name
    assert yard.tables("shop") == []
    assert yard.register("shop.back", location).count() == 2


def test_registering_takes_a_name_from_another_only_if_told(yard: lanceyard.Yard) -> None:
    location = Path(yard.deregister("shop.fruits")).name
    yard.create_table("shop.fruits", {"n": [9]})
    with pytest.raises(errors.TableAlreadyExistsError):
        yard.register("shop.fruits", location)
    assert yard.register("shop.fruits", location, overwrite=True).count() == 2


@pytest.mark.parametrize("name", ["shop", "shop.fruits"])
def test_properties_are_put_and_taken_away(yard: lanceyard.Yard, name: str) -> None:
    held = yard.table(name) if yard.find(name).is_table else yard.space(name)
    held.set_properties({"a": "1", "b": "2"}).unset_properties("a")
    assert held.properties == {"b": "2"}


def test_a_branch_begins_and_ends(yard: lanceyard.Yard) -> None:
    table = yard.table("shop.fruits").append({"n": [3]}).branch("trial", 1)
    assert table.branches() == {"trial": 1}
    assert table.drop_branch("trial").branches() == {}


def test_two_versions_of_a_table_are_compared(yard: lanceyard.Yard) -> None:
    table = yard.table("shop.fruits").tag("before").append({"n": [3]})
    table.add_columns({"m": "n * 2"}).drop_columns("n")
    found = table.diff("before")
    assert (found.rows_before, found.rows_after) == (2, 3)
    assert (found.columns_added, found.columns_dropped) == (("m",), ("n",))
    assert table.diff(1, 2).files_added == 1
    assert "rows       2 -> 3 (+1)" in str(table.diff(1, 2))


def test_a_column_of_another_type_is_told(yard: lanceyard.Yard) -> None:
    table = yard.table("shop.fruits").overwrite({"n": ["one"]})
    (retyped,) = table.diff(1).columns_retyped
    assert retyped == ("n", "int64", "string")
    assert "retyped    column n: int64 -> string" in str(table.diff(1))


def test_a_condition_that_cannot_be_read_is_refused(yard: lanceyard.Yard) -> None:
    table = yard.table("shop.fruits")
    with pytest.raises(errors.InvalidInputError):
        table.read(where="n >")
    with pytest.raises(errors.TableColumnNotFoundError):
        table.stream(["nope"])


def test_rows_come_batch_by_batch(yard: lanceyard.Yard) -> None:
    stream = yard.table("shop.fruits").stream(where="n > 1")
    assert stream.read_all().to_pylist() == [{"n": 2}]
