"""The client for asyncio, against our own server."""

from __future__ import annotations

import asyncio
import inspect
import io
import pickle
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import lanceyard
from lanceyard.rest.async_client import AsyncRestNamespace
from lanceyard.rest.protocol import EXTENSIONS, OPERATIONS
from tests.conformance.kit import stream

from .scripted import Scripted, answer, silence
from .serving import server

ROWS = pa.table({"n": pa.array([1, 2, 3], pa.int64())})
T = {"id": ["a", "t"]}


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """Where a catalog is served that has a namespace `a`."""
    namespace = lanceyard.DirectoryNamespace(root=str(tmp_path), dir_listing_enabled="false")
    namespace.create_namespace({"id": ["a"]})
    yield server().serve(namespace)
    namespace.close()


def run(address: str, talk: Callable[[AsyncRestNamespace], Coroutine[Any, Any, Any]]) -> Any:
    """Talk to a server in a loop of its own."""

    async def main() -> Any:
        async with AsyncRestNamespace(uri=address) as client:
            return await talk(client)

    return asyncio.run(main())


def test_every_operation_is_a_coroutine() -> None:
    for operation in (*OPERATIONS, *EXTENSIONS):
        method = getattr(AsyncRestNamespace, operation.function)
        assert inspect.iscoroutinefunction(method)
        assert method.__doc__


def test_tables_are_made_changed_and_read(address: str) -> None:
    async def talk(client: AsyncRestNamespace) -> list[int]:
        await client.create_table(T, stream(ROWS))
        await client.update_table({**T, "updates": [["n", "n + 1"]]})
        assert (await client.count_table_rows(T)).count == 3
        found = await client.query_table({**T, "k": 10, "vector": {"single_vector": []}})
        rows: list[int] = pa.ipc.open_file(pa.py_buffer(found.data)).read_all()["n"].to_pylist()
        return rows

    assert sorted(run(address, talk)) == [2, 3, 4]


async def chunks() -> AsyncIterator[bytes]:
    data = stream(ROWS)
    for at in range(0, len(data), 100):
        await asyncio.sleep(0)
        yield data[at : at + 100]
        yield b""


@pytest.mark.parametrize(
    "source",
    [
        lambda: stream(ROWS),
        lambda: bytearray(stream(ROWS)),
        lambda: pa.py_buffer(stream(ROWS)),
        lambda: io.BytesIO(stream(ROWS)),
        lambda: iter([stream(ROWS)[:100], b"", stream(ROWS)[100:]]),
        chunks,
    ],
    ids=["bytes", "bytearray", "buffer", "file", "iterator", "awaited"],
)
def test_rows_come_from_anything(address: str, source: Callable[[], Any]) -> None:
    async def talk(client: AsyncRestNamespace) -> int:
        await client.create_table(T, source())
        count: int = (await client.count_table_rows(T)).count
        return count

    assert run(address, talk) == 3


def test_an_error_of_the_rows_is_the_error_of_the_call(address: str) -> None:
    def failing() -> Iterator[bytes]:
        yield stream(ROWS)[:100]
        raise LookupError("no more rows")

    with pytest.raises(LookupError, match="no more rows"):
        run(address, lambda client: client.create_table(T, failing()))


def test_tasks_share_connections_and_do_not_wait_for_each_other(address: str) -> None:
    async def talk(client: AsyncRestNamespace) -> int:
        names = [f"t{number}" for number in range(40)]
        await asyncio.gather(*(client.declare_table({"id": ["a", name]}) for name in names))
        return len((await client.list_tables({"id": ["a"]})).tables)

    assert run(address, talk) == 40


def test_a_call_that_is_cancelled_leaves_the_client_as_it_was() -> None:
    async def talk(client: AsyncRestNamespace) -> list[str]:
        waiting = asyncio.create_task(client.list_all_tables({}))
        await asyncio.sleep(0.1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        tables: list[str] = (await client.list_all_tables({})).tables
        return tables

    with Scripted(silence, answer({"tables": ["t"]})) as scripted:
        assert run(scripted.address, talk) == ["t"]


def test_a_deadline_of_the_caller_is_kept() -> None:
    async def talk(client: AsyncRestNamespace) -> None:
        async with asyncio.timeout(0.2):
            await client.list_all_tables({})

    with Scripted(silence) as scripted, pytest.raises(TimeoutError):
        run(scripted.address, talk)


def test_a_client_goes_from_loop_to_loop(address: str) -> None:
    client = AsyncRestNamespace(uri=address)

    async def talk() -> list[str]:
        async with client:
            names: list[str] = (await client.list_namespaces({})).namespaces
            return names

    assert [asyncio.run(talk()) for _ in range(2)] == [["a"], ["a"]]


def test_a_client_is_pickled_and_shows_no_secrets(address: str) -> None:
    client = AsyncRestNamespace(uri=address, api_key="hush-key")
    copy = pickle.loads(pickle.dumps(client))
    assert copy.namespace_id() == client.namespace_id() == f"AsyncRestNamespace(uri={address!r})"
