"""Options of the data source, read and checked once."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from lanceyard.errors import InvalidInputError
from lanceyard.spark.reference import TableReference

COLUMN_OPTION = re.compile(
    r".+\.(arrow\.fixed-size-list\.size|arrow\.large_var_char|lance\.encoding)"
)
OF_SPARK = {"checkpointlocation", "queryname", "outputmode", "mergeschema", "serialization.format"}
"""What Spark itself puts among the options."""


def _flag(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("it must be true or false")
    return text.lower() == "true"


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError("it must be at least 1")
    return number


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError("it must not be negative")
    return number


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _object(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError("it must be a JSON object")
    return found


def _query(text: str) -> str | dict[str, Any]:
    return _object(text) if text.lstrip().startswith("{") else text


def _choice(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"it must be one of {', '.join(choices)}")
        return text.lower()

    return parse


def _option(parse: Callable[[str], Any], default: Any = None) -> Any:
    return field(default=default, metadata={"parse": parse})


@dataclass(frozen=True)
class Options:
    """What a read, a write or a stream was asked to do."""

    reference: TableReference

    version: int | None = _option(_positive)
    """Read this version,"""
    tag: str | None = _option(str)
    """or the version with this tag,"""
    branch: str | None = _option(str)
    """or the head of this branch (or `version` of it),"""
    timestamp: str | None = _option(str)
    """or the newest version that is not younger than this moment (ISO 8601; UTC without a zone)."""

    columns: tuple[str, ...] | None = _option(_names)
    """Read only these columns."""
    filter: str | None = _option(str)
    """Read only rows for which this SQL condition of Lance holds."""
    filter_columns: tuple[str, ...] | None = _option(_names)
    """The columns of that condition: if all have indexes, these tell what to read."""
    first: int | None = _option(_positive)
    """Read so many rows at least, if there are, and no more than that in each task."""
    nearest: dict[str, Any] | None = _option(_object)  # noqa: RUF009
    """Vector search, as JSON: ``{"column": "v", "q": [...], "k": 10, ...}``."""
    full_text_query: str | dict[str, Any] | None = _option(_query)  # noqa: RUF009
    """Full-text search: words, or a query as JSON."""
    limit: int | None = _option(_positive)
    """How many rows a search returns at most."""
    with_row_id: bool = _option(_flag, default=False)
    with_row_address: bool = _option(_flag, default=False)
    batch_size: int | None = _option(_positive)
    bytes_per_task: int | None = _option(_positive)
    """The size of a task; by default so that all cores are busy, and at most 128 MiB."""
    parallelism: int | None = _option(_positive)
    """How many tasks can run at once; by default the cores of the driver's machine."""

    if_exists: str | None = _option(_choice("append", "overwrite", "fail"))
    """What a write does to a table that exists; by default what Spark's save mode says."""
    if_missing: str = _option(_choice("create", "fail"), default="create")
    file_format_version: str | None = _option(str)
    max_rows_per_file: int | None = _option(_positive)
    max_bytes_per_file: int | None = _option(_positive)
    enable_stable_row_ids: bool = _option(_flag, default=False)

    delta: bool = _option(_flag, default=False)
    """What is written are changes to rows of `version`, as the SQL catalog sends them."""
    write_id: str | None = _option(str)
    """The id that the commit of a batch write carries, to find out later whether it landed."""
    query_id: str | None = _option(str)
    """The identity of a streaming query for exactly-once; by default Spark's own."""
    on_unknown_batch: str = _option(_choice("fail", "write", "skip"), default="fail")
    """What a sink does with a batch of which history no longer tells whether it was written."""

    start: str = _option(_choice("snapshot", "latest"), default="snapshot")
    """Where a new stream begins: with all rows of the table, or only with those that come."""
    start_version: int | None = _option(_natural)
    """A new stream begins with the rows added after this version (0: with the first)."""
    on_change: str = _option(_choice("fail", "ignore", "reemit"), default="fail")
    max_versions_per_trigger: int | None = _option(_positive)
    max_fragments_per_trigger: int | None = _option(_positive)
    max_rows_per_trigger: int | None = _option(_positive)
    max_bytes_per_trigger: int | None = _option(_positive)

    columns_as: Mapping[str, str] = field(default_factory=dict)
    """Options of single columns, such as ``v.arrow.fixed-size-list.size``."""

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> Self:
        """Read the options of a data source.

        Raises
        ------
        InvalidInputError
            An option is unknown, or does not make sense.
        """
        parsers = {f.name: f.metadata["parse"] for f in fields(cls) if "parse" in f.metadata}
        given: dict[str, Any] = {}
        rest: dict[str, str] = {}
        for key, value in options.items():
            name = key.lower()
            if name in parsers:
                given[name] = _parse(name, parsers[name], value)
            elif name not in OF_SPARK:
                rest[name] = value
        columns_as = {key: rest.pop(key) for key in [*rest] if COLUMN_OPTION.fullmatch(key)}
        reference = TableReference.take(rest)
        if rest:
            raise _unknown(min(rest), [*parsers, *TableReference.KEYS])
        found = cls(reference=reference, columns_as=columns_as, **given)
        found._check()
        return found

    def _check(self) -> None:
        pinned = {"tag": self.tag, "timestamp": self.timestamp, "version": self.version}
        chosen = sorted(name for name, value in pinned.items() if value is not None)
        if len(chosen) > 1 or (self.branch and chosen not in ([], ["version"])):
            names = [*(["branch"] if self.branch else []), *chosen]
            raise InvalidInputError(f"options {' and '.join(names)} cannot be combined")
        if self.nearest is not None and self.full_text_query is not None:
            raise InvalidInputError("options nearest and full_text_query cannot be combined")
        if self.limit is not None and not self.is_search:
            raise InvalidInputError(
                "option limit is for searches: use nearest or full_text_query with it, "
                "or DataFrame.limit without"
            )

    @property
    def is_search(self) -> bool:
        """Whether rows are wanted by their nearness or score."""
        return self.nearest is not None or self.full_text_query is not None


def _parse(name: str, parse: Callable[[str], Any], value: str) -> Any:
    try:
        return parse(value)
    except (ValueError, TypeError) as cause:
        raise InvalidInputError(f"option {name}={value!r}: {cause}") from cause


def _unknown(key: str, known: list[str]) -> InvalidInputError:
    near = difflib.get_close_matches(key, known, 1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    return InvalidInputError(f"unknown option {key!r} of the lance data source{hint}")
