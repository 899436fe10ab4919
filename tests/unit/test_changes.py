"""Changes: the rules by which writers are checked, one by one."""

from __future__ import annotations

import pytest

from lanceyard import errors
from lanceyard.catalog.changes import (
    CHANGES,
    AdoptTables,
    AlterProperties,
    Change,
    CreateNamespace,
    DiscardRow,
    DropNamespace,
    MoveTable,
    PutTable,
    RemoveTable,
    RestoreParents,
    RewriteRow,
    from_json,
    refuse_overlap,
)
from lanceyard.catalog.snapshot import NAMESPACE, TABLE, Draft, Edit, Row, Snapshot
from lanceyard.identifier import Identifier

PROTECTED = '{"protected": "true"}'
ROWS = {
    row.object_id: row
    for row in (
        Row("ns", NAMESPACE, None, '{"k": "v"}'),
        Row("ns$t", TABLE, "x/t", '{"k": "v"}'),
        Row("empty", NAMESPACE),
        Row("t", TABLE, "t.lance"),
        Row("locked", NAMESPACE),
        Row("locked$t", TABLE, "x/locked", PROTECTED),
        Row("strict", NAMESPACE, None, PROTECTED),
    )
}


@pytest.fixture
def draft() -> Draft:
    return Draft(Snapshot(ROWS.values()))


EXAMPLES: list[Change] = [
    CreateNamespace("new", {"é": "ü"}, replace=True),
    DropNamespace("ns", cascade=True),
    PutTable("a$b", "x/y", {"k": "v"}, replace=True, chosen=True),
    RemoveTable("t", "t.lance", keep=True),
    MoveTable("t", "ns$t2", "t.lance", "hash_t"),
    AlterProperties("ns", NAMESPACE, {"k": "w"}, ("gone",)),
    AdoptTables("", (("a$b", "a_b", {"k": "v"}), ("c", "c.lance", {}))),
    RestoreParents("lost$t"),
    DiscardRow("t", "t.lance"),
    RewriteRow("t", "t.lance", "hash_t"),
]


def test_every_change_has_an_example() -> None:
    assert {type(change).__name__ for change in EXAMPLES} == CHANGES.keys()


@pytest.mark.parametrize("change", EXAMPLES, ids=lambda change: type(change).__name__)
def test_a_change_reads_back_from_json(change: Change) -> None:
    assert from_json(change.to_json()) == change


REFUSED: list[tuple[Change, type[Exception]]] = [
    (RestoreParents("t$a$b"), errors.NamespaceAlreadyExistsError),
    (DiscardRow("missing", "x"), errors.ConcurrentModificationError),
    (DiscardRow("t", "elsewhere"), errors.ConcurrentModificationError),
    (RewriteRow("t", "elsewhere"), errors.ConcurrentModificationError),
    (CreateNamespace("ns"), errors.NamespaceAlreadyExistsError),
    (CreateNamespace("t"), errors.NamespaceAlreadyExistsError),
    (CreateNamespace("t", replace=True), errors.NamespaceAlreadyExistsError),
    (CreateNamespace("missing$a"), errors.NamespaceNotFoundError),
    (CreateNamespace("t$a"), errors.NamespaceNotFoundError),
    (CreateNamespace("locked", replace=True), errors.InvalidTableStateError),
    (CreateNamespace("strict", replace=True), errors.InvalidTableStateError),
    (DropNamespace("missing"), errors.NamespaceNotFoundError),
    (DropNamespace("t"), errors.NamespaceNotFoundError),
    (DropNamespace("ns"), errors.NamespaceNotEmptyError),
    (DropNamespace("locked", cascade=True), errors.InvalidTableStateError),
    (DropNamespace("strict"), errors.InvalidTableStateError),
    (PutTable("t", "x/new"), errors.TableAlreadyExistsError),
    (PutTable("ns", "x/new"), errors.TableAlreadyExistsError),
    (PutTable("ns", "x/new", replace=True), errors.TableAlreadyExistsError),
    (PutTable("missing$t", "x/new"), errors.NamespaceNotFoundError),
    (PutTable("locked$t", "x/new", replace=True), errors.InvalidTableStateError),
    (PutTable("new", "x/t", chosen=True), errors.InvalidInputError),
    (PutTable("new", "x", chosen=True), errors.InvalidInputError),
    (PutTable("new", "x/t/y", chosen=True), errors.InvalidInputError),
    (RemoveTable("missing"), errors.TableNotFoundError),
    (RemoveTable("ns"), errors.TableNotFoundError),
    (RemoveTable("missing$t"), errors.NamespaceNotFoundError),
    (RemoveTable("t", "moved.lance"), errors.ConcurrentModificationError),
    (RemoveTable("locked$t"), errors.InvalidTableStateError),
    (MoveTable("missing", "new"), errors.TableNotFoundError),
    (MoveTable("missing$t", "new"), errors.NamespaceNotFoundError),
    (MoveTable("t", "missing$t"), errors.NamespaceNotFoundError),
    (MoveTable("t", "t"), errors.TableAlreadyExistsError),
    (MoveTable("t", "ns"), errors.TableAlreadyExistsError),
    (MoveTable("t", "new", "moved.lance"), errors.ConcurrentModificationError),
    (AlterProperties("missing"), errors.TableNotFoundError),
    (AlterProperties("ns"), errors.TableNotFoundError),
    (AlterProperties("t", NAMESPACE), errors.NamespaceNotFoundError),
    (AlterProperties("missing", NAMESPACE), errors.NamespaceNotFoundError),
]


