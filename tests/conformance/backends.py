"""The backends under test, and what each of them can do.

A case says what it needs (`@applies(nested=True)`) and is collected for the backends that have it,
so nothing is ever skipped. A new backend is one row in `BACKENDS`.

`CONFORMANCE_BACKENDS=reference_v1,reference_v2` runs the kit on other backends than the default.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import lance_namespace as spec
from lance_namespace import LanceNamespace, connect

from tests.cloud import bucket

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pydantic import BaseModel


@dataclass(frozen=True)
class Backend:
    """One implementation in one mode."""

    name: str
    """What the case's id says."""

    mode: str
    """The set of rules it follows: `memory`, `v1`, `v2`, `compat`, `bare` or `hive`."""

    open: Callable[[Path], LanceNamespace]
    """Connects to the catalog at a root directory, which need not exist."""

    open_here: Callable[[Path], LanceNamespace] | None = None
    """The same without the server that is in between, if there is one."""

    nested: bool = False
    """Child namespaces exist, and tables inside them."""

    rename: bool = False
    """RenameTable is supported."""

    declare: bool = True
    """DeclareTable is supported."""

    declared_properties: bool = False
    """DeclareTable takes properties."""

    views: bool = False
    """Materialized views are supported."""

    register_anywhere: bool = False
    """A table may lie at any location inside the root, not only in its own directory."""

    on_disk: bool = True
    """The catalog lives below the root directory, and a second client sees the same one."""

    remote: bool = False
    """The root is in a bucket: there are no links, locks or empty directories."""

    keeps_e_tags: bool = True
    """A manifest has the ETag it was staged with when it gets its final name."""

    manifest: bool = False
    """Names are rows of a `__manifest` table."""

    managed: bool = False
    """The versions of tables are rows of the manifest."""

    listing: bool = False
    """A `<name>.lance` directory in the root is a table of the root namespace."""

    deep: bool = True
    """Namespaces nest at will, where there are any."""

    any_name: bool = True
    """Names are those of the documents; otherwise `a-z`, `0-9` and `_` alone."""

    one_name: bool = True
    """A table and a namespace cannot have the same name."""

    folders: bool = False
    """Each namespace keeps its tables in a folder of its own."""

    root_properties: bool = True
    """The root namespace has properties, where there are others."""

    batches: bool = True
    """Versions of several tables can be created at once."""

    extensions: bool = True
    """What the documents do not ask for: AlterNamespace, protection, dicts, strict settings."""

    close: Callable[[Path], None] = lambda _root: None
    """Cleans up after a case, beside the root directory."""

    only: frozenset[str] = frozenset()
    """The modules of the kit that are tried in a plain run; all if there are none."""

    @property
    def outlives_versions(self) -> bool:
        """A table is still there without its versions; in a bucket nothing else tells of it."""
        return not (self.remote and self.mode == "bare")

    @property
    def homes(self) -> list[list[str]]:
        """The namespaces in which the rules about tables are tried."""
        return [[], ["ns"]] if self.nested else [[]]

    def beside(self, mode: str) -> Backend:
        """The same implementation in another mode."""
        return ALL[self.name.removesuffix(self.mode) + mode]


def _memory(_root: Path) -> LanceNamespace:
    import lanceyard

    return lanceyard.MemoryNamespace()


def _directory(**properties: str) -> Callable[[Path], LanceNamespace]:
    def open_root(root: Path) -> LanceNamespace:
        import lanceyard

        return lanceyard.DirectoryNamespace(root=str(root), **properties)

    return open_root


class Reference:
    """The reference, whose wrappers of some operations take and give dicts instead of models."""

    def __init__(self, client: LanceNamespace) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def create_table_version(self, request: BaseModel) -> spec.CreateTableVersionResponse:
        answer: Any = self._client.create_table_version(_as_dict(request))
        return spec.CreateTableVersionResponse.model_validate(answer)

    def describe_table_version(self, request: BaseModel) -> spec.DescribeTableVersionResponse:
        answer: Any = self._client.describe_table_version(_as_dict(request))
        return spec.DescribeTableVersionResponse.model_validate(answer)

    def batch_delete_table_versions(
        self, request: BaseModel
    ) -> spec.BatchDeleteTableVersionsResponse:
        answer: Any = self._client.batch_delete_table_versions(_as_dict(request))
        return spec.BatchDeleteTableVersionsResponse.model_validate(answer)


