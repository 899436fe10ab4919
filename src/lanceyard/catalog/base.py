"""The catalog: the primitives that every backend writes, and the types they speak."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from lanceyard import errors
from lanceyard.catalog.history import History
from lanceyard.catalog.maintenance import Maintenance
from lanceyard.catalog.transactions import Transactions
from lanceyard.catalog.versions import Step, TableVersion
from lanceyard.identifier import Identifier

PROTECTED = "protected"


class TableEntry(NamedTuple):
    """What a catalog knows of a table."""

    location: str
    """The address under which pylance opens it."""
    properties: Mapping[str, str] | None
    """Its properties; None where the catalog keeps none and the Lance table's metadata decides."""
    managed: bool = False
    """Whether its writers commit through the catalog."""
    version: int | None = None
    """The latest version where the catalog keeps versions, 0 for none; else files decide."""


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a sorted list is asked for."""

    after: str | None = None
    """Start after this name, which need not exist."""
    limit: int | None = None
    """At most so many names; None for all."""
    last_is_a_hint: bool = False
    """Whether the last of them is only to tell that there may be more; it need not be true."""


@dataclass(frozen=True, slots=True)
class VersionPage:
    """Which versions of a table are asked for."""

    after: int | None = None
    """Start after this number, in the order asked for."""
    limit: int | None = None
    """At most so many; None for all."""
    descending: bool = True
    """The latest first."""

    def follows(self, number: int) -> bool:
        """Whether a number comes after the start."""
        if self.after is None:
            return True
        return number < self.after if self.descending else number > self.after


class Versions(NamedTuple):
    """A page of versions."""

    found: list[TableVersion]
    more: bool
    """Whether there may be another page."""


class Landed(NamedTuple):
    """What a step of a batch came to."""

    entry: TableEntry | None = None
    """The table that was declared or deregistered."""
    version: TableVersion | None = None
    """The version that was created."""
    deleted: int = 0
    """How many versions were deleted."""


class TableWriter(Protocol):
    """How the content of a table being created comes into being; pylance is behind it."""

    def __call__(self, location: str, *, replace: bool) -> list[str]:
        """Write a location: replace the content there, or demand that there is none.

        Returns the data files that were written, relative to the location. Raises
        `TableAlreadyExistsError` if there is content and it is not to be replaced.
        """


class Catalog(ABC):
    """Something that keeps names: a directory, a metastore, memory.

    Identifiers are valid, modes and behaviours are resolved to flags, and errors are those of
    document 003: every method raises `NamespaceNotFoundError` for a missing parent. Writers may
    run at the same time in any number of threads and processes; each method takes effect as a
    whole or not at all.
    """

    unsupported: frozenset[str] = frozenset()
    """Operations of the specification that this catalog answers with code 0, whatever is asked."""
    storage_options: Mapping[str, str]
    """Options with which pylance opens the tables."""
    maintenance: Maintenance | None = None
    """What keeps it in order; None where nothing can get out of order."""
    history: History | None = None
    """The states it has been in; None where none are kept."""
    transactions: Transactions | None = None
    """Changes to many tables at once; None where there are no such."""

    def state_at_hand(self, identifier: Identifier) -> object | None:
        """A mark of the state in which an object, and what is directly below it, is looked up.

        While the very same mark is given, so are the same answers. None if looking it up might take
        more than memory right now.
        """
        return None

    def check_writable(self) -> None:  # noqa: B027 - most are
        """Raise `UnsupportedOperationError` where tables can only be read."""

    @abstractmethod
    def describe_namespace(self, identifier: Identifier) -> Mapping[str, str]:
        """The properties of a namespace. Raises `NamespaceNotFoundError`."""

    @abstractmethod
    def list_namespaces(self, parent: Identifier, page: Page) -> list[str]:
        """The names of the namespaces directly below, sorted by code point."""

    @abstractmethod
    def create_namespace(
        self, identifier: Identifier, properties: Mapping[str, str], *, replace: bool
    ) -> None:
        """Create a namespace, dropping one of that name with all below it if `replace`.

        Raises `NamespaceAlreadyExistsError`, also when a table has the name.
        """

    @abstractmethod
    def drop_namespace(self, identifier: Identifier, *, cascade: bool) -> Mapping[str, str]:
        """Drop a namespace, with all below it if `cascade`, and return its properties.

        Raises `NamespaceNotEmptyError`.
        """

    @abstractmethod
    def alter_namespace(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str]:
        """Put and unset properties, and return what they are then."""

    @abstractmethod
    def describe_table(self, identifier: Identifier) -> TableEntry:
        """Look a table up. Raises `TableNotFoundError`."""

    @abstractmethod
    def list_tables(self, parent: Identifier, page: Page) -> list[str]:
        """The names of the tables directly below, sorted by code point."""

    @abstractmethod
    def list_all_tables(self, page: Page) -> list[Identifier]:
        """The tables of the whole catalog, sorted by object id."""

    @abstractmethod
    def declare_table(
        self, identifier: Identifier, location: str | None, properties: Mapping[str, str]
    ) -> TableEntry:
        """Reserve a name and a location. Raises `TableAlreadyExistsError`."""

    @abstractmethod
    def create_table(
        self,
        identifier: Identifier,
        properties: Mapping[str, str],
        writer: TableWriter,
        *,
        replace: bool,
    ) -> TableEntry:
        """Create a table, or fill a declared one; with `replace` an existing one is overwritten.

        Raises `TableAlreadyExistsError`.
        """

    @abstractmethod
    def register_table(
        self,
        identifier: Identifier,
        location: str,
        properties: Mapping[str, str],
        *,
        replace: bool,
    ) -> TableEntry:
        """Give what lies at a location a name. Raises `TableAlreadyExistsError`."""

    @abstractmethod
    def deregister_table(self, identifier: Identifier) -> TableEntry:
        """Forget a table and keep its files."""

    @abstractmethod
    def drop_table(self, identifier: Identifier) -> TableEntry:
        """Forget a table and delete its files."""

    @abstractmethod
    def rename_table(self, identifier: Identifier, target: Identifier) -> TableEntry:
        """Give a table another name, in another namespace if the target's parent differs."""

    @abstractmethod
    def alter_table(
        self, identifier: Identifier, put: Mapping[str, str], unset: Collection[str]
    ) -> Mapping[str, str] | None:
        """Put and unset properties; None, and nothing changed, where the Lance table keeps them."""

    @abstractmethod
    def is_declared(self, entry: TableEntry) -> bool:
        """Whether a table was only declared: no data lies at its location."""

    def list_versions(self, identifier: Identifier, page: VersionPage) -> Versions:
        """The versions of a table whose versions the catalog keeps. Raises `TableNotFoundError`."""
        raise errors.UnsupportedOperationError(f"{type(self).__name__} keeps no versions")

    def find_version(self, identifier: Identifier, number: int) -> TableVersion:
        """One version, published. Raises `TableVersionNotFoundError`."""
        raise errors.UnsupportedOperationError(f"{type(self).__name__} keeps no versions")

    def commit(self, steps: Sequence[Step]) -> list[Landed]:
        """Carry out several steps, all or none, and say what each came to.

        Raises what the first step that is refused would raise alone; a conflict names all tables
        that were changed by others.
        """
        raise errors.UnsupportedOperationError(
            "this catalog cannot commit several changes at once: it takes one with a manifest"
        )

    def close(self) -> None:  # noqa: B027 - most have no background work
        """Finish background work. Using the catalog again is allowed."""


def is_protected(properties: Mapping[str, str] | None) -> bool:
    """Whether properties refuse drops and overwrites."""
    return properties is not None and properties.get(PROTECTED, "").lower() == "true"


def altered(
    properties: Mapping[str, str], put: Mapping[str, str], unset: Collection[str]
) -> dict[str, str]:
    """Properties after putting some and unsetting others."""
    return {k: v for k, v in {**properties, **put}.items() if k not in unset}
