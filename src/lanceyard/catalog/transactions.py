"""Transactions: changes to many tables that nobody sees before all are committed at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from enum import Enum

from lanceyard.identifier import Identifier


class Status(Enum):
    """What became of a transaction, in the words of the specification."""

    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"
    CANCELED = "Canceled"


class Transaction(ABC):
    """One transaction, as one of the processes sees it that take part in it.

    All of them see the catalog as it was when it began, and what any of them wrote since to the
    places that `open` and `create` give out. Others see nothing of it before `commit`.
    """

    id: str
    """By which other processes join."""
    storage_options: Mapping[str, str]
    """What pylance needs to open the places that it gives out."""

    @abstractmethod
    def status(self) -> Status:
        """What became of it so far."""

    @abstractmethod
    def properties(self) -> Mapping[str, str]:
        """What was said of it."""

    @abstractmethod
    def alter(self, put: Mapping[str, str], unset: Collection[str]) -> Mapping[str, str]:
        """Put and unset properties, and return what they are then."""

    @abstractmethod
    def tables(self) -> Sequence[Identifier]:
        """The tables that were opened or created in it."""

    @abstractmethod
    def open(self, identifier: Identifier) -> str:
        """Where to read and write a table in this transaction, by any means.

        Raises `TableNotFoundError` for one that was not there when it began.
        """

    @abstractmethod
    def create(self, identifier: Identifier, properties: Mapping[str, str]) -> str:
        """Where to write the first version of a new table. Raises `TableAlreadyExistsError`."""

    @abstractmethod
    def require(self, identifier: Identifier) -> None:
        """Let `commit` fail if somebody else commits to a table that is only read here."""

    @abstractmethod
    def commit(self) -> None:
        """Land everything at once.

        Raises `ConcurrentModificationError`, which names the tables that others have changed since
        it began; then nothing has landed, and nothing is left.
        """

    @abstractmethod
    def abort(self) -> None:
        """Forget everything."""

    @abstractmethod
    def leave(self) -> None:
        """Take part no longer; others may go on."""


class Transactions(ABC):
    """The transactions of a catalog."""

    @abstractmethod
    def begin(self, properties: Mapping[str, str]) -> Transaction:
        """Start one from the state that the catalog is in."""

    @abstractmethod
    def find(self, transaction_id: str) -> Transaction:
        """Look at one without taking part. Raises `TransactionNotFoundError`."""

    @abstractmethod
    def join(self, transaction_id: str) -> Transaction:
        """Take part in one. Raises `TransactionNotFoundError`."""
