"""Changes: the rules by which writers are checked, one by one."""

from __future__ import annotations

import pytest

from lanceyard import errors
from lanceyard.catalog.changes import (
    CHANGES,
    AddVersion,
    AdoptTables,
    AdoptVersions,
    AlterProperties,
    Change,
    CreateNamespace,
    DiscardRow,
    DropNamespace,
    MoveTable,
    Outcome,
    PublishVersions,
    PutTable,
    RemoveTable,
    RemoveVersions,
    RequireLatest,
    RestoreParents,
    RewriteRow,
    Together,
    from_json,
    refuse_overlap,
)
from lanceyard.catalog.draft import Draft
from lanceyard.catalog.ranges import Ranges
from lanceyard.catalog.snapshot import NAMESPACE, TABLE, TABLE_VERSION, Edit, Row, Snapshot
from lanceyard.identifier import Identifier

PROTECTED = '{"protected": "true"}'
ROWS = {
    row.object_id: row
    for row in (
        Row("ns", NAMESPACE, None, '{"k": "v"}'),
        Row("ns$t", TABLE, "x/t", '{"k": "v"}'),
        Row("empty", NAMESPACE),
        Row("t", TABLE, "t.lance"),
        *(Row(f"t${number}", TABLE_VERSION, None, "{}") for number in (1, 2, 3)),
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
    AddVersion("t", "t.lance", 4, "{}"),
    AdoptVersions("t", "t.lance", ((3, "{}"), (5, "{}"))),
    PublishVersions("t", "t.lance", ((3, "{}"),)),
    RemoveVersions("t", ((1, 3),), must_exist=True),
    RequireLatest("t", 3),
    Together("", (RemoveTable("t", "t.lance"), AddVersion("ns$t", "x/t", 1, "{}"))),
]


def test_every_change_has_an_example() -> None:
    assert {type(change).__name__ for change in EXAMPLES} == CHANGES.keys()


@pytest.mark.parametrize("change", EXAMPLES, ids=lambda change: type(change).__name__)
def test_a_change_reads_back_from_json(change: Change) -> None:
    assert from_json(change.to_json()) == change


REFUSED: list[tuple[Change, type[Exception]]] = [
    (AddVersion("missing", "x", 1), errors.TableNotFoundError),
    (AddVersion("t", "elsewhere", 4), errors.ConcurrentModificationError),
    (AddVersion("t", "t.lance", 3), errors.TableVersionAlreadyExistsError),
    (AddVersion("t", "t.lance", 5), errors.ConcurrentModificationError),
    (AdoptVersions("missing", "x", ((1, "{}"),)), errors.TableNotFoundError),
    (RemoveVersions("missing", ((1, 2),)), errors.TableNotFoundError),
    (RemoveVersions("t", ((3, 5),), must_exist=True), errors.TableVersionNotFoundError),
    (RequireLatest("t", 2), errors.ConcurrentModificationError),
    (RequireLatest("missing", 1), errors.TableNotFoundError),
    (Together("", (RemoveTable("t"), RequireLatest("t", 3))), errors.TableNotFoundError),
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
    assert outcome == Outcome(ROWS["ns"], (ROWS["ns$t"],))
    assert draft.edit.removed.keys() == {"ns", "ns$t"}


def test_an_empty_namespace_is_dropped(draft: Draft) -> None:
    assert DropNamespace("empty").apply(draft) == Outcome(ROWS["empty"])


def test_a_new_table_has_no_predecessor(draft: Draft) -> None:
    outcome = PutTable("empty$t", "x/new", {"k": "v"}).apply(draft)
    assert outcome == Outcome(Row("empty$t", TABLE, "x/new", '{"k": "v"}'))


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


def test_a_version_follows_the_latest(draft: Draft) -> None:
    AddVersion("t", "t.lance", 4, "{}").apply(draft)
    assert draft.versions("t") == Ranges([(1, 5)])
    with pytest.raises(errors.TableVersionAlreadyExistsError):
        AddVersion("t", "t.lance", 4, "{}").apply(draft)


def test_the_first_version_of_a_table_may_have_any_number(draft: Draft) -> None:
    AddVersion("ns$t", "x/t", 7, "{}").apply(draft)
    assert draft.versions("ns$t") == Ranges([(7, 8)])


def test_removed_versions_are_counted(draft: Draft) -> None:
    assert RemoveVersions("t", ((1, 3), (9, 20))).apply(draft).deleted == 2
    assert draft.versions("t") == Ranges([(3, 4)])


def test_only_newer_versions_are_adopted(draft: Draft) -> None:
    AdoptVersions("t", "t.lance", ((2, "{}"), (4, "{}"), (6, "{}"))).apply(draft)
    assert draft.versions("t") == Ranges([(1, 5), (6, 7)])


def test_versions_at_another_location_are_not_adopted(draft: Draft) -> None:
    AdoptVersions("t", "elsewhere", ((4, "{}"),)).apply(draft)
    assert draft.edit.is_empty


def test_a_version_that_is_gone_is_not_published(draft: Draft) -> None:
    PublishVersions("t", "t.lance", ((4, "{}"),)).apply(draft)
    assert draft.edit.is_empty


def test_together_tells_of_each_change(draft: Draft) -> None:
    both = Together("", (RemoveVersions("t", ((1, 2),)), AddVersion("t", "t.lance", 4, "{}")))
    assert [part.deleted for part in both.apply(draft).parts] == [1, 0]


def test_conflicts_of_several_tables_are_told_in_one_error(draft: Draft) -> None:
    AddVersion("ns$t", "x/t", 1, "{}").apply(draft)
    late = (AddVersion("t", "t.lance", 3, "{}"), AddVersion("ns$t", "x/t", 1, "{}"))
    with pytest.raises(errors.TableVersionAlreadyExistsError, match=r"'t', 'ns\$t'"):
        Together("", late).apply(draft)
