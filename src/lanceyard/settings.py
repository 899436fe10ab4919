"""Settings: the properties of a directory catalog, parsed once, each with its meaning."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Self, TypeVar

from lanceyard.errors import InvalidInputError

DEFAULT_WINDOW = 600.0
STORAGE = "storage."
"""What the properties begin with that are options of the object store."""
ROOTS = frozenset({"root", "path", "dir.root", "dir.path", "hive.root"})
_V = TypeVar("_V")

# Properties of the reference implementation which have no meaning here: what they tune is always
# on, always off, or decided by the catalog. A configuration written for it still opens.
REFERENCE_PROPERTIES = frozenset(
    {
        "commit_retries",
        "dir_listing_to_manifest_migration_enabled",
        "inline_optimization_enabled",
        "ops_metrics_enabled",
        "table_version_tracking_enabled",
        "vend_input_storage_options",
        "vend_input_storage_options_refresh_interval_millis",
    }
)
REFERENCE_PREFIXES = ("credential_vendor.", "dynamic_context_provider.")

# Document 001 names the options after OpenDAL, 003 after Lance's object store: Lance's names are
# canonical, these are the OpenDAL names that differ.
STORAGE_ALIASES = {
    "allow_anonymous": "skip_signature",
    "credential": "google_service_account_key",
    "credential_path": "google_service_account",
    "enable_virtual_host_style": "virtual_hosted_style_request",
    "server_side_encryption": "aws_server_side_encryption",
}


class Durability(Enum):
    """What an acknowledged write survives."""

    FSYNC = "fsync"
    """A power failure: files and directories are synced before the acknowledgement."""
    OS = "os"
    """A crash of the process, not of the machine; this is what the reference offers."""


@dataclass(frozen=True, kw_only=True)
class DirectorySettings:
    """How a directory catalog behaves."""

    root: str = "."
    """Path or URI of the catalog. Nothing is written before the first write."""
    manifest_enabled: bool = True
    """Keep tables and namespaces in ``__manifest`` (V2)."""
    dir_listing_enabled: bool = True
    """Find root tables by listing directories (V1). Both: compatibility mode."""
    bare_directories: bool = False
    """The old layout: a table is ``<name>/`` instead of ``<name>.lance/``. It needs
    ``manifest_enabled=false``."""
    durability: Durability = Durability.FSYNC
    """What an acknowledged write survives: ``fsync`` a power failure, ``os`` a crash of the
    process."""
    window: float = DEFAULT_WINDOW
    """Seconds before anything that another process might still need is removed."""
    table_version_management: bool = False
    """Keep the versions of tables in the manifest too, in a catalog that is new."""
    catalog_history: float | None = None
    """Seconds for which the whole catalog can be read as it was; an hour where versions are rows,
    elsewhere the window."""
    drop_retention: float = 0.0
    """Seconds for which what was dropped can be brought back."""
    as_of: str | None = None
    """Read the catalog as it was at a version of its manifest, a time, or under a tag."""
    unsafe_store: bool = False
    """Write also to an object store that lets two writers create the same file."""
    storage: Mapping[str, str] = field(default_factory=dict)
    """Options of the object store, by Lance's names or OpenDAL's."""

    def __post_init__(self) -> None:
        """Refuse combinations that no document gives a meaning to."""
        if not (self.manifest_enabled or self.dir_listing_enabled):
            raise InvalidInputError("manifest_enabled and dir_listing_enabled cannot both be false")
        if self.bare_directories and self.manifest_enabled:
            raise InvalidInputError("bare_directories=true needs manifest_enabled=false")
        if self.table_version_management and not self.manifest_enabled:
            raise InvalidInputError("table_version_management=true needs manifest_enabled=true")
        if self.drop_retention and not self.manifest_enabled:
            raise InvalidInputError("drop_retention needs manifest_enabled=true")
        if self.as_of is not None and not self.manifest_enabled:
            raise InvalidInputError("as_of needs manifest_enabled=true: it keeps the history")

    @classmethod
    def from_properties(cls, properties: Mapping[str, str]) -> Self:
        """Parse properties as `connect` and the documents write them.

        Raises
        ------
        InvalidInputError
            A property is unknown (the text names the nearest valid one), has a value that cannot
            be read, or contradicts another.
        """
        values: dict[str, object] = {}
        storage: dict[str, str] = {}
        for name, text in properties.items():
            key = name.removeprefix("dir.")
            key = "root" if key == "path" else key
            if key.startswith(STORAGE):
                _put(storage, storage_name(key), text)
            elif key in PARSERS:
                _put(values, key, PARSERS[key](name, text))
            elif key in REFERENCE_PROPERTIES or key.startswith(REFERENCE_PREFIXES):
                warnings.warn(f"property {name!r} has no effect in Lanceyard", stacklevel=4)
            else:
                raise _unknown(name)
        return cls(**values, storage=storage)  # type: ignore[arg-type]  # parsers give the types


def parse_flag(name: str, text: str) -> bool:
    """Read ``true`` or ``false``, in any case."""
    flag = {"true": True, "false": False}.get(str(text).lower())
    if flag is None:
        raise InvalidInputError(f"property {name!r} is true or false, not {text!r}")
    return flag


def parse_seconds(name: str, text: str) -> float:
    """Read a number of seconds, one or more."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 1 <= seconds < float("inf"):
        raise InvalidInputError(
            f"property {name!r} is a number of seconds, at least 1, not {text!r}"
        )
    return seconds


def parse_duration(name: str, text: str) -> float:
    """Read a number of seconds; 0 is none."""
    return 0.0 if str(text) in ("0", "0.0") else parse_seconds(name, text)


def parse_text(name: str, text: str) -> str:
    """Read a text that is not empty."""
    if not str(text):
        raise InvalidInputError(f"property {name!r} is empty; leave it out")
    return str(text)


def parse_durability(name: str, text: str) -> Durability:
    """Read one of the durabilities."""
    try:
        return Durability(text)
    except ValueError as cause:
        valid = " or ".join(d.value for d in Durability)
        raise InvalidInputError(f"property {name!r} is {valid}, not {text!r}") from cause


def parse_root(name: str, text: str) -> str:
    """Read a path or URI; the path itself is not looked at."""
    if not str(text):
        raise InvalidInputError(f"property {name!r} is empty; leave it out for the current folder")
    return str(text)


PARSERS: dict[str, Callable[[str, str], object]] = {
    "root": parse_root,
    "manifest_enabled": parse_flag,
    "dir_listing_enabled": parse_flag,
    "bare_directories": parse_flag,
    "durability": parse_durability,
    "window": parse_seconds,
    "table_version_management": parse_flag,
    "catalog_history": parse_seconds,
    "drop_retention": parse_duration,
    "as_of": parse_text,
    "unsafe_store": parse_flag,
}


def storage_name(key: str) -> str:
    """Lance's name of a property that is an option of the object store."""
    name = key.removeprefix(STORAGE).lower()
    return STORAGE_ALIASES.get(name, name)


def _put(values: dict[str, _V], key: str, value: _V) -> None:
    if values.setdefault(key, value) != value:
        raise InvalidInputError(f"property {key!r} is given twice, with different values")


def _unknown(name: str) -> InvalidInputError:
    near = difflib.get_close_matches(
        name.removeprefix("dir."), [*PARSERS, "storage."], n=1, cutoff=0.5
    )
    hint = (
        f"did you mean {near[0]!r}?"
        if near
        else f"valid are {', '.join(sorted(PARSERS))}, storage.*"
    )
    return InvalidInputError(f"unknown property {name!r}: {hint}")
