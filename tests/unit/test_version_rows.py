"""Version rows: whatever changes come together, memory and manifest end up with the same rows."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from lanceyard.catalog.changes import (
    AddVersion,
    AdoptVersions,
    Change,
    MoveTable,
    PublishVersions,
    PutTable,
    RemoveTable,
    RemoveVersions,
    Together,
)
from lanceyard.catalog.directory.manifest import schema
from lanceyard.catalog.draft import Draft
from lanceyard.catalog.snapshot import TABLE, TABLE_VERSION, Edit, Row, Snapshot
from lanceyard.catalog.versions import version_id
from lanceyard.errors import LanceNamespaceError

NAMES = ["a", "b", "c"]
names = st.sampled_from(NAMES)
numbers = st.integers(1, 6)
versions = st.lists(st.tuples(numbers, st.just("adopted")), max_size=3).map(tuple)

single = st.one_of(
    st.builds(PutTable, names, st.just("at"), replace=st.booleans(), versions=versions),
    st.builds(RemoveTable, names),
    st.builds(MoveTable, names, names),
    st.builds(AddVersion, names, st.just("at"), numbers, st.just("added")),
    st.builds(AdoptVersions, names, st.just("at"), versions),
    st.builds(
        PublishVersions,
        names,
        st.just("at"),
        st.lists(st.tuples(numbers, st.just("published")), max_size=2).map(tuple),
    ),
    st.builds(
        RemoveVersions,
        names,
        st.lists(st.tuples(numbers, st.integers(2, 7)), max_size=2).map(
            lambda pairs: tuple((start, end) for start, end in pairs if start < end)
        ),
    ),
)
changes = st.one_of(
    single, st.builds(Together, st.just(""), st.lists(single, max_size=3).map(tuple))
)
tables = st.dictionaries(names, st.sets(numbers), max_size=3)


def rows_of(found: dict[str, set[int]]) -> list[Row]:
    rows = [Row(name, TABLE, "at") for name in found]
    for name, present in found.items():
        rows += [Row(version_id(name, n), TABLE_VERSION, None, "old") for n in sorted(present)]
    return rows


def written(rows: list[Row], edit: Edit) -> list[Row]:
    """The rows of a manifest that was rewritten by an edit."""
    now = datetime.now(UTC)
    before = schema.to_arrow(rows, schema.SCHEMA, now)
    added = [row for row in edit.added.values() if row.object_id not in edit.origin]
    parts = [
        schema.remaining(before, edit),
        schema.carried_on(before, edit.added, edit.origin),
        schema.to_arrow(added, schema.SCHEMA, now),
    ]
    return schema.from_arrow(pa.concat_tables(parts))


@given(tables, st.lists(changes, max_size=8))
def test_memory_and_manifest_agree(found: dict[str, set[int]], wanted: list[Change]) -> None:
    rows = rows_of(found)
    state = Snapshot(rows)
    draft = Draft(state)
    for change in wanted:
        try:
            change.apply(draft)
        except LanceNamespaceError:
            continue
    after = written(rows, draft.edit)
    assert len({row.object_id for row in after}) == len(after)
    seen = {name: draft.versions(name) for name in NAMES}
    state.apply(draft.edit)
    fresh = Snapshot(after)
    for name in NAMES:
        assert state.versions(name) == fresh.versions(name) == seen[name]
        assert state.raw(name) == fresh.raw(name)
        if state.latest(name) is not None:
            assert state.latest(name) == fresh.latest(name)
        if fresh.raw(name) is None:
            assert not fresh.versions(name)
