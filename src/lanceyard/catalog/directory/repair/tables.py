"""Tables: what is wrong inside the directory of a Lance table, the manifest's own included."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial

from lance import LanceDataset

from lanceyard.catalog.directory import layout
from lanceyard.catalog.directory.contents import Contents
from lanceyard.catalog.directory.manifest.table import Management
from lanceyard.catalog.directory.repair.site import Case, Site
from lanceyard.catalog.directory.repair.versions import staged_names, version_cases
from lanceyard.catalog.maintenance import Kind
from lanceyard.storage.base import File


def table_cases(site: Site, path: str) -> Iterator[Case]:
    """What is wrong with a table at a location.

    Raises `OSError` or `ValueError` if it cannot be opened, and not because it was cut short.
    """
    contents = Contents(site.store, path)
    files = [*site.store.files(path)]
    yield from version_cases(site, path)
    awaited = staged_names(site, path)
    brief = [file for file in files if contents.is_brief(file.path)]
    loose = {file for file in (*brief, *_unreferenced(site, files)) if _name(file) not in awaited}
    yield from stray_cases(site, contents, [*loose])
    if not contents.versions():
        yield from _without_versions(site, contents, files)
        return
    try:
        dataset = contents.open()
    except (OSError, ValueError):
        torn = contents.torn()
        if not torn:
            raise
        yield from torn_cases(site, contents, torn, Kind.TORN_VERSION)
        return
    yield from _missing_cases(site, contents, dataset)
    yield from orphan_cases(site, contents, dataset, _unreferenced(site, files))


def stray_cases(site: Site, contents: Contents, files: list[File]) -> Iterator[Case]:
    """Files that were to be renamed and never were."""
    yield from _files_found(site, Kind.STRAY_FILES, contents.path, contents.strays(files))


def orphan_cases(
    site: Site, contents: Contents, dataset: LanceDataset, files: list[File]
) -> Iterator[Case]:
    """Those of some files that no version refers to."""
    orphans = contents.orphans(dataset, files)
    yield from _files_found(site, Kind.ORPHAN_FILES, contents.path, orphans)


def torn_cases(site: Site, contents: Contents, torn: list[int], kind: Kind) -> Iterator[Case]:
    """Versions that were cut short, which hide the whole ones before them."""
    for version in torn:
        path = contents.version_files.path(version)
        modified = site.store.modified(path)
        if modified is not None:
            yield from _files_found(site, kind, contents.path, [File(path, modified)])


def _without_versions(site: Site, contents: Contents, files: list[File]) -> Iterator[Case]:
    path = contents.path
    if layout.is_declared(site.store, path):
        orphans = [file for file in _unreferenced(site, files) if contents.can_be_orphan(file.path)]
        yield from _files_found(site, Kind.ORPHAN_FILES, path, orphans)
        return
    since = site.quiet_since(path)
    if path not in site.owners or since is None:
        return
    finding = site.finding(Kind.MISSING_VERSIONS, path, "", since)

    def declare_again() -> None:
        site.store.put_if_absent(f"{path}/{layout.RESERVED}", b"reserved")
        kept = f"{path}/{layout.RESERVED}"
        doomed = [file.path for file in site.store.files(path) if file.path != kept]
        site.trash.take_files(finding, doomed)

    yield Case(finding, lambda: site.with_path(path, declare_again))


def _missing_cases(site: Site, contents: Contents, dataset: LanceDataset) -> Iterator[Case]:
    missing = contents.lacks(dataset)
    since = site.quiet_since(contents.path) if missing else None
    if since is None:
        return
    finding = site.finding(Kind.MISSING_FILES, contents.path, _some(missing), since)

    def leave_out() -> None:
        contents.leave_out(dataset)
        owner = site.owners.get(contents.path)
        if owner is not None and site.manifest.management() is Management.ON:
            site.versions.adopt([owner])

    yield Case(finding, lambda: site.with_path(contents.path, leave_out))


def _unreferenced(site: Site, files: list[File]) -> list[File]:
    """Files that are so old that a version would refer to them if one ever will."""
    age = site.unreferenced_for.total_seconds()
    return [file for file in files if site.clock() - file.modified > age]


def _files_found(site: Site, kind: Kind, path: str, files: list[File]) -> Iterator[Case]:
    """A case for those of some files of a table that are older than the window."""
    old = [file for file in files if site.clock() - file.modified > site.window]
    if not old:
        return
    names = [file.path.removeprefix(f"{path}/") for file in old]
    since = datetime.fromtimestamp(max(file.modified for file in old), UTC)
    finding = site.finding(kind, path, _some(names), since)
    take = partial(site.trash.take_files, finding, [file.path for file in old])
    yield Case(finding, partial(site.while_held, path, take))


def _name(file: File) -> str:
    return file.path.rpartition("/")[2]


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
