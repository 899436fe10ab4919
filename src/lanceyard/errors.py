"""Errors: the codes of `lance_namespace`, with an address and the next step in the text.

LanceNamespaceError
├── NamespaceNotFoundError 1, TableNotFoundError 4, TableVersionNotFoundError 11 …
├── NamespaceAlreadyExistsError 2, TableAlreadyExistsError 5 …
├── InvalidInputError 13, InvalidTableStateError 19
├── ConcurrentModificationError 14
│   └── TableVersionAlreadyExistsError 14   document 003 says 12, which stock clients misread
└── PermissionDeniedError 15, ServiceUnavailableError 17, InternalError 18   storage failed
    └── UnknownOutcomeError 18   a commit may or may not have landed
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lance_namespace.errors import (
    ConcurrentModificationError,
    ErrorCode,
    InternalError,
    InvalidInputError,
    InvalidTableStateError,
    LanceNamespaceError,
    NamespaceAlreadyExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    PermissionDeniedError,
    ServiceUnavailableError,
    TableAlreadyExistsError,
    TableBranchAlreadyExistsError,
    TableBranchNotFoundError,
    TableColumnNotFoundError,
    TableIndexAlreadyExistsError,
    TableIndexNotFoundError,
    TableNotFoundError,
    TableSchemaValidationError,
    TableTagAlreadyExistsError,
    TableTagNotFoundError,
    TableVersionNotFoundError,
    ThrottlingError,
    TransactionNotFoundError,
    UnauthenticatedError,
    UnsupportedOperationError,
    from_error_code,
)

if TYPE_CHECKING:
    from lanceyard.identifier import Identifier

__all__ = [
    "ConcurrentModificationError",
    "ErrorCode",
    "InternalError",
    "InvalidInputError",
    "InvalidTableStateError",
    "LanceNamespaceError",
    "NamespaceAlreadyExistsError",
    "NamespaceNotEmptyError",
    "NamespaceNotFoundError",
    "PermissionDeniedError",
    "ServiceUnavailableError",
    "TableAlreadyExistsError",
    "TableBranchAlreadyExistsError",
    "TableBranchNotFoundError",
    "TableColumnNotFoundError",
    "TableIndexAlreadyExistsError",
    "TableIndexNotFoundError",
    "TableNotFoundError",
    "TableSchemaValidationError",
    "TableTagAlreadyExistsError",
    "TableTagNotFoundError",
    "TableVersionAlreadyExistsError",
    "TableVersionNotFoundError",
    "ThrottlingError",
    "TransactionNotFoundError",
    "UnauthenticatedError",
    "UnknownOutcomeError",
    "UnsupportedOperationError",
    "base_of_views",
    "branch_exists",
    "branch_not_found",
    "from_error_code",
    "is_unanswered",
    "is_unavailable",
    "lacks_permission",
    "namespace_exists",
    "namespace_not_empty",
    "namespace_not_found",
    "protected",
    "storage_failure",
    "table_exists",
    "table_not_found",
    "tag_not_found",
    "version_exists",
    "version_not_found",
    "without_secrets",
]


DENIED = re.compile(
    r"Permission denied|lacked the necessary privileges|status code: 40[13]\b"
    r"|SignatureDoesNotMatch|InvalidAccessKeyId|AccessDenied|AuthenticationFailed"
)
UNAVAILABLE = re.compile(
    r"error sending request|operation timed out|Connection refused|Connection reset"
    r"|status code: (429|5\d\d)\b|NoSuchBucket|ContainerNotFound"
)
SECRETS = re.compile(
    r"((?:sig|x-amz-signature|x-amz-security-token|x-amz-credential|x-goog-signature)=)[^&\s\"<>]+",
    re.IGNORECASE,
)


class TableVersionAlreadyExistsError(ConcurrentModificationError):
    """Raised when a version of this number was committed by somebody else."""


class UnknownOutcomeError(InternalError):
    """Raised when a commit may or may not have landed, and storage does not let us find out.

    Whoever catches it must leave alone what the commit would refer to.
    """


def namespace_not_found(identifier: Identifier) -> NamespaceNotFoundError:
    """The error for a namespace that is not there."""
    return NamespaceNotFoundError(f"namespace {identifier} does not exist")


def namespace_exists(identifier: Identifier, *, as_table: bool = False) -> LanceNamespaceError:
    """The error for a namespace whose name is taken, by another namespace or by a table."""
    what = "a table of that name exists" if as_table else "it exists"
    return NamespaceAlreadyExistsError(f"cannot create namespace {identifier}: {what}")


def namespace_not_empty(identifier: Identifier) -> NamespaceNotEmptyError:
    """The error for dropping a namespace that has children."""
    return NamespaceNotEmptyError(
        f"namespace {identifier} is not empty: drop its tables and namespaces first, "
        "or drop it with behavior=cascade"
    )


def table_not_found(identifier: Identifier) -> TableNotFoundError:
    """The error for a table that is not there."""
    # lancedb recognises a missing table by these words.
    return TableNotFoundError(f"table {identifier} was not found")


def table_exists(identifier: Identifier, what: str = "it exists") -> TableAlreadyExistsError:
    """The error for a table whose name is taken; `what` says by what."""
    return TableAlreadyExistsError(f"cannot create table {identifier}: {what}")


def in_the_making(identifier: Identifier) -> ConcurrentModificationError:
    """The error for a table that another writer has not done with."""
    return ConcurrentModificationError(
        f"another writer is creating or dropping table {identifier}; try again later"
    )


def version_not_found(identifier: Identifier, number: int) -> TableVersionNotFoundError:
    """The error for a version that is not there."""
    return TableVersionNotFoundError(f"table {identifier} has no version {number}")


def tag_not_found(identifier: Identifier, tag: str) -> TableTagNotFoundError:
    """The error for a tag that is not there."""
    return TableTagNotFoundError(f"table {identifier} has no tag {tag!r}")


def branch_not_found(identifier: Identifier, branch: str) -> TableBranchNotFoundError:
    """The error for a branch that is not there."""
    return TableBranchNotFoundError(f"table {identifier} has no branch {branch!r}")


def branch_exists(identifier: Identifier, branch: str) -> TableBranchAlreadyExistsError:
    """The error for a branch whose name is taken."""
    return TableBranchAlreadyExistsError(f"table {identifier} has a branch {branch!r} already")


def version_exists(
    identifier: Identifier, number: int, last: int
) -> TableVersionAlreadyExistsError:
    """The error for a version that somebody else committed, or that others have gone beyond."""
    return TableVersionAlreadyExistsError(
        f"table {identifier} is at version {last}, so version {number} cannot be created: "
        "open it anew and try again"
    )


def protected(identifier: Identifier) -> InvalidTableStateError:
    """The error for dropping or overwriting what carries the property ``protected``."""
    return InvalidTableStateError(
        f"{identifier} is protected: unset its property 'protected' before dropping it"
    )


def base_of_views(identifier: Identifier, views: Sequence[Identifier]) -> InvalidTableStateError:
    """The error for removing a table that views are made of."""
    names = ", ".join(map(str, views))
    return InvalidTableStateError(
        f"table {identifier} is the base of {names}: drop what is made of it first"
    )


def lacks_permission(cause: BaseException) -> bool:
    """Whether storage failed for a missing permission; Lance says so in its text only."""
    return isinstance(cause, PermissionError) or bool(DENIED.search(str(cause)))


def is_unavailable(cause: BaseException) -> bool:
    """Whether storage does not answer, or only that it cannot now; Lance says so in its text."""
    return isinstance(cause, ConnectionError) or bool(UNAVAILABLE.search(str(cause)))


def is_unanswered(cause: BaseException) -> bool:
    """Whether a request was sent, perhaps, and no answer came: it may yet be carried out."""
    return is_unavailable(cause) and "error sending request" in str(cause)


def without_secrets(text: str) -> str:
    """A text without the signatures and tokens that URLs and requests carry."""
    return SECRETS.sub(r"\1***", text)


def storage_failure(doing: str, cause: OSError) -> LanceNamespaceError:
    """The error for what storage failed with.

    15 for a missing permission, 17 for a store that cannot be reached, 18 for the rest. Raise it
    `from` the cause.
    """
    text = without_secrets(str(cause))
    if lacks_permission(cause):
        return PermissionDeniedError(f"permission denied while {doing}: {text}")
    if is_unavailable(cause):
        return ServiceUnavailableError(f"storage does not answer while {doing}: {text}")
    return InternalError(f"storage failed while {doing}: {text}")
