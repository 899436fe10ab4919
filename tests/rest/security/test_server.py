"""Security over real HTTP: keys, tokens and roles as clients meet them."""

from __future__ import annotations

import json
from typing import Any

import lancedb
import pytest
import urllib3

import lanceyard
from lanceyard.server.security.keys import new_key
from tests.rest.serving import server

from .issuer import AUDIENCE, TestIssuer

POOL = urllib3.PoolManager(retries=False)
KEY, DIGEST = new_key()
SECRET, SECRET_DIGEST = new_key()


@pytest.fixture
def address(catalog: lanceyard.DirectoryNamespace, issuer: TestIssuer) -> str:
    """Where a catalog is served to a key, a client and the people of an issuer."""
    trusted = {"issuer": issuer.address, "audience": AUDIENCE, "prefix": "corp:"}
    security = {
        "keys": [{"name": "ci", "sha256": DIGEST}],
        "clients": [{"id": "etl", "sha256": SECRET_DIGEST}],
        "issuers": [trusted],
        "grants": [
            {"to": "ci", "role": "owner"},
            {"to": "etl", "role": "writer", "on": "n"},
            {"to": "corp:alice", "role": "reader", "on": "other$t"},
        ],
    }
    return server().serve(catalog, security=security)


def ask(method: str, url: str, **headers: str) -> tuple[int, Any]:
    """The status of an answer, and what it says."""
    answer = POOL.request(method, url, headers={k.replace("_", "-"): v for k, v in headers.items()})
    return answer.status, json.loads(answer.data) if answer.data else None


def test_nobody_gets_in_without_saying_who_they_are(address: str) -> None:
    for headers in ({}, {"x_api_key": "wrong"}, {"authorization": "Bearer wrong"}):
        status, said = ask("GET", f"{address}/v1/table", **headers)
        assert (status, said["code"]) == (401, 16)


def test_a_key_opens_what_its_owner_may_see(address: str) -> None:
    expected = {"tables": ["n$t", "other$t"]}
    assert ask("GET", f"{address}/v1/table", x_api_key=KEY) == (200, expected)
    database = lancedb.connect("db://any", api_key=KEY, host_override=address)
    assert database.open_table("t", namespace_path=["n"]).count_rows() == 3


def test_a_token_of_an_issuer_opens_what_its_bearer_may_see(
    address: str, issuer: TestIssuer
) -> None:
    shown = {"authorization": f"Bearer {issuer.token()}"}
    assert ask("GET", f"{address}/v1/table", **shown) == (200, {"tables": ["other$t"]})
    expected = {"namespaces": ["other"]}
    assert ask("GET", f"{address}/v1/namespace/$/list", **shown) == (200, expected)
    refusals = [ask("POST", f"{address}/v1/table/n${t}/describe", **shown) for t in ("t", "x")]
    assert [(status, said["code"]) for status, said in refusals] == [(403, 15)] * 2


def test_a_client_gets_a_token_and_uses_it(address: str) -> None:
    form = {"grant_type": "client_credentials", "client_id": "etl", "client_secret": SECRET}
    answer = POOL.request("POST", f"{address}/oauth/token", fields=form, encode_multipart=False)
    assert answer.headers["cache-control"] == "no-store"
    shown = {"authorization": f"Bearer {json.loads(answer.data)['access_token']}"}
    assert ask("POST", f"{address}/v1/table/n$t/count_rows", **shown) == (200, 3)
    assert ask("POST", f"{address}/v1/table/n$t/drop", **shown)[0] == 403
    assert ask("POST", f"{address}/v1/table/n$new/declare", **shown)[0] == 200


def test_roles_hold_in_front_of_another_server(catalog: lanceyard.DirectoryNamespace) -> None:
    for number in range(5):
        catalog.declare_table({"id": ["n", f"u{number}"]})  # type: ignore[arg-type]
    behind = lanceyard.RestNamespace(uri=server().serve(catalog))
    grants = [{"to": "ci", "role": "reader", "on": f"n$u{number}"} for number in (0, 2, 4)]
    security = {"keys": [{"name": "ci", "sha256": DIGEST}], "grants": grants}
    url = f"{server().serve(behind, security=security)}/v1/namespace/n/table/list?limit=2"
    assert ask("GET", url, x_api_key=KEY) == (200, {"tables": ["u0", "u2"], "page_token": "u2"})
    assert ask("GET", f"{url}&page_token=u2", x_api_key=KEY) == (200, {"tables": ["u4"]})
    behind.close()
