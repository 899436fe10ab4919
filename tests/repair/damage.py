"""Damage: each kind of finding, made on purpose, and what is left after it was mended."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa

from lanceyard.catalog.maintenance import Kind
from tests.crash.wreck import State, open_namespace, stream

HOUR = 3600.0
Make = Callable[[Path, str], None]
ROWS = ("v2", "compat")


@dataclass(frozen=True)
class Damage:
    """How a kind of finding comes about."""

    name: str
    kind: Kind
    make: Make
    modes: tuple[str, ...] = ("v1", "v2", "compat")
    gone: tuple[str, ...] = ()
    """Tables that are not there afterwards."""
    new: dict[str, tuple[tuple[int, ...] | None, dict[str, str]]] | None = None
    """Tables that are there afterwards, and were not, or were different."""
    spaces: tuple[str, ...] = ()
    """Namespaces that are there afterwards, and were not."""
    also: tuple[Kind, ...] = ()
    """What else is found when it is mended, since one thing follows from another."""

    def after(self, before: State) -> State:
        """The state that mending is to lead to."""
        tables = {**before.tables, **(self.new or {})}
        namespaces = before.namespaces | {name: {} for name in self.spaces}
        return replace_state(before, namespaces, without(tables, self.gone))


def replace_state(state: State, namespaces: Any, tables: Any) -> State:
    return state._replace(namespaces=namespaces, tables=tables)


def without(tables: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: table for name, table in tables.items() if name not in names}


def age(root: Path, seconds: float = HOUR) -> None:
    """Let everything below a root look as if it had been written some time ago."""
    then = time.time() - seconds
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            os.utime(os.path.join(folder, name), (then, then), follow_symlinks=False)


def directory(root: Path, mode: str, name: str) -> Path:
    """Where a table of the catalog lies."""
    described = open_namespace(root, mode).describe_table({"id": name.split("$")})
    return Path(described.location)


def write(path: Path, content: bytes = b"") -> None:
    """Write a file that was not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def dataset(path: Path, *rows: int) -> None:
    """Write a Lance table."""
    lance.write_dataset(pa.table({"n": pa.array(rows, pa.int64())}), str(path))


def add_row(root: Path, object_id: str, location: str, metadata: str | None = None) -> None:
    """Add the row of a table to the manifest, as a program would that knows no rules."""
    manifest = lance.dataset(str(root / "__manifest"))
    cells: dict[str, str | None] = {"object_id": object_id, "object_type": "table"}
    cells |= {"location": location, "metadata": metadata}
    columns = {field.name: [cells.get(field.name)] for field in manifest.schema}
    table = pa.table(columns, schema=manifest.schema)
    lance.write_dataset(table, manifest, mode="append")


def newest(folder: Path) -> Path:
    """The file of the newest version in a ``_versions`` folder."""
    return min(path for path in folder.iterdir() if path.suffix == ".manifest")


def torn_next(folder: Path) -> None:
    """Write half of the next version."""
    last = newest(folder)
    successor = f"{int(last.stem) - 1:020d}.manifest"
    (folder / successor).write_bytes(last.read_bytes()[:40])


def torn_manifest(root: Path, mode: str) -> None:
    torn_next(root / "__manifest" / "_versions")


def incomplete_manifest(root: Path, mode: str) -> None:
    for path in (root / "__manifest" / "data").iterdir():
        path.unlink()


def all_versions_torn(root: Path, mode: str) -> None:
    folder = root / "__manifest" / "_versions"
    for path in [*folder.iterdir()]:
        path.unlink()
        path.write_bytes(b"x")


def no_versions(root: Path, mode: str) -> None:
    shutil.rmtree(root / "__manifest" / "_versions")


def no_manifest(root: Path, mode: str) -> None:
    shutil.rmtree(root / "__manifest")


def foreign_manifest(root: Path, mode: str) -> None:
    shutil.rmtree(root / "__manifest")
    dataset(root / "__manifest", 1, 2)


def duplicate_row(root: Path, mode: str) -> None:
    add_row(root, "keep", str(directory(root, mode, "keep").relative_to(root)))


def doubled_in_one_fragment(root: Path, mode: str) -> None:
    """Which of the two comes first is not ours to say, so they are the same."""
    add_row(root, "keep", str(directory(root, mode, "keep").relative_to(root)), '{"k": "v"}')
    lance.dataset(str(root / "__manifest")).optimize.compact_files()


