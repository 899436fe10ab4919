"""The operations on transactions, over any catalog that has them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from lance_namespace import (
    AlterTransactionRequest,
    AlterTransactionResponse,
    DescribeTransactionRequest,
    DescribeTransactionResponse,
)
from lance_namespace_urllib3_client.models.alter_transaction_action import AlterTransactionAction

from lanceyard import errors
from lanceyard.catalog.transactions import Status, Transaction, Transactions
from lanceyard.namespace.operations import Operations, operation, tells_failures
from lanceyard.namespace.requests import read_choice, read_request


class Ending(Enum):
    """The statuses that a running transaction can be given."""

    SUCCEEDED = "succeeded"
    """Commit it."""
    CANCELED = "canceled"
    """Abort it."""


class PutMode(Enum):
    """What putting does when the property exists."""

    OVERWRITE = "overwrite"
    FAIL = "fail"
    SKIP = "skip"


class UnsetMode(Enum):
    """What unsetting does when the property does not exist."""

    SKIP = "skip"
    FAIL = "fail"


class TransactionOperations(Operations):
    """Begin, join, describe, commit and abort transactions over many tables."""

    @tells_failures
    def begin_transaction(self, properties: Mapping[str, str] | None = None) -> Transaction:
        """Begin a transaction: an extension of the specification."""
        return self._transactions().begin(properties or {})

    @tells_failures
    def join_transaction(self, transaction_id: str) -> Transaction:
        """Take part in a transaction that another process began: an extension."""
        return self._transactions().join(transaction_id)

    @operation
    def describe_transaction(
        self, request: DescribeTransactionRequest
    ) -> DescribeTransactionResponse:
        """Tell what became of a transaction, and its properties."""
        request = read_request(DescribeTransactionRequest, request)
        transaction = self._transactions().find(_read_id(request.id))
        return DescribeTransactionResponse(
            status=transaction.status().value, properties=dict(transaction.properties())
        )

    @operation
    def alter_transaction(self, request: AlterTransactionRequest) -> AlterTransactionResponse:
        """Put and unset properties of a transaction, and commit or abort it: all, or nothing."""
        request = read_request(AlterTransactionRequest, request)
        transaction = self._transactions().find(_read_id(request.id))
        before = dict(transaction.properties())
        after, ending = before, None
        for action in request.actions:
            after, ending = _apply(action, after, ending)
        if transaction.status() is not Status.RUNNING:
            raise errors.InvalidInputError(
                f"transaction {transaction.id} has ended: {transaction.status().value}"
            )
        if after != before:
            put = {k: v for k, v in after.items() if before.get(k) != v}
            transaction.alter(put, before.keys() - after.keys())
        if ending is Ending.SUCCEEDED:
            transaction.commit()
        elif ending is Ending.CANCELED:
            transaction.abort()
        return AlterTransactionResponse(status=transaction.status().value, properties=after)

    def _transactions(self) -> Transactions:
        if self._catalog.transactions is None:
            raise errors.UnsupportedOperationError("this catalog has no transactions")
        return self._catalog.transactions


def _read_id(names: list[str] | None) -> str:
    if not names:
        raise errors.InvalidInputError("a transaction is known by its id")
    return names[-1]


def _apply(
    action: AlterTransactionAction, properties: dict[str, str], ending: Ending | None
) -> tuple[dict[str, str], Ending | None]:
    """Properties, and how the transaction is to end, after one more action."""
    status, put, unset = (
        action.set_status_action,
        action.set_property_action,
        action.unset_property_action,
    )
    if sum(each is not None for each in (status, put, unset)) != 1:
        raise errors.InvalidInputError("each action on a transaction names exactly one thing to do")
    if status is not None:
        if status.status is None:
            raise errors.InvalidInputError("which status?")
        return properties, read_choice(Ending, status.status, Ending.CANCELED)
    if put is not None:
        return _put(properties, put.key, put.value, put.mode), ending
    assert unset is not None
    return _unset(properties, unset.key, unset.mode), ending


def _put(
    properties: dict[str, str], key: str | None, value: str | None, text: str | None
) -> dict[str, str]:
    mode = read_choice(PutMode, text, PutMode.OVERWRITE)
    if key is None or value is None:
        raise errors.InvalidInputError("a property has a key and a value")
    if key in properties and mode is PutMode.FAIL:
        raise errors.ConcurrentModificationError(f"property {key!r} exists")
    return properties if key in properties and mode is PutMode.SKIP else {**properties, key: value}


def _unset(properties: dict[str, str], key: str | None, text: str | None) -> dict[str, str]:
    mode = read_choice(UnsetMode, text, UnsetMode.SKIP)
    if key is None:
        raise errors.InvalidInputError("a property has a key")
    if key not in properties and mode is UnsetMode.FAIL:
        raise errors.InvalidInputError(f"there is no property {key!r}")
    return {k: v for k, v in properties.items() if k != key}
