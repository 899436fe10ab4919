"""What the exceptions of a server are taken for."""

from __future__ import annotations

import pytest
from thrift.Thrift import TApplicationException, TException

from lanceyard.catalog.hive.metastore import failures
from lanceyard.catalog.hive.metastore.generated import ttypes

DERBY = (
    "JDODataStoreException: Insert of object failed : The statement was aborted because it would "
    "have caused a duplicate key value in a unique or primary key constraint or unique index "
    "identified by 'UNIQUETABLE' defined on 'TBLS'."
)
POSTGRES = 'ERROR: duplicate key value violates unique constraint "UNIQUE_DATABASE"'
MYSQL = "Duplicate entry 't-1' for key 'TBLS.UNIQUETABLE'"
UNKNOWN = TApplicationException(TApplicationException.UNKNOWN_METHOD, "Invalid method name: 'x'")
BROKEN = TApplicationException(TApplicationException.INTERNAL_ERROR, "Internal error processing x")


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (ttypes.AlreadyExistsException("t"), failures.AlreadyExistsError),
        (ttypes.NoSuchObjectException("t"), failures.NoSuchObjectError),
        (ttypes.UnknownDBException("t"), failures.NoSuchObjectError),
        (ttypes.InvalidObjectException("t"), failures.InvalidObjectError),
        (ttypes.InvalidOperationException("t"), failures.InvalidOperationError),
        (ttypes.TxnAbortedException("t"), failures.NoSuchLockError),
        (ttypes.MetaException("t"), failures.MetaError),
        (ttypes.MetaException(DERBY), failures.AlreadyExistsError),
        (ttypes.MetaException(POSTGRES), failures.AlreadyExistsError),
        (ttypes.MetaException(MYSQL), failures.AlreadyExistsError),
        (UNKNOWN, failures.UnknownMethodError),
        (BROKEN, failures.MetaError),
    ],
)
def test_an_exception_has_one_meaning(answer: TException, kind: type[Exception]) -> None:
    made = failures.refusal(answer)
    assert type(made) is kind
    assert str(answer.message) in str(made)


def test_an_exception_without_a_text_is_named() -> None:
    assert "MetaException" in str(failures.refusal(ttypes.MetaException()))
