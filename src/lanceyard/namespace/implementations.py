"""Namespaces by name: the classes that `lance_namespace.connect` and users construct."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Self

from lanceyard.catalog.directory import open_catalog
from lanceyard.catalog.history import State
from lanceyard.catalog.memory import MemoryCatalog
from lanceyard.errors import InvalidInputError
from lanceyard.namespace.content.columns import ColumnOperations
from lanceyard.namespace.content.indexes import IndexOperations
from lanceyard.namespace.content.metadata import MetadataOperations
from lanceyard.namespace.content.references import ReferenceOperations
from lanceyard.namespace.content.rows import RowOperations
from lanceyard.namespace.content.statistics import StatisticsOperations
from lanceyard.namespace.history import HistoryOperations
from lanceyard.namespace.maintenance import MaintenanceOperations
from lanceyard.namespace.namespaces import NamespaceOperations
from lanceyard.namespace.queries.operations import QueryOperations
from lanceyard.namespace.tables import TableOperations
from lanceyard.namespace.transactions import TransactionOperations
from lanceyard.namespace.versions import VersionOperations
from lanceyard.namespace.views.operations import ViewOperations
from lanceyard.settings import ROOTS, DirectorySettings
from lanceyard.storage.roots import absolute_root

CatalogName = str | os.PathLike[str] | Mapping[str, str]
"""A catalog as people name it: a path, a URI, the address of a server, or properties."""
SCHEMES = {"http://": "rest", "https://": "rest", "thrift://": "hive"}
"""What the addresses of servers begin with."""


class Namespace(
    NamespaceOperations,
    ViewOperations,
    RowOperations,
    QueryOperations,
    ReferenceOperations,
    StatisticsOperations,
    IndexOperations,
    ColumnOperations,
    MetadataOperations,
    TableOperations,
    VersionOperations,
    TransactionOperations,
    HistoryOperations,
    MaintenanceOperations,
):
    """A catalog as the specification's `LanceNamespace`.

    Requests are its models or plain dicts. Errors are those of `lance_namespace.errors`, with the
    codes of document 003.
    """


class ConfiguredNamespace(Namespace):
    """A namespace that its properties make: with them it is pickled, and compared."""

    _given: dict[str, str]

    def _remember(self, properties: Mapping[str, str], root: str | None) -> None:
        """Keep the properties that it was made of.

        A relative root means the folder of this process, wherever a pickle is opened.
        """
        self._given = {k: v for k, v in properties.items() if k not in ROOTS}
        if root is not None:
            self._given["root"] = absolute_root(root)

    def __repr__(self) -> str:
        shown = {k: v for k, v in self._given.items() if not k.startswith("storage.")}
        said = ", ".join(f"{k}={v!r}" for k, v in sorted(shown.items()))
        return f"{type(self).__name__}({said})"

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[dict[str, str]]]:
        return _construct, (type(self), self._given)  # type: ignore[return-value]


class DirectoryNamespace(ConfiguredNamespace):
    """The namespace of a directory: V1, V2, compatibility mode or bare, as its properties say.

    Constructing it touches no storage. Instances may be shared between threads, pickled, and used
    in the child of a fork.

    Examples
    --------
    >>> import lanceyard, tempfile
    >>> namespace = lanceyard.DirectoryNamespace(root=tempfile.mkdtemp())
    >>> namespace.create_namespace({"id": ["models"], "properties": {"owner": "ml"}}).properties
    {'owner': 'ml'}
    """

    def __init__(self, **properties: str) -> None:
        """Take the properties of `DirectorySettings`, as strings."""
        settings = DirectorySettings.from_properties(properties)
        self._remember(properties, settings.root)
        super().__init__(open_catalog(settings))

    def _at(self, state: State) -> Namespace:
        """Not a plain one: this can be pickled."""
        return type(self)(**{**self._given, "as_of": str(state.version)})


class HiveNamespace(ConfiguredNamespace):
    """The namespace of a Hive Metastore: its databases are namespaces, in Hive 3 its catalogs too.

    Constructing it makes no call. Instances may be shared between threads, pickled, and used in the
    child of a fork.
    """

    def __init__(self, **properties: str) -> None:
        """Take the properties of `HiveSettings`, as strings, with ``hive.`` before them or not."""
        try:
            from lanceyard.catalog import hive
        except ModuleNotFoundError as cause:
            raise InvalidInputError("impl=hive needs the extra 'lanceyard[hive]'") from cause
        settings = hive.HiveSettings.from_properties(properties)
        self._remember(properties, settings.root)
        super().__init__(hive.open_catalog(settings))


class MemoryNamespace(Namespace):
    """A namespace that is gone with the process; for tests, and to read how all others behave."""

    def __init__(self, **properties: str) -> None:
        """Take no properties."""
        if properties:
            raise InvalidInputError(f"unknown property {min(properties)!r}: memory takes none")
        super().__init__(MemoryCatalog())

    def __repr__(self) -> str:
        return f"MemoryNamespace({id(self._catalog):#x})"

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[dict[str, str]]]:
        raise TypeError("a MemoryNamespace cannot be pickled: what it keeps is in this process")


IMPLEMENTATIONS = {
    "dir": "lanceyard.namespace.implementations:DirectoryNamespace",
    "hive": "lanceyard.namespace.implementations:HiveNamespace",
    "memory": "lanceyard.namespace.implementations:MemoryNamespace",
    "rest": "lanceyard.rest.client:RestNamespace",
}
"""The classes that have names, and where they are; those above this layer are looked up by it."""


def connect(
    impl: str | Mapping[str, str], properties: Mapping[str, str] | None = None
) -> Namespace:
    """Connect to a namespace: ``connect("dir", {"root": …})``.

    The form of document 002 is understood too: ``connect({"impl": "dir", "dir.path": …})``.

    Raises
    ------
    InvalidInputError
        No implementation has that name, or a property is not valid.
    """
    if not isinstance(impl, str):
        given = dict(impl)
        name = given.pop("impl", "dir")
        return connect(name, {**given, **(properties or {})})
    if impl not in IMPLEMENTATIONS:
        valid = ", ".join(sorted(IMPLEMENTATIONS))
        raise InvalidInputError(f"unknown implementation {impl!r}: valid are {valid}")
    module, _, name = IMPLEMENTATIONS[impl].partition(":")
    found: Callable[..., Namespace] = getattr(import_module(module), name)
    return found(**(properties or {}))


def properties_of(catalog: CatalogName) -> dict[str, str]:
    """The properties of a catalog for `connect`, which mean the same in every process."""
    if not isinstance(catalog, Mapping):
        place = os.fspath(catalog)
        impl = next((SCHEMES[each] for each in SCHEMES if place.startswith(each)), None)
        catalog = {"root": place} if impl is None else {"impl": impl, "uri": place}
    given = {"impl": "dir", **catalog}
    return {key: absolute_root(each) if key in ROOTS else each for key, each in given.items()}


def _construct(kind: type[Any], properties: dict[str, str]) -> Any:
    return kind(**properties)
