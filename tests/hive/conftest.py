"""The metastore that the tests of this folder share."""

from __future__ import annotations

import pytest

from .metastore import MetastoreServer, shared_metastore


@pytest.fixture(scope="session")
def hive() -> MetastoreServer:
    """A metastore that all tests of a process share; it takes seconds to start."""
    return shared_metastore()
