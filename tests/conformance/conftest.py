"""Which backends a case runs on, and the catalogs, namespaces and tables it starts from."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lance_namespace import CreateNamespaceRequest, DropNamespaceRequest

from lanceyard.namespace.implementations import Namespace
from tests.cloud import bucket
from tests.cloud.paths import ObjectPath

from .backends import Backend, selected
from .kit import Catalog, Place, copy, count_up, directory, matches, stage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from _pytest.nodes import Node

ROOT = "root"
SCRATCH = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
"""In memory where possible: the kit tries rules, not disks."""


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "applies(**capabilities): the backends a case is for")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One case per backend that applies, and per namespace when it asks for a `home`."""
    if "backend" not in metafunc.fixturenames:
        return
    backends = [backend for backend in selected() if _applies(metafunc.definition, backend)]
    if "home" not in metafunc.fixturenames:
        metafunc.parametrize("backend", backends or [None], ids=_name)
        return
    places = [(backend, home) for backend in backends for home in backend.homes]
    ids = [f"{_name(backend)}-{'.'.join(home) or ROOT}" for backend, home in places]
    metafunc.parametrize(
        ("backend", "home"), places or [(None, [])], ids=ids or None, indirect=["home"]
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what no selected backend can answer, and parameters that do not apply."""
    here = Path(__file__).parent
    items[:] = [item for item in items if here not in item.path.parents or _answerable(item)]


def _answerable(case: pytest.Item) -> bool:
    assert isinstance(case, pytest.Function)
    backend = case.callspec.params["backend"]
    return isinstance(backend, Backend) and _applies(case, backend)


def _applies(rule: Node, backend: Backend) -> bool:
    if backend.only and rule.path.stem not in backend.only:
        return False
    return all(matches(backend, mark.kwargs) for mark in rule.iter_markers("applies"))


def _name(backend: Backend | None) -> str:
    return backend.name if backend else "none"


@pytest.fixture(scope="session")
def scratch() -> Iterator[str]:
    """Where the roots of all cases are, gone in the end with what was written to them too late."""
    with tempfile.TemporaryDirectory(
        prefix="conformance-", dir=SCRATCH, ignore_cleanup_errors=True
    ) as folder:
        yield folder


@pytest.fixture
def root(backend: Backend, scratch: str) -> Iterator[Place]:
    """The root directory of the catalog under test, gone after the case.

    Not a `tmp_path`: pytest keeps those of three runs, and removing them costs more than the kit.
    A client's upkeep may be at work in it to the end.
    """
    if backend.remote:
        bucket.announce()
        yield ObjectPath.of(bucket.fresh_root())
        return
    with tempfile.TemporaryDirectory(dir=scratch, ignore_cleanup_errors=True) as folder:
        yield Path(folder) / ROOT


@pytest.fixture(scope="session")
def seed(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Backend], Place]:
    """The root of an empty catalog that has been written to: making a manifest takes time."""

    @cache
    def made(backend: Backend) -> Place:
        path: Place = tmp_path_factory.mktemp("seed") / backend.name
        if backend.remote:
            path = ObjectPath.of(bucket.fresh_root())
        client = (backend.open_here or backend.open)(path)
        client.create_namespace(CreateNamespaceRequest(id=["seed"]))
        client.drop_namespace(DropNamespaceRequest(id=["seed"]))
        if isinstance(client, Namespace):
            client.close()  # or its upkeep would write while the seed is copied
        return path

    return made


@pytest.fixture
def untouched(backend: Backend, root: Place) -> Iterator[Catalog]:
    """A catalog whose root does not exist yet."""
    yield Catalog(backend.open(root), backend, root)
    backend.close(root)


@pytest.fixture
def catalog(backend: Backend, root: Place, seed: Callable[[Backend], Place]) -> Iterator[Catalog]:
    """A catalog with nothing in it."""
    if backend.manifest:
        copy(seed(backend), root)
    yield Catalog(backend.open(root), backend, root)
    backend.close(root)


@pytest.fixture
def home(request: pytest.FixtureRequest, catalog: Catalog) -> list[str]:
    """The namespace to keep tables in: the root and, where there are others, a child."""
    namespace: list[str] = request.param
    if namespace:
        catalog.create_namespace(namespace)
    return namespace


@pytest.fixture
def ns(catalog: Catalog) -> list[str]:
    """A new, empty child namespace."""
    catalog.create_namespace(["ns"])
    return ["ns"]


@pytest.fixture
def table(catalog: Catalog, home: list[str]) -> list[str]:
    """A table that holds 1, 2 and 3."""
    identifier = [*home, "t"]
    catalog.create_table(identifier, 1, 2, 3)
    return identifier


@pytest.fixture
def history(request: pytest.FixtureRequest, catalog: Catalog) -> list[str]:
    """A table of the root with versions 1 and 2; `each_naming` says how their manifests are named.

    Which namespace it is in makes no difference to most rules about versions.
    """
    table = ["t"]
    catalog.create_table(table, 1, 2, 3)
    catalog.append(table, 4)
    if getattr(request, "param", None) == "counting_up":
        location = catalog.deregister_table(table).location
        count_up(directory(location))
        catalog.register_table(table, catalog.inside(location))
    return table


@pytest.fixture
def long(catalog: Catalog, history: list[str]) -> list[str]:
    """A table with versions 1 to 5."""
    for version in (3, 4, 5):
        catalog.create_table_version(history, **stage(catalog.directory(history), version))
    return history


@pytest.fixture
def declared(catalog: Catalog, home: list[str]) -> list[str]:
    """A table that is declared and holds nothing."""
    identifier = [*home, "d"]
    catalog.declare_table(identifier)
    return identifier
