"""What several tests of security start from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import lanceyard

from .issuer import TestIssuer
from .people import rows


@pytest.fixture
def issuer() -> Iterator[TestIssuer]:
    """An issuer that publishes an Ed25519 key."""
    found = TestIssuer()
    yield found
    found.close()


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[lanceyard.DirectoryNamespace]:
    """A catalog with a table `n$t`, and another `other$t`."""
    found = lanceyard.DirectoryNamespace(root=str(tmp_path), dir_listing_enabled="false")
    for name in ("n", "other"):
        found.create_namespace({"id": [name]})  # type: ignore[arg-type]
        found.create_table({"id": [name, "t"]}, rows())  # type: ignore[arg-type]
    yield found
    found.close()
