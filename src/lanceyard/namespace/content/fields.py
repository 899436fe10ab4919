"""Fields: the columns of a table, and what is nested in them, by Lance's field paths."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanceyard import errors

if TYPE_CHECKING:
    import pyarrow as pa
    from lance import LanceDataset


@dataclass(frozen=True)
class Field:
    """A column, or a part of one."""

    number: int
    """What Lance calls it by, whatever its name."""

    names: tuple[str, ...]
    """From the column down to itself."""

    kind: pa.DataType
    metadata: Mapping[str, str]

    in_list: bool
    """It is one in each item of a list or map, not one in each row."""

    @property
    def path(self) -> str:
        """Its canonical path."""
        return canonical_path(self.names)


def canonical_path(names: Iterable[str]) -> str:
    """A path as it is displayed: names with dots are quoted."""
    return ".".join(map(_quoted, names))


def all_fields(dataset: LanceDataset) -> list[Field]:
    """Every field of a table, each before those in it."""
    return list(_walk(dataset.lance_schema.fields(), (), in_list=False))


def find_field(dataset: LanceDataset, path: str) -> Field:
    """The field at a path. Raises `TableColumnNotFoundError`."""
    found: Any = dataset.lance_schema.field(path)
    if found is None:
        raise errors.TableColumnNotFoundError(f"there is no column {path!r}")
    return next(field for field in all_fields(dataset) if field.number == found.id())


def find_column(dataset: LanceDataset, path: str) -> Field:
    """The field at a path, which has one value in each row.

    Raises `TableColumnNotFoundError`, and `InvalidInputError` for what is inside a list.
    """
    field = find_field(dataset, path)
    if field.in_list:
        raise errors.InvalidInputError(f"{field.path} is inside a list: name the column around it")
    return field


def storage_type(kind: pa.DataType) -> pa.DataType:
    """What the values of an extension type are kept as; any other type itself."""
    return getattr(kind, "storage_type", kind)


def vector_type(kind: pa.DataType) -> pa.DataType | None:
    """The type of the vectors in a column, each or several in a row; None if it holds none."""
    import pyarrow as pa

    kind = storage_type(kind)
    if pa.types.is_list(kind):
        kind = storage_type(kind.value_type)
    return kind if pa.types.is_fixed_size_list(kind) else None


def check_unique(fields: Iterable[Field]) -> None:
    """Raise `InvalidInputError` if a request names a field twice."""
    seen: set[int] = set()
    for field in fields:
        if field.number in seen:
            raise errors.InvalidInputError(f"column {field.path} is named twice")
        seen.add(field.number)


def _walk(siblings: Iterable[Any], above: tuple[str, ...], *, in_list: bool) -> Iterator[Field]:
    import pyarrow as pa

    for each in siblings:
        names, kind = (*above, each.name()), each.to_arrow().type
        yield Field(each.id(), names, kind, each.metadata, in_list)
        inside = in_list or not pa.types.is_struct(kind)
        yield from _walk(each.children(), names, in_list=inside)


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`" if "." in name or "`" in name else name
