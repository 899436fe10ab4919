"""Rows: what is wrong with what a manifest says."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from lanceyard.catalog.changes import DiscardRow, RestoreParents, RewriteRow
from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.repair.site import Case, Site
from lanceyard.catalog.maintenance import Finding, Kind
from lanceyard.catalog.snapshot import TABLE, Row, parent_id
from lanceyard.identifier import Identifier


def row_cases(site: Site, rows: list[Row]) -> Iterator[Case]:
    """What is wrong with single rows. Those that the manifest has had for a window only."""
    for row in rows:
        where = row.location or f"{layout.MANIFEST} {row.object_id}"
        if not site.rows.has_namespace(parent_id(row.object_id)):
            if _is_below_table(site, row):
                yield _discard(site, Finding(Kind.MISPLACED_ROW, where, "", row.object_id), row)
                continue
            finding = Finding(Kind.MISSING_PARENT, where, "", row.object_id)
            yield Case(finding, partial(site.commit, RestoreParents(row.object_id)))
        if row.object_type != TABLE:
            continue
        path = row.location
        if path is None or not layout.is_safe(path) or not site.store.contains(path):
            yield _discard(site, Finding(Kind.UNSAFE_LOCATION, where, "", row.object_id), row)
        elif not site.store.has_file(path):
            yield _discard(site, Finding(Kind.MISSING_DIRECTORY, where, "", row.object_id), row)


def doubled_cases(site: Site) -> Iterator[Case]:
    """Names that several rows have."""
    for object_id in sorted(site.manifest.doubled()):
        row = site.rows.raw(object_id)
        if row is not None:
            finding = Finding(Kind.DUPLICATE_ROW, row.location or "", "", object_id)
            yield Case(finding, partial(site.commit, RewriteRow(object_id, row.location)))


def shared_cases(site: Site, rows: list[Row]) -> Iterator[Case]:
    """Tables that lie in the directory of another one, or in the same."""
    placed = [
        row for row in rows if row.object_type == TABLE and layout.is_safe(row.location or "")
    ]
    placed.sort(key=lambda row: (f"{row.location}/", not _is_named_after(row), row.object_id))
    owner: Row | None = None
    for row in placed:
        if owner is None or not f"{row.location}/".startswith(f"{owner.location}/"):
            owner = row
            continue
        finding = Finding(
            Kind.SHARED_LOCATION,
            row.location or "",
            f"{owner.object_id} has {owner.location}",
            row.object_id,
        )
        yield Case(finding, partial(_move_out, site, row))


def _discard(site: Site, finding: Finding, row: Row) -> Case:
    def mend() -> None:
        site.trash.note(finding, row=row._asdict())
        site.commit(DiscardRow(row.object_id, row.location))

    return Case(finding, mend)


def _move_out(site: Site, row: Row) -> None:
    """Give a table a directory of its own. Its files stay where they are, too."""
    path = layout.hashed_directory(Identifier.from_object_id(row.object_id))
    site.store.link_tree(row.location or "", path)
    site.commit(RewriteRow(row.object_id, row.location, path))


def _is_below_table(site: Site, row: Row) -> bool:
    above = parent_id(row.object_id)
    while above:
        found = site.rows.raw(above)
        if found is not None and found.object_type == TABLE:
            return True
        above = parent_id(above)
    return False


def _is_named_after(row: Row) -> bool:
    """Whether a row's location is one that we or the reference choose for its table."""
    path = row.location or ""
    return path == f"{row.object_id}{layout.SUFFIX}" or path.endswith(f"_{row.object_id}")
