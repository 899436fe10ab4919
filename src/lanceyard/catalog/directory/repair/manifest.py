"""The manifest itself: a Lance table that everything else relies on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from lance import LanceDataset

from lanceyard.catalog.directory.contents import Contents
from lanceyard.catalog.directory.layout import MANIFEST
from lanceyard.catalog.directory.manifest.intents import INTENTS, abandoned, sweep
from lanceyard.catalog.directory.manifest.schema import ROW_COLUMNS
from lanceyard.catalog.directory.repair.site import Case, Site
from lanceyard.catalog.directory.repair.tables import orphan_cases, stray_cases, torn_cases
from lanceyard.catalog.maintenance import Finding, Kind


def damage_cases(site: Site) -> Iterator[Case]:
    """What keeps the manifest from being read, worst first."""
    contents = Contents(site.store, MANIFEST)
    torn = contents.torn()
    dataset = contents.open_newest_whole()
    if dataset is None:
        if torn or site.store.has_file(f"{MANIFEST}/data"):
            yield from _unreadable(site, "it has no version that is whole")
        return
    yield from torn_cases(site, contents, torn, Kind.TORN_MANIFEST)
    absent = [name for name in ROW_COLUMNS if name not in dataset.schema.names]
    if absent:
        yield from _unreadable(site, f"it has no column {absent[0]!r}")
        return
    missing = contents.lacks(dataset)
    since = site.quiet_since(f"{MANIFEST}/_versions") if missing else None
    if since is not None:
        finding = Finding(Kind.INCOMPLETE_MANIFEST, MANIFEST, missing[0], None, since)
        yield Case(finding, lambda: _leave_out(site, contents, dataset))


def litter_cases(site: Site) -> Iterator[Case]:
    """What lies around in the manifest's directory."""
    contents = Contents(site.store, MANIFEST)
    files = [*site.store.files(MANIFEST)]
    yield from stray_cases(site, contents, files)
    dataset = contents.open_newest_whole()
    if dataset is not None:
        yield from orphan_cases(site, contents, dataset, files)
    for transaction in site.transactions.abandoned():
        finding = Finding(Kind.ABANDONED_TRANSACTION, transaction.folder)
        yield Case(finding, partial(site.transactions.settle, transaction))
    folder = site.store.local_path(INTENTS)
    left = abandoned(folder, site.window) if folder else []
    for path in left:
        finding = Finding(Kind.ABANDONED_INTENT, f"{INTENTS}/{os.path.basename(path)}")
        yield Case(finding, lambda: sweep(folder or "", site.window))


def _unreadable(site: Site, why: str) -> Iterator[Case]:
    since = site.quiet_since(MANIFEST)
    if since is not None:
        finding = Finding(Kind.UNREADABLE_MANIFEST, MANIFEST, why, None, since)
        yield Case(finding, lambda: site.trash.take_tree(finding))


def _leave_out(site: Site, contents: Contents, dataset: LanceDataset) -> None:
    with site.manifest.alone():
        contents.leave_out(dataset)
