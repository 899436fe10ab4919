"""The yard: names and data as people have them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import lanceyard
from lanceyard import errors
from lanceyard.identifier import Identifier
from lanceyard.yard.names import read_name, write_name

COLUMNS = {"n": [1, 2], "s": ["a", "b"]}
TABLE = pa.table(COLUMNS)
ROWS = [{"n": 1, "s": "a"}, {"n": 2, "s": "b"}]

KINDS: dict[str, Callable[[], Any]] = {
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": TABLE.to_reader,
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "dict of columns": lambda: COLUMNS,
    "list of rows": lambda: ROWS,
    "generator of rows": lambda: (row for row in ROWS),
    "list of batches": lambda: [batch for i in (0, 1) for batch in TABLE.slice(i, 1).to_batches()],
    "generator of batches": lambda: (batch for batch in TABLE.to_batches()),
    "generator of tables": lambda: (TABLE.slice(i, 1) for i in (0, 1)),
    "generator of readers": lambda: (TABLE.slice(i, 1).to_reader() for i in (0, 1)),
}


@pytest.fixture
def yard() -> lanceyard.Yard:
    return lanceyard.open({"impl": "memory"})


@pytest.mark.parametrize("kind", KINDS)
def test_data_of_every_kind_becomes_a_table(yard: lanceyard.Yard, kind: str) -> None:
    assert yard.create_table("t", KINDS[kind]()).read().to_pylist() == ROWS


@pytest.mark.parametrize("kind", KINDS)
def test_data_of_every_kind_can_be_appended(yard: lanceyard.Yard, kind: str) -> None:
    table = yard.create_table("t", TABLE)
    assert table.append(KINDS[kind]()).read().to_pylist() == ROWS + ROWS


def test_a_schema_alone_makes_an_empty_table(yard: lanceyard.Yard) -> None:
    table = yard.create_table("t", TABLE.schema)
    assert (table.count(), table.schema) == (0, TABLE.schema)


def test_no_rows_with_a_schema_make_an_empty_table(yard: lanceyard.Yard) -> None:
    assert yard.create_table("t", [], schema=TABLE.schema).schema == TABLE.schema


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_decides_the_types(yard: lanceyard.Yard, kind: str) -> None:
    schema = pa.schema([("n", pa.int8()), ("s", pa.large_string())])
    assert yard.create_table("t", KINDS[kind](), schema=schema).schema == schema


@pytest.mark.parametrize("data", [[], 7, "text", b"bytes", None, [1, 2]], ids=repr)
def test_what_is_no_data_is_refused_by_its_kind(yard: lanceyard.Yard, data: Any) -> None:
    with pytest.raises(errors.InvalidInputError, match=f"cannot read {type(data).__name__}"):
        yard.create_table("t", data)
    assert yard.tables() == []


def test_data_that_does_not_fit_the_schema_is_refused(yard: lanceyard.Yard) -> None:
    with pytest.raises(errors.InvalidInputError):
        yard.create_table("t", {"n": ["text"]}, schema=pa.schema([("n", pa.int8())]))
    assert yard.tables() == []


def test_columns_of_different_lengths_are_refused(yard: lanceyard.Yard) -> None:
    with pytest.raises(errors.InvalidInputError):
        yard.create_table("t", {"a": [1], "b": [1, 2]})


def test_an_iterable_is_not_held_in_memory(yard: lanceyard.Yard) -> None:
    batch = pa.record_batch({"n": pa.array(range(10_000))})
    before = pa.total_allocated_bytes()
    peak = []

    def batches() -> Any:
        for _ in range(100):
            peak.append(pa.total_allocated_bytes() - before)
            yield pa.record_batch({"n": pa.array(range(10_000))})

    assert yard.create_table("t", batches()).count() == 1_000_000
    assert max(peak) < 50 * batch.nbytes


def test_overwriting_replaces_rows_and_schema_and_keeps_earlier_versions(
    yard: lanceyard.Yard,
) -> None:
    table = yard.create_table("t", TABLE)
    table.overwrite({"other": [1.5]})
    assert table.read().to_pydict() == {"other": [1.5]}
    assert table.to_lance().checkout_version(1).count_rows() == 2


def test_columns_and_rows_can_be_chosen(yard: lanceyard.Yard) -> None:
    table = yard.create_table("t", TABLE)
    assert table.read(["s"], where="n > 1").to_pydict() == {"s": ["b"]}
    assert table.count("n > 1") == 1


def test_the_head_is_the_first_rows(yard: lanceyard.Yard) -> None:
    table = yard.create_table("t", {"n": range(20)})
    assert table.head(3)["n"].to_pylist() == [0, 1, 2]
    assert table.head().num_rows == 10


def test_data_that_does_not_fit_cannot_be_appended(yard: lanceyard.Yard) -> None:
    table = yard.create_table("t", TABLE)
    with pytest.raises(errors.InvalidInputError, match="cannot append to table 't'"):
        table.append({"other": [1]})
    assert table.count() == 2


def test_a_declared_table_is_filled_by_its_first_append(yard: lanceyard.Yard) -> None:
    yard.namespace.declare_table({"id": ["t"]})  # type: ignore[arg-type]
    table = yard.table("t")
    with pytest.raises(errors.InvalidTableStateError, match="no data yet"):
        table.read()
    assert table.append(TABLE).read() == TABLE


def test_a_table_follows_what_others_do(tmp_path: Path) -> None:
    mine = lanceyard.open(tmp_path, durability="os").create_table("t", TABLE)
    with lanceyard.open(tmp_path, durability="os") as other:
        other.table("t").append(TABLE)
    assert mine.count() == 4


def test_a_table_says_where_it_is_and_what_it_carries(yard: lanceyard.Yard) -> None:
    yard.create_namespace("ns")
    table = yard.create_table("ns.t", TABLE, properties={"k": "v"})
    assert (table.name, table.properties, table.version >= 1) == ("ns.t", {"k": "v"}, True)
    assert Path(table.location).is_dir()
    assert repr(table) == "<Table ns.t>"


def test_what_happens_to_an_existing_table_is_the_mode(yard: lanceyard.Yard) -> None:
    yard.create_table("t", {"n": [1]})
    with pytest.raises(errors.TableAlreadyExistsError):
        yard.create_table("t", {"n": [2]})
    assert yard.create_table("t", {"n": [2]}, mode="exist_ok").read().to_pydict() == {"n": [1]}
    assert yard.create_table("t", {"n": [2]}, mode="overwrite").read().to_pydict() == {"n": [2]}


def test_the_tree_is_drawn_sorted_with_branches() -> None:
    yard = lanceyard.open({"impl": "memory"})
    yard.create_namespace("b").create_namespace("b.sub").create_namespace("a")
    for name in ("b.t", "b.sub.u", "c"):
        yard.create_table(name, TABLE)
    expected = [".", "├── a", "├── b", "│   ├── sub", "│   │   └── u", "│   └── t", "└── c"]
    assert yard.tree() == "\n".join(expected)
    assert yard.tree("b.sub") == "b.sub\n└── u"


def test_lists_go_beyond_one_page(yard: lanceyard.Yard) -> None:
    for i in range(1_001):
        yard.namespace.declare_table({"id": [f"t{i:04d}"]})  # type: ignore[arg-type]
    assert len(yard.tables()) == 1_001


def test_a_name_of_one_part_renames_in_place(yard: lanceyard.Yard) -> None:
    yard.create_namespace("ns")
    yard.create_table("ns.t", TABLE)
    assert yard.rename("ns.t", "u").name == "ns.u"
    assert yard.tables("ns") == ["u"]


def test_a_name_of_several_parts_renames_into_another_namespace(yard: lanceyard.Yard) -> None:
    yard.create_namespace("a").create_namespace("b")
    yard.create_table("a.t", TABLE)
    assert yard.rename("a.t", "b.u").read() == TABLE
    assert (yard.tables("a"), yard.tables("b")) == ([], ["u"])


def test_dropping_takes_tables_and_empty_namespaces(yard: lanceyard.Yard) -> None:
    yard.create_namespace("ns")
    yard.create_table("ns.t", TABLE)
    yard.drop("ns.t")
    yard.drop("ns")
    assert yard.tree() == "."


def test_a_namespace_that_is_not_empty_is_dropped_with_cascade_only(yard: lanceyard.Yard) -> None:
    yard.create_namespace("ns")
    yard.create_table("ns.t", TABLE)
    with pytest.raises(errors.NamespaceNotEmptyError, match="cascade"):
        yard.drop("ns")
    yard.drop("ns", cascade=True)
    assert yard.namespaces() == []


@pytest.mark.parametrize("mode", [{}, {"manifest_enabled": "false"}], ids=["compat", "v1"])
def test_dropping_what_is_not_there_names_it(tmp_path: Path, mode: dict[str, str]) -> None:
    with pytest.raises(errors.TableNotFoundError, match="table 'missing'"):
        lanceyard.open(tmp_path, **mode).drop("missing")


def test_opening_a_table_that_is_not_there_names_it(yard: lanceyard.Yard) -> None:
    with pytest.raises(errors.TableNotFoundError, match="table 'missing'"):
        yard.table("missing")


def test_a_table_in_a_namespace_that_is_not_there_names_the_namespace(
    yard: lanceyard.Yard,
) -> None:
    with pytest.raises(errors.NamespaceNotFoundError, match=r"namespace 'a\$b'"):
        yard.create_table("a.b.t", TABLE)


def test_creating_a_namespace_again_can_be_allowed(yard: lanceyard.Yard) -> None:
    yard.create_namespace("ns", {"k": "v"})
    assert yard.create_namespace("ns", exist_ok=True).namespaces() == ["ns"]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("", ()),
        ("t", ("t",)),
        ("a.b.t", ("a", "b", "t")),
        ("a$b$t", ("a", "b", "t")),
        ("a$v1.0", ("a", "v1.0")),
        (["a", "v1.0"], ("a", "v1.0")),
        (["v1.0"], ("v1.0",)),
        ([], ()),
    ],
    ids=repr,
)
def test_names_are_read_as_people_write_them(written: Any, meant: tuple[str, ...]) -> None:
    assert read_name(written) == meant


@pytest.mark.parametrize("written", ["a..b", ".a", "a.", "a$", "a/b", ["a$b"]], ids=repr)
def test_names_that_no_object_can_have_are_refused(written: Any) -> None:
    with pytest.raises(errors.InvalidInputError):
        read_name(written)


@pytest.mark.parametrize("names", [("a", "b"), ("a", "v1.0"), ("t",), ()], ids=repr)
def test_a_written_name_reads_back(names: tuple[str, ...]) -> None:
    assert read_name(write_name(Identifier(names))) == names


def test_a_path_object_opens_a_directory(tmp_path: Path) -> None:
    with lanceyard.open(tmp_path / "new", durability="os") as yard:
        yard.create_table("t", TABLE)
    assert (tmp_path / "new").is_dir()
    assert str(tmp_path / "new") in repr(yard)


def test_a_misspelt_property_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidInputError, match="did you mean 'durability'"):
        lanceyard.open(tmp_path, durabilty="os")


def test_an_unknown_implementation_is_refused_with_those_there_are() -> None:
    with pytest.raises(errors.InvalidInputError, match="valid are dir, hive, memory, rest"):
        lanceyard.open({"impl": "nonsense"})


def test_a_table_of_blobs_is_created_with_properties(yard: lanceyard.Yard) -> None:
    blob = pa.field("image", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([pa.field("n", pa.int64()), blob, pa.field("text", pa.string())])
    rows = pa.table({"n": [1], "image": [b"png"], "text": ["a"]}, schema=schema)
    table = yard.create_table("images", rows, properties={"k": "v"})
    found = table.to_lance().scanner(blob_handling="all_binary").to_table()
    assert found.to_pylist() == [{"n": 1, "image": b"png", "text": "a"}]
    assert table.properties == {"k": "v"}
