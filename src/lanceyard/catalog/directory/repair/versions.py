"""Versions that are rows: manifests that are not where they belong, or belong to none of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from lanceyard.catalog.changes import PublishVersions, RemoveVersions
from lanceyard.catalog.directory.manifest.table import Management
from lanceyard.catalog.directory.repair.site import Case, Site
from lanceyard.catalog.maintenance import Finding, Kind
from lanceyard.catalog.ranges import Ranges
from lanceyard.catalog.snapshot import Row
from lanceyard.catalog.version_files import VersionFiles
from lanceyard.catalog.versions import TableVersion


def version_cases(site: Site, path: str) -> Iterator[Case]:
    """What is wrong with the versions of a table whose versions are rows."""
    table = site.owners.get(path)
    if table is None or site.manifest.management() is not Management.ON:
        return
    files = VersionFiles(site.store, path)
    names = files.names()
    numbers = site.manifest.read(lambda state: state.versions(table.object_id))
    for version in site.versions.read(table, numbers.minus(Ranges.of(names)).ascending()):
        if _is_old(site, version):
            yield _without_file(site, table, version)
    for number, name in sorted(names.items()):
        if numbers and not numbers.has(number):
            yield from _without_row(site, table, number, files.path_of(name))


def staged_names(site: Site, path: str) -> set[str]:
    """The names of staged manifests that rows refer to, which are anything but strays."""
    table = site.owners.get(path)
    if table is None or site.manifest.management() is not Management.ON:
        return set()
    names = VersionFiles(site.store, path).names()
    numbers = site.manifest.read(lambda state: state.versions(table.object_id))
    missing = numbers.minus(Ranges.of(names)).ascending()
    return {version.manifest for version in site.versions.read(table, missing)}


def pointer_cases(site: Site) -> Iterator[Case]:
    """Rows that say a manifest is staged which has its final name."""
    owners = {row.object_id: row for row in site.owners.values()}
    for row in site.manifest.staged():
        table = owners.get(row.version[0]) if row.version else None
        if table is None or row.version is None or table.location is None:
            continue
        version = TableVersion.from_json(row.version[1], row.metadata)
        final = VersionFiles(site.store, table.location).path_of(version.final)
        if _is_old(site, version) and site.store.is_file(final):
            told = (version.number, version.published().to_json(table.location))
            change = PublishVersions(table.object_id, table.location, (told,))
            finding = _finding(Kind.UNPUBLISHED_VERSION, table, version, "only its row says so")
            yield Case(finding, partial(site.commit, change))


def _without_file(site: Site, table: Row, version: TableVersion) -> Case:
    files = VersionFiles(site.store, table.location or "")
    if version.is_staged and site.store.is_file(files.path_of(version.manifest)):
        finding = _finding(Kind.UNPUBLISHED_VERSION, table, version)
        return Case(finding, lambda: _publish(site, table, version))
    change = RemoveVersions(table.object_id, ((version.number, version.number + 1),))
    return Case(_finding(Kind.LOST_VERSION, table, version), partial(site.commit, change))


def _without_row(site: Site, table: Row, number: int, path: str) -> Iterator[Case]:
    modified = site.store.modified(path)
    if modified is None or site.clock() - modified <= site.window:
        return
    since = datetime.fromtimestamp(modified, UTC)
    finding = site.finding(Kind.FOREIGN_VERSION, table.location or "", f"version {number}", since)
    take = partial(site.trash.take_files, finding, [path])
    yield Case(finding, partial(site.while_held, finding.path, take))


def _publish(site: Site, table: Row, version: TableVersion) -> None:
    site.versions.publish(table, version)
    site.versions.flush()


def _finding(kind: Kind, table: Row, version: TableVersion, why: str = "") -> Finding:
    since = None
    if version.timestamp_millis is not None:
        since = datetime.fromtimestamp(version.timestamp_millis / 1000, UTC)
    text = f"version {version.number}" + (f", {why}" if why else "")
    return Finding(kind, table.location or "", text, table.object_id, since)


def _is_old(site: Site, version: TableVersion) -> bool:
    return site.clock() - (version.timestamp_millis or 0) / 1000 > site.window
