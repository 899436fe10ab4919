"""A server: what tests ask of an object store, whichever it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from tests.background import Background

if TYPE_CHECKING:
    from obstore.store import ObjectStore

BUCKET = "lake"


class Server(ABC):
    """A running object store on this machine's own address, with one bucket.

    A test says what it needs (`@needs(checks_signatures=True)`) and is collected where it is met.
    """

    scheme: ClassVar[str]
    """What URIs of its objects begin with."""
    checks_signatures: ClassVar[bool] = True
    """Wrong credentials are refused."""
    keeps_conditions: ClassVar[bool] = True
    """What is there is not written over if a writer says so (``If-None-Match: *``)."""
    e_tags_are_hashes: ClassVar[bool] = True
    """A copy of an object has the ETag of the original."""
    answers_ranges: ClassVar[bool] = True
    """A range that is all of an object is answered as a range, as Lance wants it."""
    lists_directories: ClassVar[bool] = True
    """A list with a delimiter leaves nothing out."""
    batch: ClassVar[int] = 1_000
    """How many objects are deleted by one request."""
    who: ClassVar[str]
    """The option that names the user."""
    secret: ClassVar[str]
    """The option that proves it, in base64."""
    no_bucket: ClassVar[str]
    """What it says of a bucket that is not there."""

    _running: Background
    address: str
    """Where it listens; a proxy in front of it has another one."""

    @classmethod
    def uri(cls, bucket: str = BUCKET) -> str:
        """The URI of a bucket."""
        return f"{cls.scheme}://{bucket}/"

    @abstractmethod
    def options(self, address: str | None = None) -> dict[str, str]:
        """Lance's storage options, to reach it at its own address or at that of a proxy."""

    @abstractmethod
    def environment(self, address: str | None = None) -> Mapping[str, str]:
        """The same as variables of the environment."""

    @abstractmethod
    def objects(self) -> ObjectStore:
        """All that lies in the bucket."""

    def stop(self) -> None:
        """End it."""
        self._running.stop()
