"""Failures of object stores: as `OSError`s of a local file system, short and without secrets."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from obstore import exceptions

from lanceyard.errors import is_unavailable, lacks_permission, without_secrets


@contextmanager
def os_errors(path: str) -> Iterator[None]:
    """Raise what obstore raises as the `OSError` a local file system would raise.

    A store that does not answer, or has no such bucket, raises `ConnectionError`.
    """
    try:
        yield
    except (exceptions.BaseError, FileNotFoundError) as cause:
        is_open = without_secrets(str(cause)) == str(cause)
        raise as_os_error(cause, path) from (cause if is_open else None)


def as_os_error(cause: Exception, path: str) -> OSError:
    """The `OSError` that says what obstore said."""
    text = short_text(cause)
    kind, number = _kind(cause)
    return kind(number, text, path)


def _kind(cause: Exception) -> tuple[type[OSError], int]:
    if is_unavailable(cause):
        return ConnectionError, errno.EIO
    if isinstance(cause, exceptions.NotFoundError | FileNotFoundError):
        return FileNotFoundError, errno.ENOENT
    if isinstance(cause, exceptions.AlreadyExistsError | exceptions.PreconditionError):
        return FileExistsError, errno.EEXIST
    denied = exceptions.PermissionDeniedError | exceptions.UnauthenticatedError
    if isinstance(cause, denied) or lacks_permission(cause):
        return PermissionError, errno.EACCES
    return OSError, errno.EIO


def short_text(cause: Exception) -> str:
    """What an error says, without the dump of its inside and without secrets."""
    text = str(cause).partition("\n\nDebug source")[0]
    return without_secrets(re.sub(r"\s+", " ", text).strip())
