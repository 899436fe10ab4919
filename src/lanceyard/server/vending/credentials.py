"""Credentials for the files of one table, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from lanceyard.errors import ServiceUnavailableError

UNAVAILABLE = "credentials for storage are not to be had now: ask again in a moment"
"""All that clients are told, whatever went wrong."""


class Credentials(NamedTuple):
    """Storage options that let somebody in, for a while."""

    options: Mapping[str, str]
    expires_at: float | None
    """Seconds since 1970; None if they do not end."""

    def ends_before(self, moment: float) -> bool:
        """Whether nobody is let in any longer."""
        return self.expires_at is not None and self.expires_at <= moment


class NoAnswerError(ServiceUnavailableError):
    """Raised when whoever gives credentials does not answer, for this table or for any."""


class Vendor(Protocol):
    """Whoever gives credentials."""

    def covers(self, location: str) -> bool:
        """Whether there are credentials for such a location at all."""
        ...

    def fetch(self, location: str, options: Mapping[str, str], *, write: bool) -> Credentials:
        """Get credentials for the files below a location; `options` are those of the catalog.

        Raises an error of `lanceyard.errors`, whose text tells no secret.
        """
        ...
