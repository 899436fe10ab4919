"""A repair that is cut short at a storage call, and run again."""

from __future__ import annotations

import itertools
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from lanceyard.catalog.maintenance import RepairReport
from lanceyard.storage.base import Store
from lanceyard.storage.failing import Crash, FailingStore, Moment
from lanceyard.storage.local import LocalStore
from tests.crash.wreck import Point, State, build, open_namespace, show
from tests.repair.damage import (
    Make,
    add_row,
    age,
    badly_named,
    dataset,
    duplicate_row,
    intent,
    marked,
    misplaced_row,
    missing_directory,
    missing_parent,
    orphan_directory,
    orphan_file,
    orphan_of_the_manifest,
    reservation,
    shadowed_by_a_namespace,
    shared_location,
    stray_file,
    stray_of_the_manifest,
    torn_manifest,
    torn_next,
    unfinished,
    unlisted,
    unsafe_location,
)

SAMPLE = 31
"""In the usual run one of so many points is looked at; an odd number, so that moments alternate."""
HASH = re.compile(r"^[0-9a-f]{8}_twin\b")
MARKS = (".lance-deregistered", ".lance-dropping")
"""What repair takes off without keeping it."""
OWN = ("__manifest", "_lanceyard")

# The upkeep of a crashed catalog crashes too, in a thread that nobody waits for.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")


def elsewhere(name: str, make: Make) -> Make:
    """Some damage that is made at a place of its own, and not where all of its kind are made."""

    def make_there(root: Path, mode: str) -> None:
        make(root, mode)
        for made in ("new.lance", "0123abcd_ns$new"):
            if (root / made).exists():
                (root / made).rename(root / made.replace("new", name))

    return make_there


def torn_version(root: Path, mode: str) -> None:
    dataset(root / "89abcdef_torn", 9)
    torn_next(root / "89abcdef_torn" / "_versions")
    add_row(root, "torn", "89abcdef_torn")


def lost_versions(root: Path, mode: str) -> None:
    dataset(root / "89abcdef_empty", 9)
    shutil.rmtree(root / "89abcdef_empty" / "_versions")
    add_row(root, "empty", "89abcdef_empty")


ROWS: list[Make] = [
    duplicate_row,
    shared_location,
    missing_parent,
    misplaced_row,
    missing_directory,
    unsafe_location,
    torn_version,
    lost_versions,
    elsewhere("reserved", reservation),
    elsewhere("orphan", orphan_directory),
    orphan_file,
    orphan_of_the_manifest,
    stray_file,
    stray_of_the_manifest,
    intent,
    badly_named,
]
DAMAGES: dict[str, list[Make]] = {
    "v2": [*ROWS, unlisted, marked(".lance-deregistered"), torn_manifest],
    "compat": [
        *ROWS,
        elsewhere("half", unfinished(b"creating")),
        elsewhere("old", unfinished(b"moved")),
        shadowed_by_a_namespace,
        marked(".lance-dropping"),
        torn_manifest,
    ],
}
"""As much as one catalog can have; the manifest is torn last, as nothing can be added then."""


class Sight(NamedTuple):
    """What a repair leads to: all that the catalog shows, and the files outside the manifest."""

    state: State
    files: list[str]
    trash: set[str]
    """The paths that something in the trash had."""


class Ward:
    """A catalog in which nearly everything is wrong, and as many copies of it as it takes."""

    def __init__(self, folder: Path, mode: str) -> None:
        self._folder = folder
        self._numbers = itertools.count()
        self.mode = mode
        self.original = build(folder / "original", mode)
        for make in DAMAGES[mode]:
            make(self.original, mode)
        self.files = files(self.original)

    @contextmanager
    def patient(self) -> Iterator[Path]:
        """A copy that has been left alone for long; its files are links, as none is written to."""
        root = self._folder / f"copy{next(self._numbers)}"
        shutil.copytree(self.original, root, copy_function=os.link)
        age(root)
        try:
            yield root
        finally:
            shutil.rmtree(root)

    def repair(
        self, root: Path, store: Store | None = None, *, dry_run: bool = False
    ) -> RepairReport:
        instance = open_namespace(root, self.mode, store)
        return instance.repair(dry_run=dry_run, unreferenced_for=timedelta(0))

    def points(self) -> list[Point]:
        """Before and after every storage call of a repair, as far as threads make them in order."""
        with self.patient() as root:
            counter = FailingStore(LocalStore(str(root)), 0, Moment.BEFORE)
            self.repair(root, counter)
        return [Point(call, moment) for call in range(1, counter.calls + 1) for moment in Moment]

    def look(self, root: Path) -> Sight:
        """What is to be seen after a repair, without what is random in it."""
        names = sorted(HASH.sub("(hash)_twin", name) for name in files(root))
        bins = (root / "_lanceyard" / "trash").glob("*/content")
        return Sight(show(root, self.mode), names, {name for bin_ in bins for name in files(bin_)})


def files(root: Path) -> set[str]:
    """The files below a root, but for those of the manifest and what is in the trash."""
    found = (path.relative_to(root) for path in root.rglob("*") if not path.is_dir())
    return {str(path) for path in found if path.parts[0] not in OWN}


@pytest.fixture(scope="module", params=["v2", "compat"])
def ward(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ward:
    return Ward(tmp_path_factory.mktemp("ward"), request.param)


@pytest.mark.parametrize("step", [SAMPLE, pytest.param(1, marks=pytest.mark.deep)])
def test_a_repair_that_was_cut_short_and_run_again_leads_to_the_same(ward: Ward, step: int) -> None:
    with ward.patient() as root:
        report = ward.repair(root)
        expected = ward.look(root)
    assert not report.failures
    assert not report.unchecked
    for point in ward.points()[::step]:
        with ward.patient() as root:
            store = FailingStore(LocalStore(str(root)), point.call, point.moment)
            told = crash(ward, root, store)
            age(root)
            again = ward.repair(root)
            found = ward.look(root)
            hint = (point, told, again.findings)
            assert not again.failures, hint
            assert not again.unchecked, hint
            assert found.state == expected.state, hint
            assert found.files == expected.files, hint
            gone = {name for name in ward.files - files(root) if not name.endswith(MARKS)}
            assert gone <= found.trash, hint
            age(root)
            left = ward.repair(root, dry_run=True)
            assert not left.findings, (*hint, left.findings)


def crash(ward: Ward, root: Path, store: FailingStore) -> str:
    """Repair until a storage call ends it, and return which one that was."""
    try:
        ward.repair(root, store)
    except Crash as end:
        return str(end)
    return "nothing: it ended before"