def unsafe_location(root: Path, mode: str) -> None:
    add_row(root, "evil", "../evil")


def manifest_as_location(root: Path, mode: str) -> None:
    add_row(root, "evil", "__manifest")


def location_behind_a_link(root: Path, mode: str) -> None:
    outside = root.parent / f"{root.name}-outside"
    dataset(outside, 1)
    (root / "link").symlink_to(outside)
    add_row(root, "evil", "link")


def shared_location(root: Path, mode: str) -> None:
    add_row(root, "twin", str(directory(root, mode, "keep").relative_to(root)))


def nested_location(root: Path, mode: str) -> None:
    inner = directory(root, mode, "keep") / "inner"
    dataset(inner, 9)
    add_row(root, "twin", str(inner.relative_to(root)))


def missing_parent(root: Path, mode: str) -> None:
    dataset(root / "0123abcd_lost$deep$t", 9)
    add_row(root, "lost$deep$t", "0123abcd_lost$deep$t")


def misplaced_row(root: Path, mode: str) -> None:
    dataset(root / "0123abcd_keep$t", 9)
    add_row(root, "keep$t", "0123abcd_keep$t")


def missing_directory(root: Path, mode: str) -> None:
    shutil.rmtree(directory(root, mode, "ns$t"))


def unfinished(content: bytes) -> Make:
    def make(root: Path, mode: str) -> None:
        dataset(root / "new.lance", 9)
        write(root / "new.lance" / ".lance-deregistered", content)

    return make


def ghost(root: Path, mode: str) -> None:
    write(root / "new.lance" / "data" / "x.lance", b"x")


def empty_directory(root: Path, mode: str) -> None:
    (root / "new.lance").mkdir()


def only_markers(root: Path, mode: str) -> None:
    write(root / "new.lance" / ".lance-deregistered", b"deregistered")


def half_dropped(root: Path, mode: str) -> None:
    write(root / "new.lance" / ".lance-deregistered", b"deregistered")
    write(root / "new.lance" / ".lance-dropping", b"dropping")
    write(root / "new.lance" / "data" / "x.lance", b"x")


def marked(*markers: str, content: bytes = b"deregistered") -> Make:
    def make(root: Path, mode: str) -> None:
        for marker in markers:
            write(directory(root, mode, "t") / marker, content)

    return make


def shadowed_by_a_namespace(root: Path, mode: str) -> None:
    dataset(root / "ns.lance", 9)


def shadowed_by_a_table(root: Path, mode: str) -> None:
    instance = open_namespace(root, mode)
    instance.rename_table({"id": ["t"], "new_table_name": "moved"})
    shutil.rmtree(root / "t.lance")
    instance.rename_table({"id": ["moved"], "new_table_name": "t"})
    instance.close()
    dataset(root / "t.lance", 9)


def badly_named(root: Path, mode: str) -> None:
    dataset(root / "a$b.lance", 9)


def unlisted(root: Path, mode: str) -> None:
    dataset(root / "extra.lance", 9)
    lance.dataset(str(root / "extra.lance")).update_metadata({"owner": "me"})


def orphan_directory(root: Path, mode: str) -> None:
    dataset(root / "0123abcd_ns$new", 9)


def orphan_view(root: Path, mode: str) -> None:
    """A view whose refresh was killed, and whose row is gone."""
    orphan_directory(root, mode)
    (root / "0123abcd_ns$new" / "_refreshing").mkdir()


def reservation(root: Path, mode: str) -> None:
    write(root / "0123abcd_ns$new" / ".lance-reserved", b"reserved")


def intent(root: Path, mode: str) -> None:
    write(root / "__manifest" / "_lanceyard" / "intents" / "0123.claimed", b"[]")


def torn_version(root: Path, mode: str) -> None:
    torn_next(directory(root, mode, "keep") / "_versions")


def lost_append(root: Path, mode: str) -> None:
    where = directory(root, mode, "keep")
    before = {*os.listdir(where / "data")}
    lance.write_dataset(pa.table({"n": [9]}), str(where), mode="append")
    [new] = {*os.listdir(where / "data")} - before
    (where / "data" / new).unlink()


