"""Addresses: which catalog a command is about."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from lanceyard.cli import profiles
from lanceyard.cli.exits import Exit
from lanceyard.cli.failures import RefusalError, command_line

DEFAULT = "LANCEYARD_CATALOG"
"""The variable that names the catalog of commands that name none."""
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
SERVED = {"http://": "rest", "https://": "rest", "thrift://": "hive"}
"""What the addresses of servers begin with; as `lanceyard.open` has it, without its imports."""


@dataclass(frozen=True)
class Address:
    """A catalog as it was named."""

    place: str
    """A path, a URI, the address of a server, or the name of a profile."""
    named: tuple[str, ...]
    """The words that named it on the command line."""
    is_profile: bool = False
    extra: dict[str, str] = field(default_factory=dict)
    """Properties that were given besides."""

    @property
    def words(self) -> tuple[str, ...]:
        """What names it in another command; secrets have to be given again."""
        shown = {k: v for k, v in self.extra.items() if not profiles.SECRET.search(k)}
        given = [word for key, value in shown.items() for word in ("-p", f"{key}={value}")]
        return (*self.named, *given)

    @property
    def properties(self) -> dict[str, str]:
        """The properties for `lanceyard.open`."""
        if self.is_profile:
            found = profiles.properties_of(self.place)
        else:
            impl = next((SERVED[each] for each in SERVED if self.place.startswith(each)), None)
            root = {"impl": "dir", "root": os.path.expanduser(self.place)}
            found = root if impl is None else {"impl": impl, "uri": self.place}
        return {**found, **self.extra}

    @property
    def root(self) -> str | None:
        """The local folder that the catalog lies in, if it does."""
        given = self.properties
        if given["impl"] != "dir":
            return None
        root = next((given[key] for key in ("root", "path") if key in given), ".")
        if root.lower().startswith("file://"):
            return unquote(urlsplit(root).path)
        return None if SCHEME.match(root) else root

    @property
    def key(self) -> str:
        """A text that is the same whenever the same catalog is named."""
        if self.is_profile or SCHEME.match(self.place):
            return self.place
        return os.path.abspath(os.path.expanduser(self.place))

    def require(self) -> None:
        """Refuse a folder that does not exist, which a mistyped path would become."""
        root = self.root
        if root is None or os.path.isdir(root):
            return
        if os.path.exists(root):
            raise RefusalError(f"{root} is a file, and no catalog", Exit.MISSING, "name its folder")
        raise RefusalError(
            f"there is no catalog at {root}",
            Exit.MISSING,
            f"{command_line('create', root)} makes one, {command_line('demo', root)} a sample",
        )


def is_place(word: str) -> bool:
    """Whether a word is a path or a URI; no name of an object has a slash in it."""
    return "/" in word or word in (".", "..", "~")


def read(option: str | None, words: list[str], extra: dict[str, str]) -> Address | None:
    """The catalog that a command is about; if the words begin with it, it is taken off them.

    That is the first word, if it is a path or a URI; else what the option ``--catalog`` or the
    environment names; else the first word again.
    """
    if words and is_place(words[0]):
        if option:
            raise RefusalError("the catalog is named twice: leave --catalog out", Exit.USAGE)
        return Address(words[0], (words.pop(0),), extra=extra)
    named = option or os.environ.get(DEFAULT)
    if named:
        again = ("--catalog", named) if option else ()
        return Address(named, again, is_profile=not is_place(named), extra=extra)
    if not words or not words[0]:
        return None
    place = words.pop(0)
    return Address(place, (place,), extra=extra)
