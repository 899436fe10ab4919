"""People for tests: principals, and the security that knows what they may do."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from lanceyard import errors
from lanceyard.rest.protocol import BY_NAME
from lanceyard.server.security.principals import Principal
from lanceyard.server.security.security import Security
from lanceyard.server.security.settings import SecuritySettings
from tests.conformance.kit import stream

ALICE = Principal("alice")


def security(**table: Any) -> Security:
    """The security of settings."""
    return Security(SecuritySettings.model_validate(table))


def granting(*grants: tuple[str, str, str | list[str]]) -> Security:
    """The security with grants: to whom, which role, on what."""
    said = [{"to": to, "role": role, "on": on} for to, role, on in grants]
    return security(keys=[{"name": "alice", "sha256": "0" * 64}], grants=said)


def may(guard: Security, principal: Principal, operation: str, **said: Any) -> bool:
    """Whether an operation is authorized."""
    try:
        guard.authorize(principal, BY_NAME[operation], said)
    except errors.PermissionDeniedError:
        return False
    return True


def rows() -> bytes:
    """Some rows as an Arrow IPC stream."""
    return stream(pa.table({"id": pa.array([1, 2, 3], pa.int64())}))