@pytest.mark.parametrize(("change", "error"), REFUSED, ids=repr)
def test_a_refused_change_says_why_and_leaves_the_draft_as_it_was(
    draft: Draft, change: Change, error: type[Exception]
) -> None:
    with pytest.raises(error):
        change.apply(draft)
    assert draft.edit == Edit({}, {}, {})


def test_a_created_namespace_has_its_properties(draft: Draft) -> None:
    CreateNamespace("ns$sub", {"k": "ü"}).apply(draft)
    assert draft.row("ns$sub") == Row("ns$sub", NAMESPACE, None, '{"k": "ü"}')


def test_a_replaced_namespace_loses_what_was_below(draft: Draft) -> None:
    outcome = CreateNamespace("ns", {"new": "1"}, replace=True).apply(draft)
    assert outcome.gone == (ROWS["ns$t"],)
    assert draft.row("ns$t") is None
    assert draft.row("ns") == Row("ns", NAMESPACE, None, '{"new": "1"}')


def test_dropping_with_cascade_tells_which_tables_are_gone(draft: Draft) -> None:
    outcome = DropNamespace("ns", cascade=True).apply(draft)
    assert outcome == (ROWS["ns"], (ROWS["ns$t"],))
    assert draft.edit.removed.keys() == {"ns", "ns$t"}


def test_an_empty_namespace_is_dropped(draft: Draft) -> None:
    assert DropNamespace("empty").apply(draft) == (ROWS["empty"], ())


def test_a_new_table_has_no_predecessor(draft: Draft) -> None:
    outcome = PutTable("empty$t", "x/new", {"k": "v"}).apply(draft)
    assert outcome == (Row("empty$t", TABLE, "x/new", '{"k": "v"}'), ())


def test_a_replaced_table_is_told_of(draft: Draft) -> None:
    assert PutTable("t", "x/new", replace=True).apply(draft).gone == (ROWS["t"],)


def test_a_table_may_keep_its_own_location(draft: Draft) -> None:
    PutTable("t", "t.lance", replace=True, chosen=True).apply(draft)
    assert draft.row("t") == ROWS["t"]


def test_a_protected_table_may_be_deregistered(draft: Draft) -> None:
    assert RemoveTable("locked$t", keep=True).apply(draft).row == ROWS["locked$t"]


def test_a_moved_table_keeps_its_properties_and_its_location(draft: Draft) -> None:
    moved = MoveTable("ns$t", "t2").apply(draft).row
    assert moved == Row("t2", TABLE, "x/t", '{"k": "v"}')
    assert draft.edit.origin == {"t2": "ns$t"}


def test_a_moved_table_takes_a_new_location_where_one_is_given(draft: Draft) -> None:
    moved = MoveTable("t", "ns$t2", "t.lance", "hash_t").apply(draft).row
    assert moved == Row("ns$t2", TABLE, "hash_t")


def test_properties_are_put_and_unset(draft: Draft) -> None:
    row = AlterProperties("ns", NAMESPACE, {"new": "1"}, ("k",)).apply(draft).row
    assert row == Row("ns", NAMESPACE, None, '{"new": "1"}')


def test_a_property_put_and_unset_at_once_is_unset(draft: Draft) -> None:
    row = AlterProperties("ns$t", TABLE, {"k": "1"}, ("k",)).apply(draft).row
    assert row is not None
    assert row.properties == {}


def test_changes_in_a_row_see_each_other(draft: Draft) -> None:
    CreateNamespace("new").apply(draft)
    PutTable("new$t", "x/new").apply(draft)
    with pytest.raises(errors.TableAlreadyExistsError):
        PutTable("new$t", "x/other").apply(draft)
    assert DropNamespace("new", cascade=True).apply(draft).gone == (Row("new$t", TABLE, "x/new"),)
    assert draft.edit == Edit({}, {}, {})


def test_locations_that_begin_alike_do_not_overlap() -> None:
    refuse_overlap("x/tt", "x/t", Identifier(("t",)))


def test_tables_are_adopted_where_nothing_is_in_the_way(draft: Draft) -> None:
    tables = (
        ("new$a", "new_a", {"k": "v"}),
        ("t", "elsewhere", {}),
        ("other", "t.lance", {}),
        ("inside", "x/t", {}),
        ("t$below", "below", {}),
    )
    AdoptTables("", tables).apply(draft)
    assert draft.edit.added.keys() == {"new", "new$a"}
    assert draft.row("new$a") == Row("new$a", TABLE, "new_a", '{"k": "v"}')


def test_missing_namespaces_are_restored() -> None:
    draft = Draft(Snapshot([Row("a$b$t", TABLE, "x")]))
    assert draft.row("a$b$t") is None
    assert RestoreParents("a$b$t").apply(draft).row == Row("a$b$t", TABLE, "x")
    assert draft.edit.added.keys() == {"a", "a$b"}


def test_a_hidden_row_can_be_discarded_and_rewritten() -> None:
    hidden = Row("a$t", TABLE, "x")
    draft = Draft(Snapshot([hidden]))
    assert RewriteRow("a$t", "x", "y").apply(draft).row == hidden._replace(location="y")
    assert DiscardRow("a$t", "y").apply(draft).row == hidden._replace(location="y")
    assert draft.raw("a$t") is None
