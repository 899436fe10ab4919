"""A newest manifest that was cut short, as a power failure can leave it."""

from __future__ import annotations

import shutil
from pathlib import Path

import lance
import pytest

from lanceyard.catalog.directory.manifest import upkeep
from lanceyard.errors import InternalError
from tests.crash.wreck import Shipyard, open_namespace, show

modes = pytest.mark.parametrize("mode", ["v2", "compat"])
cuts = pytest.mark.parametrize("kept", [0.0, 0.5, 0.99], ids=["empty", "half", "tail"])


@pytest.fixture
def root(yard: Shipyard, mode: str, tmp_path: Path) -> Path:
    """A catalog whose files are its own, to be written in place."""
    return Path(shutil.copytree(yard.original(mode), tmp_path / "root"))


@pytest.fixture(autouse=True)
def no_upkeep(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version of its own would be torn instead."""
    monkeypatch.setattr(upkeep, "PAUSE", 60.0)


def versions(root: Path) -> list[Path]:
    """The manifests of the manifest, newest first."""
    return sorted((root / "__manifest" / "_versions").glob("*.manifest"))


def tear(path: Path, kept: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(kept * len(data))])


@modes
@cuts
def test_readers_skip_a_torn_manifest(root: Path, mode: str, kept: float) -> None:
    before = show(root, mode)
    open_namespace(root, mode).create_namespace({"id": ["lost"]})
    tear(versions(root)[0], kept)
    assert show(root, mode) == before


@modes
@cuts
def test_the_next_writer_moves_a_torn_manifest_aside(root: Path, mode: str, kept: float) -> None:
    before = show(root, mode)
    open_namespace(root, mode).create_namespace({"id": ["lost"]})
    torn = versions(root)[0]
    tear(torn, kept)
    open_namespace(root, mode).create_namespace({"id": ["next"]})
    found = show(root, mode)
    assert found.namespaces == {**before.namespaces, "next": {}}
    assert found.tables == before.tables
    assert [path.name for path in torn.parent.iterdir() if "-torn-" in path.name]
    assert "next" in lance.dataset(str(root / "__manifest")).to_table()["object_id"].to_pylist()


@modes
@cuts
def test_an_open_instance_goes_on_after_a_torn_manifest(root: Path, mode: str, kept: float) -> None:
    instance = open_namespace(root, mode)
    names = instance.list_namespaces({}).namespaces
    open_namespace(root, mode).create_namespace({"id": ["lost"]})
    tear(versions(root)[0], kept)
    assert instance.list_namespaces({}).namespaces == names
    instance.create_namespace({"id": ["next"]})
    assert instance.list_namespaces({}).namespaces == sorted([*names, "next"])


@modes
@cuts
def test_two_torn_manifests_are_moved_aside(root: Path, mode: str, kept: float) -> None:
    before = show(root, mode)
    for name in ("lost", "gone"):
        open_namespace(root, mode).create_namespace({"id": [name]})
    for path in versions(root)[:2]:
        tear(path, kept)
    assert show(root, mode) == before
    open_namespace(root, mode).create_namespace({"id": ["next"]})
    assert show(root, mode).namespaces == {**before.namespaces, "next": {}}


@modes
@cuts
def test_a_catalog_whose_first_manifest_is_torn_starts_anew(
    tmp_path: Path, mode: str, kept: float
) -> None:
    root = tmp_path / "root"
    open_namespace(root, mode).create_namespace({"id": ["lost"]})
    *newer, first = versions(root)
    for path in (*newer, *(root / "__manifest" / "data").iterdir()):
        path.unlink()
    tear(first, kept)
    assert show(root, mode).namespaces == {"": {}}
    open_namespace(root, mode).create_namespace({"id": ["next"]})
    assert show(root, mode).namespaces == {"": {}, "next": {}}


@modes
def test_a_catalog_that_lost_its_versions_is_not_taken_for_an_empty_one(
    tmp_path: Path, mode: str
) -> None:
    root = tmp_path / "root"
    open_namespace(root, mode).create_namespace({"id": ["lost"]})
    for path in versions(root):
        path.unlink()
    with pytest.raises(InternalError, match="damaged"):
        open_namespace(root, mode).create_namespace({"id": ["next"]})