def lost_fragment(root: Path, mode: str) -> None:
    """The oldest rows are lost, so that no version is whole."""
    where = directory(root, mode, "keep")
    before = os.listdir(where / "data")
    for row in (8, 9):
        lance.write_dataset(pa.table({"n": [row]}), str(where), mode="append")
    for name in before:
        (where / "data" / name).unlink()


def lost_compaction(root: Path, mode: str) -> None:
    """The version before is whole, and holds the same rows."""
    where = directory(root, mode, "keep")
    found = lance.write_dataset(pa.table({"n": [9]}), str(where), mode="append")
    before = {*os.listdir(where / "data")}
    found.optimize.compact_files()
    [new] = {*os.listdir(where / "data")} - before
    (where / "data" / new).unlink()


def lost_index(root: Path, mode: str) -> None:
    where = directory(root, mode, "keep")
    lance.dataset(str(where)).create_scalar_index("n", "BTREE")
    shutil.rmtree(where / "_indices")


def lost_versions(root: Path, mode: str) -> None:
    shutil.rmtree(directory(root, mode, "keep") / "_versions")


def orphan_file(root: Path, mode: str) -> None:
    where = directory(root, mode, "keep")
    write(where / "data" / "x.lance", b"x")
    write(where / "_deletions" / "0-1-2.arrow", b"x")
    write(where / "_transactions" / "7-x.txn", b"x")
    write(where / "_indices" / "0123" / "index.idx", b"x")


def half_filled(root: Path, mode: str) -> None:
    write(directory(root, mode, "declared") / "data" / "x.lance", b"x")


def orphan_of_the_manifest(root: Path, mode: str) -> None:
    write(root / "__manifest" / "data" / "x.lance", b"x")


def stray_file(root: Path, mode: str) -> None:
    where = directory(root, mode, "keep") / "_versions"
    write(where / ".tmp_7.manifest_x", b"x")
    write(where / "18446744073709551600.manifest-0123-4567", b"x")
    write(where / "18446744073709551600.manifest#1", b"x")


def stray_of_the_manifest(root: Path, mode: str) -> None:
    write(root / "__manifest" / "_versions" / ".tmp_7.manifest_x", b"x")


def overwritten(root: Path, mode: str) -> None:
    """Nothing is wrong: files of older versions belong to those."""
    instance = open_namespace(root, mode)
    for rows in ([1], [1, 2]):
        request = {"id": ["keep"], "mode": "overwrite", "properties": {"k": "v"}}
        instance.create_table(request, stream(rows))
    where = str(directory(root, mode, "keep"))
    lance.dataset(where).create_scalar_index("n", "BTREE")
    lance.dataset(where).delete("n = 1")
    lance.write_dataset(pa.table({"n": [1]}), where, mode="append")
    instance.close()


