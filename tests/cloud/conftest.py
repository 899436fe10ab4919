"""Catalogs in a bucket, behind a proxy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lanceyard
from tests.cloud import bucket
from tests.cloud.proxy import Proxy

MODES: dict[str, dict[str, str]] = {
    "v1": {"manifest_enabled": "false"},
    "v2": {"dir_listing_enabled": "false"},
    "compat": {},
    "managed": {"dir_listing_enabled": "false", "table_version_management": "true"},
}
Open = Callable[..., Any]


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "needs(**capabilities): the object stores a test is for")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out what the object store of this run cannot do."""
    here = Path(__file__).parent
    items[:] = [item for item in items if here not in item.path.parents or _is_met(item)]


def _is_met(test: pytest.Item) -> bool:
    needs = [need for mark in test.iter_markers("needs") for need in mark.kwargs.items()]
    return all(getattr(bucket.KIND, name) == value for name, value in needs)


@pytest.fixture(scope="session")
def _proxy() -> Iterator[Proxy]:
    with Proxy(bucket.server().address) as running:
        yield running


@pytest.fixture
def proxy(_proxy: Proxy) -> Proxy:
    """A proxy in front of the bucket, which has counted nothing yet."""
    _proxy.forget()
    return _proxy


@pytest.fixture
def root() -> str:
    """The URI of a root where nothing is yet."""
    return bucket.fresh_root()


@pytest.fixture
def open_catalog(root: str, proxy: Proxy) -> Iterator[Open]:
    """Opens the catalog at the root in some mode, through the proxy."""
    opened = []

    def open_root(mode: str = "v2", **properties: str) -> Any:
        settings = {**bucket.storage(proxy.endpoint), **MODES[mode], **properties}
        opened.append(lanceyard.DirectoryNamespace(root=root, **settings))
        return opened[-1]

    yield open_root
    for each in opened:
        each.close()
