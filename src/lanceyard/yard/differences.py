"""Differences between two versions of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from lance import LanceDataset


class Retyped(NamedTuple):
    """A column whose type, or whether it may be null, is another now."""

    column: str
    before: str
    after: str


@dataclass(frozen=True)
class TableDifference:
    """What two versions of a table differ in."""

    before: int
    """The number of the first version,"""
    after: int
    """and of the second."""
    rows_before: int
    rows_after: int
    columns_added: tuple[str, ...] = ()
    columns_dropped: tuple[str, ...] = ()
    columns_retyped: tuple[Retyped, ...] = ()
    files_added: int = 0
    """Data files that only the second version refers to,"""
    files_dropped: int = 0
    """and those that only the first does."""

    def __str__(self) -> str:
        rows = self.rows_after - self.rows_before
        lines = [
            f"version {self.before} -> {self.after}",
            f"rows       {self.rows_before:,} -> {self.rows_after:,} ({rows:+,})",
            f"files      {self.files_added:+,} and {-self.files_dropped:,}",
            *(f"added      column {name}" for name in self.columns_added),
            *(f"dropped    column {name}" for name in self.columns_dropped),
            *(f"retyped    column {c}: {was} -> {now}" for c, was, now in self.columns_retyped),
        ]
        return "\n".join(lines)


def compare(before: LanceDataset, after: LanceDataset) -> TableDifference:
    """What two open versions of a table differ in."""
    old, new = _columns(before), _columns(after)
    old_files, new_files = _files(before), _files(after)
    return TableDifference(
        before=before.version,
        after=after.version,
        rows_before=before.count_rows(),
        rows_after=after.count_rows(),
        columns_added=tuple(name for name in new if name not in old),
        columns_dropped=tuple(name for name in old if name not in new),
        columns_retyped=tuple(
            Retyped(name, kind, new[name])
            for name, kind in old.items()
            if new.get(name, kind) != kind
        ),
        files_added=len(new_files - old_files),
        files_dropped=len(old_files - new_files),
    )


def _columns(dataset: LanceDataset) -> dict[str, str]:
    return {
        field.name: f"{field.type}{'' if field.nullable else ' not null'}"
        for field in dataset.schema
    }


def _files(dataset: LanceDataset) -> set[str]:
    return {file.path for fragment in dataset.get_fragments() for file in fragment.metadata.files}