NAMED = ("v1", "compat")
_NEW = {"extra": ((9,), {"owner": "me"})}
_KEEP = {"k": "v"}
DAMAGES = [
    Damage("torn", Kind.TORN_MANIFEST, torn_manifest, ROWS),
    Damage("duplicate", Kind.DUPLICATE_ROW, duplicate_row, ROWS),
    Damage("doubled", Kind.DUPLICATE_ROW, doubled_in_one_fragment, ROWS),
    Damage("climbing", Kind.UNSAFE_LOCATION, unsafe_location, ROWS),
    Damage("manifest", Kind.UNSAFE_LOCATION, manifest_as_location, ROWS),
    Damage("link", Kind.UNSAFE_LOCATION, location_behind_a_link, ROWS),
    Damage("shared", Kind.SHARED_LOCATION, shared_location, ROWS, new={"twin": ((1, 2), {})}),
    Damage("nested", Kind.SHARED_LOCATION, nested_location, ROWS, new={"twin": ((9,), {})}),
    Damage(
        "parent",
        Kind.MISSING_PARENT,
        missing_parent,
        ROWS,
        new={"lost$deep$t": ((9,), {})},
        spaces=("lost", "lost$deep"),
    ),
    Damage("below_table", Kind.MISPLACED_ROW, misplaced_row, ROWS, also=(Kind.ORPHAN_DIRECTORY,)),
    Damage("no_directory", Kind.MISSING_DIRECTORY, missing_directory, ROWS, gone=("ns$t",)),
    Damage("creating", Kind.HALF_MADE_TABLE, unfinished(b"creating"), NAMED),
    Damage("ghost", Kind.HALF_MADE_TABLE, ghost, NAMED),
    Damage("empty", Kind.HALF_MADE_TABLE, empty_directory, NAMED),
    Damage("only_markers", Kind.HALF_MADE_TABLE, only_markers, NAMED),
    Damage("dropping", Kind.HALF_DROPPED_TABLE, half_dropped, NAMED),
    Damage("published", Kind.UNFINISHED_CHANGE, marked(".lance-deregistered"), ("v2",)),
    Damage(
        "creating_with_row",
        Kind.UNFINISHED_CHANGE,
        marked(".lance-deregistered", content=b"creating"),
        ("compat",),
    ),
    Damage(
        "moved_with_row",
        Kind.UNFINISHED_CHANGE,
        marked(".lance-deregistered", content=b"moved"),
        ("compat",),
    ),
    Damage(
        "dropping_with_row",
        Kind.UNFINISHED_CHANGE,
        marked(".lance-deregistered", ".lance-dropping"),
        ("compat",),
    ),
    Damage(
        "deregistering_with_row",
        Kind.UNFINISHED_CHANGE,
        marked(".lance-deregistered", content=b"deregistering"),
        ROWS,
    ),
    Damage(
        "deregistered_with_row",
        Kind.HALF_DEREGISTERED_TABLE,
        marked(".lance-deregistered"),
        ("compat",),
        gone=("t",),
    ),
    Damage("tombstone", Kind.TOMBSTONE, unfinished(b"moved"), NAMED),
    Damage("namespace", Kind.SHADOWED_DIRECTORY, shadowed_by_a_namespace, ("compat",)),
    Damage("table", Kind.SHADOWED_DIRECTORY, shadowed_by_a_table, ("compat",)),
    Damage("badly_named", Kind.SHADOWED_DIRECTORY, badly_named),
    Damage("unlisted", Kind.UNLISTED_TABLE, unlisted, ("v2",), new=_NEW),
    Damage("orphan", Kind.ORPHAN_DIRECTORY, orphan_directory, ROWS),
    Damage("orphan_view", Kind.ORPHAN_DIRECTORY, orphan_view, ROWS),
    Damage("reservation", Kind.ABANDONED_RESERVATION, reservation, ROWS),
    Damage("intent", Kind.ABANDONED_INTENT, intent, ROWS),
    Damage("torn_version", Kind.TORN_VERSION, torn_version),
    Damage("lost_append", Kind.MISSING_FILES, lost_append),
    Damage("lost_first", Kind.MISSING_FILES, lost_fragment, new={"keep": ((8, 9), _KEEP)}),
    Damage("lost_copy", Kind.MISSING_FILES, lost_compaction, new={"keep": ((1, 2, 9), _KEEP)}),
    Damage("lost_index", Kind.MISSING_FILES, lost_index),
    Damage("no_versions", Kind.MISSING_VERSIONS, lost_versions, ROWS, new={"keep": (None, _KEEP)}),
    Damage("orphan_file", Kind.ORPHAN_FILES, orphan_file),
    Damage("half_filled", Kind.ORPHAN_FILES, half_filled),
    Damage("manifest_orphan", Kind.ORPHAN_FILES, orphan_of_the_manifest, ROWS),
    Damage("stray", Kind.STRAY_FILES, stray_file),
    Damage("manifest_stray", Kind.STRAY_FILES, stray_of_the_manifest, ROWS),
    Damage("claim", Kind.STRAY_FILES, marked(".lance-dropping"), NAMED),
]
"""All but what keeps the manifest from being read at all."""
LOSSES = [
    Damage("no_data", Kind.INCOMPLETE_MANIFEST, incomplete_manifest, ROWS),
    Damage("all_torn", Kind.UNREADABLE_MANIFEST, all_versions_torn, ROWS),
    Damage("no_version", Kind.UNREADABLE_MANIFEST, no_versions, ROWS),
    Damage("foreign", Kind.UNREADABLE_MANIFEST, foreign_manifest, ROWS),
]
"""What keeps the manifest from being read, so that rows have to be found again."""
LOSSES = [replace(loss, also=(Kind.UNLISTED_TABLE,)) for loss in LOSSES]
CASES = [(damage, mode) for damage in DAMAGES for mode in damage.modes]
IDS = [f"{damage.name}-{mode}" for damage, mode in CASES]
