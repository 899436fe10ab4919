"""What a metastore refuses, in our words; what a catalog makes of it is the catalog's affair.

InternalError 18
├── MetastoreError: the server answered, and said no
│   ├── AlreadyExistsError, NoSuchObjectError, InvalidObjectError, InvalidOperationError
│   ├── NoSuchLockError, UnknownMethodError
│   └── MetaError: everything else, with the server's text
└── UnknownOutcomeError
    └── LostReplyError: a change was sent, and no answer came
"""

from __future__ import annotations

import re

from thrift.Thrift import TApplicationException, TException

from lanceyard.catalog.hive.metastore.generated import ttypes
from lanceyard.errors import InternalError, UnknownOutcomeError


class MetastoreError(InternalError):
    """Raised when the metastore answers with an error; the text is the server's."""


class AlreadyExistsError(MetastoreError):
    """Raised when a catalog, database or table of that name exists."""


class NoSuchObjectError(MetastoreError):
    """Raised when there is no catalog, database or table of that name."""


class InvalidObjectError(MetastoreError):
    """Raised for a name the server does not allow, or a table in a database that is not there."""


class InvalidOperationError(MetastoreError):
    """Raised for what cannot be done now, such as dropping a database that is not empty."""


class NoSuchLockError(MetastoreError):
    """Raised when a lock was released, or has expired."""


class UnknownMethodError(MetastoreError):
    """Raised when the server does not have a call: it is too old, or too new."""


class MetaError(MetastoreError):
    """Raised for everything else that the server failed with."""


class LostReplyError(UnknownOutcomeError):
    """Raised when a change was sent and no answer came: it may have been made, or not."""


_KINDS: dict[type[TException], type[MetastoreError]] = {
    ttypes.AlreadyExistsException: AlreadyExistsError,
    ttypes.NoSuchObjectException: NoSuchObjectError,
    ttypes.UnknownDBException: NoSuchObjectError,
    ttypes.InvalidObjectException: InvalidObjectError,
    ttypes.InvalidOperationException: InvalidOperationError,
    ttypes.NoSuchLockException: NoSuchLockError,
    ttypes.NoSuchTxnException: NoSuchLockError,
    ttypes.TxnAbortedException: NoSuchLockError,
}


# The constraints of the metastore's own database, whichever that is.
_DUPLICATE = re.compile(r"\bUNIQUE_?(CATALOG|DATABASE|TABLE)\b", re.IGNORECASE)


def refusal(answer: TException) -> MetastoreError:
    """The error for an exception that the server sent. Raise it `from` that."""
    text = getattr(answer, "message", None) or type(answer).__name__
    return _kind(answer, text)(f"the metastore says: {text}")


def _kind(answer: TException, text: str) -> type[MetastoreError]:
    if isinstance(answer, TApplicationException):
        is_unknown = answer.type == TApplicationException.UNKNOWN_METHOD
        return UnknownMethodError if is_unknown else MetaError
    kind = _KINDS.get(type(answer), MetaError)
    # Of several who create the same, those who are a little late meet the constraint.
    return AlreadyExistsError if kind is MetaError and _DUPLICATE.search(text) else kind
