"""Catalogs in a bucket, behind a proxy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


@pytest.fixture(scope="session")
def _proxy() -> Iterator[Proxy]:
    with Proxy(bucket.seaweed().endpoint) as running:
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
