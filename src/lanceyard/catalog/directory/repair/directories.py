"""Directories: what lies in the root, and whether it is what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from lanceyard.catalog.changes import AdoptTables, DiscardRow
from lanceyard.catalog.directory import layout, seals
from lanceyard.catalog.directory.contents import STRAY, table_properties
from lanceyard.catalog.directory.repair.site import Case, Site
from lanceyard.catalog.directory.states import DEREGISTERING, State, state_of
from lanceyard.catalog.maintenance import Finding, Kind
from lanceyard.catalog.snapshot import TABLE

UNFINISHED = {
    State.ABSENT: Kind.HALF_MADE_TABLE,
    State.CREATING: Kind.HALF_MADE_TABLE,
    State.DROPPING: Kind.HALF_DROPPED_TABLE,
    State.MOVED: Kind.TOMBSTONE,
}
DROP_MARKERS = frozenset(layout.DROP_MARKERS)


def directory_cases(site: Site, path: str) -> Iterator[Case]:
    """What is wrong with a directory of the root, looked at from outside.

    Directories whose names neither we nor the documents give are nobody's business.
    """
    hashed = layout.HASHED.match(path)
    if site.bare:
        if layout.table_name(path, bare=True) is not None:
            yield from _named_cases(site, path)
    elif path.endswith(layout.SUFFIX):
        yield from _named_cases(site, path)
    elif hashed and site.obeys_rows:
        yield from _hashed_cases(site, path, hashed["object_id"])


def _named_cases(site: Site, path: str) -> Iterator[Case]:
    """What is wrong with the directory of a root table (documents 000 and 001)."""
    state = state_of(site.store, path, bare=site.bare)
    is_listed = site.rows.is_occupied(path)
    if state in UNFINISHED:
        if not is_listed and not (site.bare and state is State.ABSENT):
            yield from _found(site, UNFINISHED[state], path, _throw_away)
        elif state is not State.ABSENT:
            yield from _found(site, Kind.UNFINISHED_CHANGE, path, _unhide)
    elif state is State.DEREGISTERED:
        owner = site.owners.get(path)
        if owner is not None and owner.object_id == layout.table_name(path, bare=site.bare):
            if site.store.get(f"{path}/{layout.DEREGISTERED}") == DEREGISTERING:
                yield from _found(site, Kind.UNFINISHED_CHANGE, path, _unhide)
            else:
                yield from _found(site, Kind.HALF_DEREGISTERED_TABLE, path, _delist)
        elif not is_listed and _holds_only(site, path, DROP_MARKERS):
            yield from _found(site, Kind.HALF_MADE_TABLE, path, _throw_away)
    else:
        if site.store.is_file(f"{path}/{layout.DROPPING}"):
            yield from _found(site, Kind.STRAY_FILES, path, _unhide, f"there is {layout.DROPPING}")
        if not is_listed:
            yield from _unlisted_cases(site, path, state)


def _unlisted_cases(site: Site, path: str, state: State) -> Iterator[Case]:
    """What is wrong with a visible root table that no row refers to."""
    name = layout.table_name(path, bare=site.bare)
    row = site.rows.raw(name) if name is not None and site.obeys_rows else None
    is_ghost = state is State.PRESENT and not layout.has_data(site.store, path)
    if is_ghost and _holds_only(site, path, layout.TABLE_NAMES):
        yield from _found(site, Kind.HALF_MADE_TABLE, path, _throw_away, "it has no version")
    elif name is None:
        why = "no table can have this name"
        yield from _found(site, Kind.SHADOWED_DIRECTORY, path, _hide, why)
    elif row is not None:
        why = f"the {row.object_type} {name} is at {row.location}"
        if row.object_type != TABLE:
            why = f"there is a {row.object_type} of this name"
        yield from _found(site, Kind.SHADOWED_DIRECTORY, path, _hide, why)
    elif not site.lists_directories:
        adopt = partial(_adopt, object_id=name)
        yield from _found(site, Kind.UNLISTED_TABLE, path, adopt)


def _hashed_cases(site: Site, path: str, object_id: str) -> Iterator[Case]:
    """What is wrong with a directory that is named as V2 names them."""
    marked = [name for name in layout.DROP_MARKERS if site.store.is_file(f"{path}/{name}")]
    if site.rows.is_occupied(path):
        if marked:
            yield from _found(site, Kind.UNFINISHED_CHANGE, path, _unhide)
    elif layout.DEREGISTERED in marked:
        if _holds_only(site, path, DROP_MARKERS):
            yield from _found(site, Kind.HALF_MADE_TABLE, path, _throw_away)
    elif not _holds_only(site, path, layout.TABLE_NAMES):
        return
    elif site.rebuilds:
        if layout.has_data(site.store, path) or _is_reserved(site, path):
            adopt = partial(_adopt, object_id=object_id)
            yield from _found(site, Kind.UNLISTED_TABLE, path, adopt)
    elif _is_reserved(site, path) and _holds_only(site, path, layout.MARKERS):
        yield from _found(site, Kind.ABANDONED_RESERVATION, path, _throw_away)
    else:
        yield from _found(site, Kind.ORPHAN_DIRECTORY, path, _throw_away)


def _found(
    site: Site, kind: Kind, path: str, mend: Callable[[Site, Finding], None], why: str = ""
) -> Iterator[Case]:
    """A case, if nobody was at work on the directory within the window."""
    since = site.quiet_since(path)
    if since is not None:
        finding = site.finding(kind, path, why, since)
        yield Case(finding, lambda: site.with_path(path, partial(mend, site, finding)))


def _throw_away(site: Site, finding: Finding) -> None:
    if not site.manifest.read(lambda state: state.is_occupied(finding.path)):
        claim = [layout.DROPPING] if site.is_claimed(finding.path) else []
        site.trash.take_tree(finding, but=claim)


def _unhide(site: Site, finding: Finding) -> None:
    seals.lift(site.store, finding.path)
    if not site.is_claimed(finding.path):
        site.store.delete(f"{finding.path}/{layout.DROPPING}")
    layout.unhide(site.store, finding.path)


def _hide(site: Site, finding: Finding) -> None:
    layout.hide(site.store, finding.path)


def _delist(site: Site, finding: Finding) -> None:
    if finding.object_id is not None:
        site.commit(DiscardRow(finding.object_id, finding.path))


def _adopt(site: Site, finding: Finding, object_id: str) -> None:
    properties = table_properties(site.store, finding.path)
    site.commit(AdoptTables("", ((object_id, finding.path, properties),)))


def _is_reserved(site: Site, path: str) -> bool:
    return site.store.is_file(f"{path}/{layout.RESERVED}")


def _holds_only(site: Site, path: str, names: frozenset[str]) -> bool:
    found = (entry.name for entry in site.store.entries(path))
    return all(name in names or STRAY.search(name) for name in found)
