"""Snapshots: rows indexed in memory; drafts: changes laid over them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanceyard.catalog.base import Page
from lanceyard.catalog.draft import Draft
from lanceyard.catalog.snapshot import (
    NAMESPACE,
    TABLE,
    Edit,
    Row,
    Snapshot,
    encode_properties,
)

ALL = Page()


def namespace(object_id: str) -> Row:
    return Row(object_id, NAMESPACE)


def table(object_id: str, location: str | None = None) -> Row:
    return Row(object_id, TABLE, location or object_id.replace("$", "-"))


def shop() -> Snapshot:
    rows = [table("shop$b"), namespace("shop"), table("shop$a"), namespace("shop$sub")]
    return Snapshot([*rows, table("shop$sub$c"), table("z"), table("lost$d"), table("lost$sub$e")])


def test_names_below_a_namespace_are_sorted_and_apart_by_kind() -> None:
    assert shop().children("shop", TABLE, ALL) == ["a", "b"]
    assert shop().children("shop", NAMESPACE, ALL) == ["sub"]


def test_all_tables_are_sorted_by_object_id() -> None:
    assert shop().all_tables(ALL) == ["shop$a", "shop$b", "shop$sub$c", "z"]


def test_a_namespace_that_is_not_there_has_no_children() -> None:
    assert shop().children("missing", TABLE, ALL) == []


@pytest.mark.parametrize("hidden", ["lost$d", "lost$sub$e"])
def test_a_row_without_its_parent_is_kept_and_hidden(hidden: str) -> None:
    state = shop()
    assert (state.row(hidden), state.raw(hidden) is None) == (None, False)
    assert hidden not in state.all_tables(ALL)


def test_a_hidden_row_shows_when_its_parent_comes() -> None:
    state = shop()
    state.apply(Edit({}, {"lost": namespace("lost")}, {}))
    assert state.row("lost$d") == table("lost$d")
    assert "lost$d" in state.all_tables(ALL)


def test_a_row_below_a_table_is_hidden() -> None:
    assert Snapshot([table("a"), table("a$b")]).row("a$b") is None


def test_of_rows_with_one_object_id_the_first_counts() -> None:
    state = Snapshot([table("a", "first"), table("a", "second")])
    assert (state.row("a"), state.all_tables(ALL)) == (table("a", "first"), ["a"])


def test_the_root_always_exists() -> None:
    assert Snapshot().has_namespace("")


def test_descendants_are_all_rows_below_however_deep() -> None:
    below = {row.object_id for row in shop().descendants("shop")}
    assert below == {"shop$a", "shop$b", "shop$sub", "shop$sub$c"}


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        (Page(limit=2), ["a", "b"]),
        (Page(after="b", limit=2), ["c", "d"]),
        (Page(after="bb"), ["c", "d"]),
        (Page(after="d"), []),
        (Page(after="", limit=9), ["a", "b", "c", "d"]),
    ],
    ids=repr,
)
def test_a_page_starts_after_a_name_that_need_not_exist(page: Page, expected: list[str]) -> None:
    state = Snapshot([table(name) for name in "dbca"])
    assert state.children("", TABLE, page) == expected
    assert state.all_tables(page) == expected


def test_a_page_of_all_tables_is_full_though_some_are_hidden() -> None:
    state = Snapshot([table("a$hidden"), table("b"), table("c"), table("d")])
    assert state.all_tables(Page(limit=2)) == ["b", "c"]


@pytest.mark.parametrize("path", ["x/y", "x/y/z", "x", "w"])
def test_a_location_at_above_or_below_a_path_occupies_it(path: str) -> None:
    assert Snapshot([table("a", "x/y"), table("b$hidden", "w")]).is_occupied(path)


@pytest.mark.parametrize("path", ["x/yy", "y", "xx", "x/z"])
def test_a_location_that_begins_alike_occupies_nothing(path: str) -> None:
    assert not Snapshot([table("a", "x/y")]).is_occupied(path)


def test_a_place_is_free_once_all_its_rows_are_gone() -> None:
    state = Snapshot([table("a", "x/y"), table("b", "x/y")])
    for name in ("a", "b"):
        assert state.is_occupied("x")
        state.apply(Edit({name: table(name, "x/y")}, {}, {}))
    assert not state.is_occupied("x")


def test_metadata_of_other_writers_reads_as_properties() -> None:
    row = Row("a", TABLE, None, '{"text": "x", "number": 1, "list": [true]}')
    assert row.properties == {"text": "x", "number": "1", "list": "[true]"}


@pytest.mark.parametrize("metadata", [None, "", "not json", "[]", "1"])
def test_metadata_that_is_no_object_means_no_properties(metadata: str | None) -> None:
    assert Row("a", TABLE, None, metadata).properties == {}


@given(st.dictionaries(st.text(), st.text()))
def test_properties_read_back(properties: dict[str, str]) -> None:
    assert Row("a", TABLE, None, encode_properties(properties)).properties == properties


@given(st.lists(st.tuples(st.booleans(), st.sampled_from(["a", "a$b", "a$b$c", "d", "d$e"]))))
def test_a_snapshot_that_moved_on_equals_one_built_anew(changes: list[tuple[bool, str]]) -> None:
    state, rows = Snapshot(), dict[str, Row]()
    state.all_tables(ALL)
    state.is_occupied("a")
    for adding, object_id in changes:
        row = table(object_id) if object_id[-1] in "ce" else namespace(object_id)
        old = {object_id: rows.pop(object_id)} if object_id in rows else {}
        state.apply(Edit(old, {object_id: row} if adding else {}, {}))
        rows |= {object_id: row} if adding else {}
    fresh = Snapshot(rows.values())
    assert state.all_tables(ALL) == fresh.all_tables(ALL)
    for parent in ("", "a", "a$b", "d"):
        for kind in (TABLE, NAMESPACE):
            assert state.children(parent, kind, ALL) == fresh.children(parent, kind, ALL)
    assert state.is_occupied("a-b-c") == fresh.is_occupied("a-b-c")


def test_a_draft_shows_its_edits_and_the_snapshot_does_not() -> None:
    state = shop()
    draft = Draft(state)
    draft.add(table("new"))
    draft.remove(table("z"))
    assert (draft.row("new"), draft.row("z")) == (table("new"), None)
    assert (state.row("new"), state.row("z")) == (None, table("z"))


def test_a_row_added_and_removed_again_leaves_no_edit() -> None:
    draft = Draft(Snapshot())
    draft.add(table("a"))
    draft.remove(table("a"))
    assert draft.edit == Edit({}, {}, {})


def test_a_row_removed_and_added_again_is_in_both() -> None:
    draft = Draft(shop())
    draft.remove(table("z"))
    draft.add(table("z", "elsewhere"))
    assert draft.edit == Edit({"z": table("z")}, {"z": table("z", "elsewhere")}, {})


def test_a_replaced_row_knows_where_it_comes_from() -> None:
    draft = Draft(shop())
    draft.replace(table("z"), table("y", "z"))
    draft.replace(table("y", "z"), table("x", "z"))
    assert draft.edit == Edit({"z": table("z")}, {"x": table("x", "z")}, {"x": "z"})


def test_a_row_that_is_new_comes_from_nowhere_even_when_replaced() -> None:
    draft = Draft(Snapshot())
    draft.add(table("a"))
    draft.replace(table("a"), table("b"))
    assert draft.edit == Edit({}, {"b": table("b")}, {})


def test_a_row_added_over_a_hidden_one_replaces_it() -> None:
    draft = Draft(shop())
    draft.add(namespace("lost"))
    draft.add(table("lost$d", "new"))
    assert draft.edit.removed == {"lost$d": table("lost$d")}


def test_descendants_in_a_draft_count_its_edits() -> None:
    draft = Draft(shop())
    draft.remove(table("shop$a"))
    draft.add(table("shop$new"))
    below = {row.object_id for row in draft.descendants("shop")}
    assert below == {"shop$b", "shop$new", "shop$sub", "shop$sub$c"}


def test_a_draft_tells_of_hidden_tables_too() -> None:
    draft = Draft(shop())
    draft.remove(table("z"))
    draft.add(table("new"))
    assert {row.object_id for row in draft.tables()} == {
        "shop$a",
        "shop$b",
        "shop$sub$c",
        "lost$d",
        "lost$sub$e",
        "new",
    }
