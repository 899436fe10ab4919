"""Credentials in the answers of a server that keeps answers, and answers many at once."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import lanceyard
from lanceyard.errors import InvalidInputError
from lanceyard.server.security.keys import new_key
from tests.rest.serving import server

from . import giving
from .giving import HANGING, Till

FLEETING = {"kind": "hook", "hook": f"{giving.__name__}:fleeting"}


@pytest.fixture
def till(monkeypatch: pytest.MonkeyPatch) -> Iterator[Till]:
    found = Till()
    monkeypatch.setattr(giving, "TILL", found)
    yield found
    found.open.set()


@pytest.fixture
def yard(tmp_path: Path) -> Iterator[lanceyard.Yard]:
    """A catalog that answers from memory, with a table `t`."""
    with lanceyard.open(tmp_path, dir_listing_enabled="false") as found:
        found.create_table("t", pa.table({"n": [1]}))
        yield found


def test_an_answer_with_credentials_is_not_kept(yard: lanceyard.Yard, till: Till) -> None:
    client = lanceyard.RestNamespace(uri=server().serve(yard.namespace, vending=FLEETING))
    answers = [client.describe_table({"id": ["t"]}).storage_options for _ in range(3)]
    assert [each["sas_token"] for each in answers] == ["token1", "token2", "token3"]
    client.close()


def test_who_waits_for_credentials_keeps_nobody_else_waiting(
    yard: lanceyard.Yard, till: Till
) -> None:
    client = lanceyard.RestNamespace(uri=server().serve(yard.namespace, vending=FLEETING))
    till.open.clear()
    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(client.describe_table, {"id": ["t"]})
        while not till.asked:
            assert not waiting.done()
        other = pool.submit(client.list_all_tables, {})
        assert other.result(HANGING / 2).tables == ["t"]
        till.open.set()
        assert waiting.result().storage_options["sas_token"] == "token1"
    client.close()


def test_a_server_with_roles_does_not_start_to_share_its_keys(yard: lanceyard.Yard) -> None:
    security = {
        "keys": [{"name": "ann", "sha256": new_key()[1]}],
        "grants": [{"to": "ann", "role": "reader"}],
    }
    with pytest.raises(InvalidInputError, match="share_keys"):
        server().serve(yard.namespace, security=security, vending={"kind": "static"})
