"""Commits that carry the id of a write, by which they are found again if a reply is lost."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lanceyard import errors
from lanceyard.spark.reference import Place, open_table

if TYPE_CHECKING:
    from lance import LanceDataset, LanceOperation, Transaction

WRITE = "lanceyard.write"
"""The transaction property that holds the id of a write."""


def land(
    target: LanceDataset | str,
    operation: LanceOperation.BaseOperation,
    properties: dict[str, str],
    place: Place,
    *,
    retries: int,
    stable_row_ids: bool | None = None,
) -> LanceDataset:
    """Commit an operation that carries properties, as the first version or after an open one.

    Only the first version says whether rows keep their ids.
    """
    from lance import LanceDataset, Transaction

    base = 0 if isinstance(target, str) else int(target.version)
    transaction = Transaction(base, operation, str(uuid.uuid4()), properties)
    through: dict[str, Any] = {}
    if place.managed is not None:
        through = {**place.managed.for_pylance(), "namespace_client_managed_versioning": True}
    return LanceDataset.commit(
        target,
        transaction,
        max_retries=retries,
        storage_options=place.options,
        enable_stable_row_ids=stable_row_ids,
        **through,
    )


def history(dataset: LanceDataset, since: int) -> Iterator[Transaction]:
    """The commits of a table, newest first, down to a version (excluded).

    Raises
    ------
    TableVersionNotFoundError
        A version in between was cleaned away.
    """
    for version in range(int(dataset.version), since, -1):
        try:
            found = dataset.read_transaction(version)
        except (OSError, ValueError) as cause:
            raise errors.TableVersionNotFoundError(
                f"version {version} of {dataset.uri} was cleaned away"
            ) from cause
        if found is not None:
            yield found


def find_write(place: Place, write_id: str, since: int) -> Transaction | None:
    """The commit of a write, if it landed after a version."""
    for found in history(open_table(place), since):
        if (found.transaction_properties or {}).get(WRITE) == write_id:
            return found
    return None


def rows_of(place: Place, write_id: str, since: int) -> int:
    """How many rows a write added that landed after a version."""
    found = find_write(place, write_id, since)
    operation: Any = None if found is None else found.operation
    return 0 if found is None else sum(int(each.physical_rows) for each in operation.fragments)
