"""What destroyed catalogs in prototypes/manifest: handles older than what clean-up removed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lance
import pyarrow as pa
import pytest
from lance import LanceDataset, LanceOperation
from lance.fragment import write_fragments

from lanceyard.catalog.directory import open_catalog
from lanceyard.namespace import Namespace
from lanceyard.settings import DirectorySettings, Durability
from tests.races.arena import WINDOW, Client, Clock, Step, call, manifest_rows, read

Writer = Callable[[LanceDataset, list], LanceOperation.BaseOperation]


class Yard:
    """Instances on one root, in processes of their own as far as the engine can tell."""

    def __init__(self, root: Path) -> None:
        self.root = str(root)
        self.clock = Clock()

    def open(self) -> Namespace:
        settings = DirectorySettings(
            root=self.root,
            dir_listing_enabled=False,
            durability=Durability.OS,
            window=WINDOW,
        )
        return Namespace(open_catalog(settings, clock=self.clock))

    def raw(self) -> LanceDataset:
        return lance.dataset(f"{self.root}/__manifest")

    def versions(self) -> int:
        return len(list(Path(self.root, "__manifest", "_versions").glob("*.manifest")))

    def move_on_and_clean_up(self) -> None:
        """Somebody else drops `a`, adds `x0` to `x2`, and removes all that is past the window."""
        other = self.open()
        call(other, Step("drop_table", {"id": ["a"]}))
        for i in range(3):
            declare(other, f"x{i}")
        other.close()
        before = self.versions()
        self.clock.ahead += WINDOW + 1
        declare(other, "x3")
        other.close()
        assert self.versions() < before


@pytest.fixture
def yard(tmp_path: Path) -> Yard:
    made = Yard(tmp_path / "root")
    first = made.open()
    declare(first, "a")
    declare(first, "b")
    first.close()
    return made


def declare(instance: Namespace, name: str) -> None:
    call(instance, Step("declare_table", {"id": [name]}))


def tables(instance: Namespace) -> list[str]:
    return list(call(instance, Step("list_tables", {"id": []})).tables)


AFTER = ["b", "x0", "x1", "x2", "x3"]


def merge(stale: LanceDataset, new: list) -> LanceOperation.BaseOperation:
    kept = [fragment.metadata for fragment in stale.get_fragments()]
    return LanceOperation.Merge([*kept, *new], stale.lance_schema)


def update(stale: LanceDataset, new: list) -> LanceOperation.BaseOperation:
    newest = max(fragment.fragment_id for fragment in stale.get_fragments())
    return LanceOperation.Update(removed_fragment_ids=[newest], new_fragments=new)


@pytest.mark.parametrize("operation", [merge, update])
def test_a_stale_commit_does_not_land_after_clean_up(yard: Yard, operation: Writer) -> None:
    stale = yard.raw()
    yard.move_on_and_clean_up()
    cells = {name: [None] for name in stale.schema.names}
    row = pa.table({**cells, "object_id": ["x1"], "object_type": ["table"]}, schema=stale.schema)
    change = operation(stale, list(write_fragments(row, stale, mode="append")))
    with pytest.raises(OSError, match="conflict"):
        LanceDataset.commit(stale, change, read_version=stale.version, max_retries=0)
    assert sorted(manifest_rows(yard.root)) == AFTER
    assert tables(yard.open()) == AFTER


def test_an_idle_instance_sees_the_truth_beside_a_cleaning_one(yard: Yard) -> None:
    idle = yard.open()
    assert tables(idle) == ["a", "b"]
    yard.move_on_and_clean_up()
    assert tables(idle) == AFTER


@pytest.mark.parametrize("operation", ["declare_table", "drop_table", "rename_table"])
def test_an_idle_instance_writes_on_the_newest_state(yard: Yard, operation: str) -> None:
    idle = yard.open()
    assert tables(idle) == ["a", "b"]
    yard.move_on_and_clean_up()
    target = {"new_table_name": "new"} if operation == "rename_table" else {}
    name = "new" if operation == "declare_table" else "b"
    call(idle, Step(operation, {"id": [name], **target}))
    kept = {*AFTER} if operation == "declare_table" else {*AFTER} - {"b"}
    added = set() if operation == "drop_table" else {"new"}
    assert sorted(manifest_rows(yard.root)) == sorted(kept | added)
    assert tables(yard.open()) == sorted(kept | added)


def test_an_idle_instance_of_the_reference_sees_the_truth(yard: Yard) -> None:
    reference = Client(yard.root, "v2", is_reference=True).open()
    assert sorted(call(reference, Step("list_tables", {"id": []})).tables) == ["a", "b"]
    yard.move_on_and_clean_up()
    assert sorted(call(reference, Step("list_tables", {"id": []})).tables) == AFTER


def test_nothing_younger_than_the_window_is_removed(yard: Yard) -> None:
    writer = yard.open()
    for i in range(5):
        declare(writer, f"y{i}")
    before = yard.versions()
    yard.clock.ahead += WINDOW / 2
    declare(writer, "y5")
    writer.close()
    assert yard.versions() > before


def test_tables_keep_their_content_when_the_manifest_is_cleaned(yard: Yard) -> None:
    writer = yard.open()
    location = call(writer, Step("create_table", {"id": ["t"]}, (1, 2))).location
    yard.move_on_and_clean_up()
    assert read(location) == (1, 2)
