"""Hooks: credentials from a function of whoever runs the server."""

from __future__ import annotations

import logging
import math
import traceback
from collections.abc import Callable, Mapping
from functools import reduce
from importlib import import_module
from typing import Any

from lanceyard import errors
from lanceyard.server.vending.credentials import UNAVAILABLE, Credentials

LOG = logging.getLogger("lanceyard.server")


class Hook:
    """A function that is called with a location, whether to write, and the catalog's options.

    It returns storage options, and when they end in seconds since 1970, or None. What it raises is
    not shown: the log tells its class and the line it came from, since its text may tell secrets.
    """

    def __init__(self, name: str) -> None:
        """Import ``package.module:function``. Raises `InvalidInputError`."""
        self._name = name
        self._function = _find(name)

    def covers(self, location: str) -> bool:
        """The function is asked about every location."""
        return True

    def fetch(self, location: str, options: Mapping[str, str], *, write: bool) -> Credentials:
        """Call the function. Raises `ServiceUnavailableError`."""
        try:
            given = self._function(location, write, dict(options))
        except (Exception, SystemExit) as cause:  # the edge to code that is not ours
            frame = traceback.extract_tb(cause.__traceback__)[-1]
            place = f"{frame.filename}:{frame.lineno}"
            LOG.warning("hook %s raised %s at %s", self._name, type(cause).__name__, place)
            raise errors.ServiceUnavailableError(UNAVAILABLE) from None
        try:
            return _read(given)
        except (TypeError, ValueError, AttributeError):
            LOG.warning("hook %s did not return options and when they end", self._name)
            raise errors.ServiceUnavailableError(UNAVAILABLE) from None


def _find(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    try:
        found = reduce(getattr, path.split("."), import_module(module))
    except (ImportError, AttributeError) as cause:
        raise errors.InvalidInputError(f"the hook {name!r} cannot be imported: {cause}") from cause
    except Exception as cause:  # a module may raise anything, with secrets in its text
        what = type(cause).__name__
        raise errors.InvalidInputError(f"importing the hook {name!r} raised {what}") from None
    if not callable(found):
        raise errors.InvalidInputError(f"the hook {name!r} is not a function")
    return found


def _read(given: Any) -> Credentials:
    """What a hook returned, if it is what hooks return."""
    options, expires_at = given
    if not all(isinstance(text, str) for pair in options.items() for text in pair):
        raise TypeError("names and values of options are strings")
    if expires_at is None:
        return Credentials(dict(options), None)
    seconds = float(expires_at)
    if not math.isfinite(seconds):
        raise ValueError("the end is a number of seconds")
    return Credentials(dict(options), seconds)
