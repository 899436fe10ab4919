from __future__ import annotations

from collections.abc import Iterator

import pytest

from .seaweed import GuardedStore
from .sts_endpoint import StsEndpoint


@pytest.fixture(scope="session")
def seaweed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedStore]:
    """One SeaweedFS for all tests of this process."""
    found = GuardedStore(tmp_path_factory.mktemp("seaweed"))
    yield found
    found.stop()


@pytest.fixture
def endpoint() -> Iterator[StsEndpoint]:
    """An STS that does as it is told."""
    with StsEndpoint() as found:
        yield found
