"""Catalogs to be damaged."""

from __future__ import annotations

import pytest

from tests.crash.wreck import Shipyard


@pytest.fixture(scope="session")
def yard(tmp_path_factory: pytest.TempPathFactory) -> Shipyard:
    """Originals are built once; a test gets links to their files."""
    return Shipyard(tmp_path_factory.mktemp("ward"))
