"""What several changes demand and do."""

from __future__ import annotations

from collections.abc import Iterable

from lanceyard import errors
from lanceyard.catalog.base import is_protected
from lanceyard.catalog.draft import Draft
from lanceyard.catalog.snapshot import NAMESPACE, TABLE, Row, parent_id
from lanceyard.identifier import DELIMITER, Identifier


def require_parent(draft: Draft, identifier: Identifier) -> None:
    """Demand the namespace that an object is in, or is to be in."""
    if not draft.has_namespace(parent_id(identifier.object_id)):
        raise errors.namespace_not_found(identifier.parent)


def require_table(draft: Draft, identifier: Identifier) -> Row:
    """The row of a table that has to be there."""
    require_parent(draft, identifier)
    row = draft.row(identifier.object_id)
    if row is None or row.object_type != TABLE:
        raise errors.table_not_found(identifier)
    return row


def refuse_overlap(location: str, other: str, owner: Identifier) -> None:
    """Refuse a location that equals, contains or lies inside that of another table."""
    if f"{location}/".startswith(f"{other}/") or f"{other}/".startswith(f"{location}/"):
        raise errors.InvalidInputError(
            f"location {location!r} overlaps {other!r}, where table {owner} lives"
        )


def add_namespaces(draft: Draft, object_id: str) -> bool:
    """Add a namespace and those above it where they are missing; False if a table is in the way."""
    if not object_id:
        return True
    row = draft.raw(object_id)
    if row is not None and row.object_type != NAMESPACE:
        return False
    if not add_namespaces(draft, parent_id(object_id)):
        return False
    if row is None:
        draft.add(Row(object_id, NAMESPACE))
    return True


def require_bases(draft: Draft, view: Row) -> None:
    """Demand the tables that a view is made of.

    Those of the root may have no row, where directories tell of tables.
    """
    for base in view.base_objects:
        if DELIMITER in base and draft.row(base) is None:
            raise errors.InvalidTableStateError(
                f"{Identifier.from_object_id(view.object_id)} is made of table "
                f"{Identifier.from_object_id(base)}, which is not there"
            )


def refuse_bases(draft: Draft, going: Iterable[Row]) -> None:
    """Refuse to let tables go that views are made of, unless those go with them."""
    names = {row.object_id for row in going}
    for name in sorted(names):
        left = [row for row in draft.views(name) if row.object_id not in names]
        if left:
            views = [Identifier.from_object_id(row.object_id) for row in left]
            raise errors.base_of_views(Identifier.from_object_id(name), views)


def remove_tree(draft: Draft, top: Row) -> tuple[Row, ...]:
    """Remove a namespace with all below it, unless some of it is protected; return the tables."""
    rows = [top, *draft.descendants(top.object_id)]
    for row in rows:
        if is_protected(row.properties):
            raise errors.protected(Identifier.from_object_id(row.object_id))
    refuse_bases(draft, rows)
    for row in rows:
        remove_table(draft, row)
    return tuple(row for row in rows if row.object_type == TABLE)


def remove_table(draft: Draft, row: Row) -> None:
    """Remove the row of a table, or of a namespace, and those of its versions."""
    draft.remove_versions(row.object_id, draft.versions(row.object_id))
    draft.remove(row)
