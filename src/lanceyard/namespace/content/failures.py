"""Failures of Lance: what its errors say, as errors of the specification.

Lance raises `ValueError`, `OSError`, `RuntimeError` and others for the same mistake, depending on
the call, and tells them apart in its text only. The conformance kit pins what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lanceyard import errors
from lanceyard.identifier import Identifier

# Where in Lance's own sources an error was raised is nothing that a user can act on.
_ORIGIN = re.compile(r",? (location: )?/[\w./-]+\.rs:\d+:\d+")
_APPENDIX = re.compile(r" in schema:| in dataset schema:|\.? Detail: Python exception")
_NESTED = re.compile(r"^((Invalid user input|External error): )+")

_KINDS: tuple[tuple[re.Pattern[str], type[errors.LanceNamespaceError]], ...] = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"No field named", errors.TableColumnNotFoundError),
        (r"(?i)\b(column|field)\b.* (does not exist|not found)", errors.TableColumnNotFoundError),
        (r"not found in schema", errors.TableColumnNotFoundError),
        (r"is not in the dataset|does not contain child", errors.TableColumnNotFoundError),
        (r"with different schema|Duplicate field name", errors.TableSchemaValidationError),
        (r"(?i)commit conflict|write contention|concurrent", errors.ConcurrentModificationError),
        (r"Version not found|\.manifest was not found", errors.TableVersionNotFoundError),
        (r"Index name '.*' already exists", errors.TableIndexAlreadyExistsError),
        (r"(?i)index \S+ not found|index not found", errors.TableIndexNotFoundError),
        (r"tag \S+ does not exist", errors.TableTagNotFoundError),
        (r"tag \S+ already exists", errors.TableTagAlreadyExistsError),
        (r"Branch \S+ does not exist", errors.TableBranchNotFoundError),
        # What Lance says when another made a branch of this name since it was looked for.
        (r"Clone operation should not enter", errors.TableBranchAlreadyExistsError),
        (r"Branch \S+ is referenced", errors.InvalidTableStateError),
        (r"Dataset already exists: .*/tree/", errors.TableBranchAlreadyExistsError),
        (r"Not found: .*_refs/branches/", errors.TableBranchNotFoundError),
        (r"Not found: .*_refs/tags/", errors.TableTagNotFoundError),
        (r"Invalid user input|Invalid argument|Not supported", errors.InvalidInputError),
        (r"Query Execution error: Execution error", errors.InvalidInputError),
        # A panic of Lance in a thread of its own.
        (r"Task was aborted|panicked", errors.InvalidInputError),
        (r"LanceError\((Arrow|Schema)\)|Arrow error|Ref is invalid", errors.InvalidInputError),
        (r"non-boolean predicates", errors.InvalidInputError),
        # An index that cannot be built on what is in the column.
        (r"LanceError\(Index\): (Build Vector|PQ|Construct Geo)", errors.InvalidInputError),
        (r"Unprocessable: KMeans|WKT error", errors.InvalidInputError),
        (r"External error: (General error|failed to fill)", errors.InvalidInputError),
        # The stream with the rows broke off, or is no Arrow: it came with the request.
        (r"C Data interface error", errors.InvalidInputError),
    )
)
PANIC = "PanicException"
"""What Lance raises where it has no error for a request: no `Exception`, nor importable."""
_MISTAKES = (
    ValueError,
    TypeError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RecursionError,
)
"""What is raised for arguments; everything that Arrow raises for data is a `ValueError` too."""


@contextmanager
def told(identifier: Identifier) -> Iterator[None]:
    """Raise what Lance fails with, in the work on a table, as an error with a code."""
    try:
        yield
    except errors.LanceNamespaceError:
        raise
    except (OSError, RuntimeError, *_MISTAKES) as cause:
        raise translate(identifier, cause) from cause
    except BaseException as cause:
        if type(cause).__name__ != PANIC:
            raise
        raise errors.InvalidInputError(
            f"table {identifier}: Lance cannot do this, and gave up: {cause}"
        ) from cause


def translate(identifier: Identifier, cause: Exception) -> errors.LanceNamespaceError:
    """The error of the specification for one of Lance's; raise it `from` the cause."""
    text = plain_text(cause)
    if errors.lacks_permission(cause):
        return errors.PermissionDeniedError(f"table {identifier}: {text}")
    for pattern, kind in _KINDS:
        if pattern.search(text):
            return kind(f"table {identifier}: {_NESTED.sub('', text)}")
    if isinstance(cause, _MISTAKES):
        return errors.InvalidInputError(f"table {identifier}: {text}")
    return errors.InternalError(f"table {identifier}: {text}")


def plain_text(cause: Exception) -> str:
    """What an error says, without where in Lance's sources it came from."""
    said = cause.args[0] if len(cause.args) == 1 else cause
    text = "".join(map(str, said)) if isinstance(said, tuple) else str(said)
    return _APPENDIX.split(_ORIGIN.sub("", text))[0]