def _as_dict(request: BaseModel) -> Any:
    return request.model_dump(exclude_none=True)


def _reference(**properties: str) -> Callable[[Path], LanceNamespace]:
    def open_root(root: Path) -> LanceNamespace:
        return cast("LanceNamespace", Reference(connect("dir", {"root": str(root), **properties})))

    return open_root


_V1: dict[str, str] = {"manifest_enabled": "false"}
_V2: dict[str, str] = {"dir_listing_enabled": "false"}
_MANAGED: dict[str, str] = {**_V2, "table_version_management": "true"}
_BARE: dict[str, str] = {"manifest_enabled": "false", "bare_directories": "true"}

_MANIFEST: dict[str, Any] = {
    "nested": True,
    "rename": True,
    "declared_properties": True,
    "register_anywhere": True,
    "views": True,
    "manifest": True,
}


def _hive(**properties: str) -> Callable[[Path], LanceNamespace]:
    def open_root(root: Path) -> LanceNamespace:
        from tests.hive.corner import open_corner

        return open_corner(root, **properties)

    return open_root


def _clear_hive(root: Path) -> None:
    from tests.hive.corner import clear_corner

    clear_corner(root)


_HIVE: dict[str, Any] = {
    "nested": True,
    "rename": True,
    "declared_properties": True,
    "register_anywhere": True,
    "deep": False,
    "any_name": False,
    "one_name": False,
    "folders": True,
    "root_properties": False,
    "close": _clear_hive,
}

BACKENDS = [
    Backend("memory", "memory", _memory, **_MANIFEST | {"on_disk": False, "manifest": False}),
    Backend("v1", "v1", _directory(**_V1), listing=True),
    Backend("v2", "v2", _directory(**_V2), **_MANIFEST),
    Backend("compat", "compat", _directory(), **_MANIFEST, listing=True),
    Backend("bare", "bare", _directory(**_BARE), declare=False),
    Backend("managed", "v2", _directory(**_MANAGED), **_MANIFEST, managed=True),
]
"""Ours: what a plain run of the kit tries."""


HIVE = [
    Backend("hive", "hive", _hive(), **_HIVE, only=frozenset({"test_declare", "test_rename"})),
    Backend(
        "hive_managed",
        "hive",
        _hive(managed_by="impl"),
        **_HIVE,
        managed=True,
        batches=False,
        only=frozenset({"test_new_versions", "test_deleted_versions"}),
    ),
]
"""On a real metastore: a part of the kit in a plain run, all of it in `make deep`."""


def _over_rest(backend: Backend) -> Callable[[Path], LanceNamespace]:
    @cache
    def address(root: Path) -> str:
        from tests.rest.serving import server

        return server().serve(backend.open(root))

    def open_root(root: Path) -> LanceNamespace:
        from lanceyard.rest.client import RestNamespace

        return RestNamespace(uri=address(root))

    return open_root


REST = [
    replace(backend, name=f"rest_{backend.name}", open=_over_rest(backend), open_here=backend.open)
    for backend in BACKENDS
]
"""The same behind a server: one of them in a plain run, all of them in `make deep`."""

IN_A_BUCKET = frozenset({"test_declare", "test_deregister", "test_register", "test_rename"})

BUCKETS = [
    replace(
        backend,
        name=f"bucket_{backend.name}",
        remote=True,
        keeps_e_tags=backend.managed or bucket.KIND.e_tags_are_hashes,
        only=IN_A_BUCKET,
    )
    for backend in BACKENDS[1:]
]
"""The same in a bucket: a part of one of them in a plain run, all of them in `make deep`."""

REFERENCES = [
    replace(
        backend,
        name=f"reference_{backend.mode}",
        open=_reference(**properties),
        extensions=False,
    )
    for backend, properties in zip(BACKENDS[1:4], (_V1, _V2, {}), strict=True)
]
"""The directory namespace inside pylance, measured by `ledger.py`."""

ALL = {backend.name: backend for backend in [*BACKENDS, *HIVE, *BUCKETS, *REST, *REFERENCES]}


def selected() -> list[Backend]:
    """The backends of this run."""
    names = os.environ.get("CONFORMANCE_BACKENDS")
    if names:
        return [replace(ALL[name], only=frozenset()) for name in names.split(",")]
    return [*BACKENDS, ALL["rest_v2"], *HIVE, ALL["bucket_compat"]]
