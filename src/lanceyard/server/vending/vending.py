"""Vending: the storage options in answers, as each client may have them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from itertools import zip_longest
from typing import Any

from lance_namespace import BatchCommitTablesResponse
from lance_namespace.errors import LanceNamespaceError
from pydantic import BaseModel

from lanceyard.errors import InvalidInputError
from lanceyard.rest.protocol import Operation
from lanceyard.server.vending.credentials import Vendor
from lanceyard.server.vending.hooks import Hook
from lanceyard.server.vending.options import EXPIRES, harmless
from lanceyard.server.vending.settings import Kind, VendingSettings
from lanceyard.server.vending.stock import Stock
from lanceyard.server.vending.sts import Sts

ASKS = "vend_credentials"
OPTIONS = "storage_options"
GIVING = frozenset({"BatchCommitTables", "CreateTable", "DeclareTable", "DescribeTable"})
"""Operations whose answers have storage options."""


class Vending:
    """What clients are given to open tables with.

    Credentials are given unless a request says ``vend_credentials: false``: the specification
    leaves it to us where it says nothing, and pylance and lancedb say nothing when they open or
    declare a table. In a batch they are given to those who ask for them.

    Where credentials are not to be had, a read that asked for them fails. Any other answer is given
    without, and with an end that has passed: so clients ask for credentials, and learn why. A write
    that was carried out is thus never told as a failure.
    """

    def __init__(
        self,
        settings: VendingSettings,
        *,
        has_roles: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Give what the settings say.

        Raises `InvalidInputError` if they would give readers the keys of writers, or cannot work.
        """
        kind = settings.kind or (Kind.NONE if has_roles else Kind.STATIC)
        if kind is Kind.STATIC and has_roles and not settings.share_keys:
            raise InvalidInputError(
                "vending of the kind static gives every reader the keys of the catalog, so roles "
                "mean nothing in storage: choose the kind none, sts or hook, or say share_keys"
            )
        self._is_static = kind is Kind.STATIC
        self._clock = clock
        vendor = _vendor(kind, settings)
        self._stock = vendor and Stock(vendor, patience=settings.timeout, clock=clock)

    def may_wait(self, operation: Operation, said: Mapping[str, Any]) -> bool:
        """Whether to furnish the answer may take long, so that a thread is worth it."""
        return self._stock is not None and operation.name in GIVING and said.get(ASKS) is not False

    def furnish(
        self, operation: Operation, said: Mapping[str, Any], answer: Any, *, may_write: bool
    ) -> Any:
        """An answer with the storage options that this client may have.

        Raises `ServiceUnavailableError` and `InvalidInputError` where it was asked for credentials
        that are not to be had.
        """
        if self._is_static:
            return answer
        if isinstance(answer, BatchCommitTablesResponse):
            return self._furnish_batch(said, answer)
        if not isinstance(answer, BaseModel) or OPTIONS not in type(answer).model_fields:
            return answer
        asked = said.get(ASKS)
        must = operation.only_reads and asked is True
        return self._furnish(answer, wanted=asked is not False, must=must, write=may_write)

    def _furnish_batch(
        self, said: Mapping[str, Any], answer: BatchCommitTablesResponse
    ) -> BatchCommitTablesResponse:
        asked = said.get("operations") or ()
        results = []
        for operation, result in zip_longest(asked[: len(answer.results)], answer.results):
            declared = result.declare_table
            if declared is None:
                results.append(result)
                continue
            wanted = ((operation or {}).get("declare_table") or {}).get(ASKS) is True
            # A batch names no single table; but whoever may declare one may write it.
            given = self._furnish(declared, wanted=wanted, must=False, write=True)
            results.append(result.model_copy(update={"declare_table": given}))
        return answer.model_copy(update={"results": results})

    def _furnish(self, answer: Any, *, wanted: bool, must: bool, write: bool) -> Any:
        """An answer with what is harmless, and with credentials if they are wanted."""
        given = answer.storage_options or {}
        told = harmless(given)
        location = answer.location
        if self._stock and wanted and location and self._stock.covers(location):
            try:
                options, expires_at = self._stock.take(location, given, write=write)
            except LanceNamespaceError:
                if must:
                    raise
                options, expires_at = {}, self._clock()
            told.update(options)
            if expires_at is not None:
                told[EXPIRES] = str(int(expires_at * 1000))
        return answer.model_copy(update={OPTIONS: told or None})


def _vendor(kind: Kind, settings: VendingSettings) -> Vendor | None:
    if kind is Kind.STS:
        return Sts(settings)
    if kind is Kind.HOOK:
        assert settings.hook is not None
        return Hook(settings.hook)
    return None
