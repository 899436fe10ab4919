"""Grants: the roles that principals have, inherited from namespaces by all that is in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from lanceyard.server.security.principals import EVERYONE, GROUP, Principal
from lanceyard.server.security.roles import Role
from lanceyard.server.security.settings import Grant

REMEMBERED = 10_000
"""Principals whose rights are kept ready."""

Path = tuple[str, ...]


class Rights:
    """What one principal may do."""

    def __init__(self, granted: Mapping[Path, Role]) -> None:
        """Have roles on objects."""
        self._granted = granted
        self._ways = {path[:depth] for path in granted for depth in range(len(path) + 1)}

    def has(self, role: Role, path: Path) -> bool:
        """Whether the role is held on an object, or on a namespace that it is in."""
        granted = self._granted
        for depth in range(len(path) + 1):
            held = granted.get(path[:depth])
            if held is not None and held >= role:
                return True
        return False

    def reaches(self, path: Path) -> bool:
        """Whether any role is held on an object, or on something in it."""
        return path in self._ways or self.has(Role.READER, path)


class Grants:
    """All grants of a server."""

    def __init__(self, grants: Iterable[Grant]) -> None:
        """Take grants as the settings have them."""
        self._by_receiver: dict[str, dict[Path, Role]] = {}
        for grant in grants:
            held = self._by_receiver.setdefault(grant.to, {})
            held[grant.on] = max(grant.role, held.get(grant.on, grant.role))
        self.rights_of = lru_cache(REMEMBERED)(self._rights_of)

    def __bool__(self) -> bool:
        return bool(self._by_receiver)

    def _rights_of(self, principal: Principal) -> Rights:
        """What a principal may do, by its own name, its groups and what all may do.

        Names of principals never look like those of groups: see `principals.read_name`.
        """
        receivers = [principal.name, *(GROUP + group for group in principal.groups), EVERYONE]
        granted: dict[Path, Role] = {}
        for receiver in receivers:
            for path, role in self._by_receiver.get(receiver, {}).items():
                granted[path] = max(role, granted.get(path, role))
        return Rights(granted)
