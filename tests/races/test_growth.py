"""The manifest stays small and indexed, however many commits there were."""

from __future__ import annotations

import time
from pathlib import Path

import lance
import pytest

from lanceyard.catalog.directory import open_catalog
from lanceyard.namespace import Namespace
from lanceyard.settings import DirectorySettings, Durability
from tests.races.arena import WINDOW, Clock, Step, call

MEGABYTE = 1_000_000
FILES = 60
INDEXES = {"object_id_btree", "object_type_bitmap", "base_objects_label_list"}
START_UP = 20
"""Files that are there once: the lock, the indexes, the note."""


class Grown:
    """A catalog that grows by single commits, with a clock of its own."""

    def __init__(self, root: Path) -> None:
        self.manifest = root / "__manifest"
        self.clock = Clock()
        settings = DirectorySettings(
            root=str(root),
            dir_listing_enabled=False,
            durability=Durability.OS,
            window=WINDOW,
        )
        self.instance = Namespace(open_catalog(settings, clock=self.clock))

    def declare(self, count: int) -> None:
        for i in range(count):
            call(self.instance, Step("declare_table", {"id": [f"table_{i:06d}"]}))

    def files(self) -> list[int]:
        """The sizes of all files of the manifest."""
        return [path.stat().st_size for path in self.manifest.rglob("*") if path.is_file()]

    def pass_window(self) -> None:
        """Let the window pass, with a write after it and time for the upkeep that it causes."""
        self.instance.close()
        self.clock.ahead += WINDOW + 1
        call(self.instance, Step("declare_table", {"id": ["last"]}))
        self.instance.close()

    def find(self, filtered: str, *, indexed: bool) -> set[str]:
        table = lance.dataset(str(self.manifest)).to_table(
            columns=["object_id"], filter=filtered, use_scalar_index=indexed
        )
        return set(table["object_id"].to_pylist())


@pytest.fixture
def grown(tmp_path: Path) -> Grown:
    return Grown(tmp_path / "root")


def index_names(manifest: Path) -> set[str]:
    return {index.name for index in lance.dataset(str(manifest)).describe_indices()}


def test_a_thousand_commits_leave_a_megabyte_and_sixty_files(grown: Grown) -> None:
    grown.declare(1_000)
    assert len(grown.files()) <= 3 * 1_000 + START_UP
    grown.pass_window()
    assert len(grown.files()) <= FILES
    assert sum(grown.files()) <= MEGABYTE
    assert lance.dataset(str(grown.manifest)).count_rows() == 1_001


@pytest.mark.deep
def test_twenty_thousand_commits_leave_at_most_three_times_as_much(grown: Grown) -> None:
    grown.declare(20_000)
    grown.pass_window()
    assert len(grown.files()) <= 3 * FILES
    assert sum(grown.files()) <= 3 * MEGABYTE
    assert lance.dataset(str(grown.manifest)).count_rows() == 20_001


def test_the_three_indexes_are_there_within_two_seconds(grown: Grown) -> None:
    grown.declare(1)
    deadline = time.monotonic() + 2.0
    while index_names(grown.manifest) != INDEXES and time.monotonic() < deadline:
        time.sleep(0.05)
    assert index_names(grown.manifest) == INDEXES
    grown.instance.close()


def test_lookups_through_the_indexes_are_right(grown: Grown) -> None:
    grown.declare(40)
    grown.instance.close()
    # As upkeep does once in a while: an index may be older than all that lies there now.
    lance.dataset(str(grown.manifest)).optimize.optimize_indices()
    for i in range(0, 40, 3):
        call(grown.instance, Step("drop_table", {"id": [f"table_{i:06d}"]}))
    call(grown.instance, Step("create_namespace", {"id": ["ns"]}))
    grown.instance.close()
    dataset = lance.dataset(str(grown.manifest))
    by_id = "object_id IN ('table_000001', 'table_000003', 'ns')"
    assert "ScalarIndexQuery" in dataset.scanner(filter=by_id).explain_plan()
    assert grown.find(by_id, indexed=True) == {"table_000001", "ns"}
    for filtered in (by_id, "object_type = 'table'", "object_type = 'namespace'"):
        assert grown.find(filtered, indexed=True) == grown.find(filtered, indexed=False)
