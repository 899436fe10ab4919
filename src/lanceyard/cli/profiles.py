"""Profiles: catalogs with names, kept in a file and overridden by environment variables.

The file is ``lanceyard/config.toml`` in the folder for configuration (``XDG_CONFIG_HOME``). Each
catalog has a table of properties, with the keys that document 002 recommends:

    [catalogs.prod]
    impl = "rest"
    rest.uri = "https://catalog.example.com"

``LANCEYARD_CATALOG__PROD__REST__URI`` overrides that one: two underscores stand for a dot.
"""

from __future__ import annotations

import os
import re
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lanceyard.cli.exits import Exit
from lanceyard.cli.failures import RefusalError, command_line

FILE = "LANCEYARD_CONFIG"
"""The variable that names another file."""
OVERRIDE = "LANCEYARD_CATALOG__"
"""With which the variables begin that override properties."""
SECRET = re.compile(r"(?i)(key|token|secret|password|credential|authorization)")
MASK = "***"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
TABLE = "catalogs"
SERVED = {"rest", "hive"}
"""What a profile may be about besides a directory, which it is unless it says so."""


def path() -> Path:
    """Where the profiles are."""
    given = os.environ.get(FILE)
    return Path(given) if given else folder("XDG_CONFIG_HOME", ".config") / "config.toml"


def folder(variable: str, below_home: str) -> Path:
    """Our folder in one of those that the XDG specification names.

    Raises `FileNotFoundError` for a user without a home, as there are in containers.
    """
    given = os.environ.get(variable)
    try:
        return (Path(given) if given else Path.home() / below_home) / "lanceyard"
    except RuntimeError as cause:
        raise FileNotFoundError(f"you have no home folder: set HOME or {variable}") from cause


def put_in_place(file: Path, text: str) -> None:
    """Write a file whole or not at all; only its owner reads it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=file.parent, encoding="utf-8", delete=False) as part:
        try:
            part.write(text)
            part.flush()
            os.replace(part.name, file)
        except BaseException:
            os.unlink(part.name)
            raise


def load() -> dict[str, dict[str, str]]:
    """The properties of all catalogs that have names, with what the environment says."""
    found = {name: dict(_flat(table)) for name, table in _tables(_read()).items()}
    for name, key, value in _overrides():
        found.setdefault(name, {})[key] = value
    return found


def kept_of(name: str) -> dict[str, str]:
    """The properties of a catalog that the file has, if it has any."""
    return dict(_flat(_tables(_read()).get(name, {})))


def properties_of(name: str) -> dict[str, str]:
    """The properties of a catalog as `lanceyard.connect` takes them."""
    known = load()
    if name not in known:
        names = ", ".join(sorted(known)) or "none"
        raise RefusalError(
            f"there is no profile {name!r} (known: {names})",
            Exit.MISSING,
            command_line("config", "set", name, "impl=dir", "dir.path=PATH"),
        )
    found = known[name]
    meant = {key.partition(".")[0] for key in found} & SERVED
    if meant and "impl" not in found:
        step = command_line("config", "set", name, f"impl={min(meant)}")
        raise RefusalError(f"profile {name!r} does not say its impl", Exit.USAGE, step)
    found = {"impl": "dir", **found}
    impl = found["impl"]
    return {key.removeprefix(f"{impl}."): value for key, value in found.items()}


def has_secrets(properties: Iterable[str]) -> bool:
    """Whether keys of a profile have values that others must not see."""
    return any(SECRET.search(key) for key in properties)


def masked(properties: Mapping[str, str]) -> dict[str, str]:
    """Properties that others may see."""
    return {key: MASK if SECRET.search(key) else each for key, each in properties.items()}


def put(name: str, properties: Mapping[str, str], *, dry_run: bool) -> None:
    """Put properties of a catalog into the file, or see whether that can be done.

    Others, and comments, stay.
    """
    if not NAME.fullmatch(name):
        raise RefusalError(
            f"a profile is named by letters, digits, '-' and '_', not {name!r}", Exit.USAGE
        )
    document = _document()
    catalogs = document.setdefault(TABLE, _table(is_super=True))
    table = catalogs.setdefault(name, _table())
    for key, value in properties.items():
        _take(table, key)
        table[key] = value
    if not dry_run:
        _write(document)


def remove(name: str, keys: tuple[str, ...], *, dry_run: bool) -> None:
    """Take keys of a catalog out of the file, without any all of it; or see whether it can be."""
    document = _document()
    table = document.get(TABLE, {}).get(name)
    if table is None:
        raise RefusalError(f"the file has no profile {name!r}", Exit.MISSING)
    for key in keys:
        if not _take(table, key):
            raise RefusalError(f"profile {name!r} has no key {key!r}", Exit.MISSING)
    if not keys or not table:
        del document[TABLE][name]
    if not dry_run:
        _write(document)


def _read() -> dict[str, Any]:
    try:
        return tomllib.loads(path().read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as cause:
        raise RefusalError(f"{path()} cannot be read: {cause}", Exit.USAGE, "mend it") from cause


def _tables(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    tables = document.get(TABLE, {})
    if not (isinstance(tables, dict) and all(isinstance(each, dict) for each in tables.values())):
        raise RefusalError(f"{path()}: write [{TABLE}.NAME] and its keys below", Exit.USAGE)
    return tables


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Keys with dots, which TOML reads as tables in tables; flags as properties write them."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", str(value).lower() if isinstance(value, bool) else str(value)


def _overrides() -> Iterator[tuple[str, str, str]]:
    for variable, value in sorted(os.environ.items()):
        name, _, key = variable.removeprefix(OVERRIDE).partition("__")
        if variable.startswith(OVERRIDE) and key:
            yield _spelled(name), key.replace("__", ".").lower(), value


def _spelled(name: str) -> str:
    """The name of a profile as the file spells it, whose case and dashes variables cannot tell."""
    names = {each.upper().replace("-", "_"): each for each in _tables(_read())}
    return names.get(name.upper(), name.lower())


def _document() -> Any:
    """The file, to be edited."""
    import tomlkit

    _tables(_read())  # which says what is wrong with it
    file = path()
    return tomlkit.parse(file.read_text("utf-8") if file.exists() else "")


def _table(*, is_super: bool = False) -> Any:
    import tomlkit

    return tomlkit.table(is_super)


def _take(table: Any, key: str) -> bool:
    """Remove a key, whether it was written with quotes or with dots."""
    if key in table:
        del table[key]
        return True
    first, _, rest = key.partition(".")
    inner = table.get(first)
    if not rest or not isinstance(inner, dict) or not _take(inner, rest):
        return False
    if not inner:
        del table[first]
    return True


def _write(document: Any) -> None:
    import tomlkit

    put_in_place(path(), tomlkit.dumps(document))
