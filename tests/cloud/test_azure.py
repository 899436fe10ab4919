"""What Azure alone has: another scheme, accounts with keys in base64, shared access signatures."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import lance
import pytest
from lance_namespace.errors import ErrorCode, LanceNamespaceError

import lanceyard
from tests.cloud import bucket
from tests.cloud.conftest import MODES
from tests.cloud.servers.azurite import ACCOUNT, shared_access
from tests.cloud.servers.server import BUCKET
from tests.conformance.kit import numbers, stream

pytestmark = pytest.mark.needs(scheme="az")


def by_signature(signature: str) -> dict[str, str]:
    """The properties of a catalog that is reached by a shared access signature."""
    known = bucket.storage()
    return {**{k: v for k, v in known.items() if "key" not in k}, "storage.sas_token": signature}


def try_out(root: str, **properties: str) -> None:
    """Write a table, append to it, and read it with plain pylance by the options we hand out."""
    with lanceyard.open(root, **properties) as yard:
        yard.namespace.create_namespace({"id": ["ns"]})
        yard.namespace.create_table({"id": ["ns", "t"]}, stream(numbers(1)))
        yard.table("ns.t").append(numbers(2))
        told = yard.namespace.describe_table({"id": ["ns", "t"]})
        options = {**dict(told.storage_options or {}), "allow_http": "true"}
        assert lance.dataset(told.location, storage_options=options).count_rows() == 2


def test_a_root_may_be_written_as_hadoop_does(root: str) -> None:
    path = root.removeprefix(bucket.KIND.uri())
    same = f"abfss://{BUCKET}@{ACCOUNT}.dfs.core.windows.net/{path}"
    try_out(same, **bucket.storage())
    with lanceyard.open(root, **bucket.storage()) as yard:
        assert yard.tables("ns") == ["t"]


def test_a_shared_access_signature_is_enough(root: str) -> None:
    try_out(root, **by_signature(shared_access()))


@pytest.mark.parametrize("name", ["100%", "a#b", "what?", "a b", "%23", "ü"])
def test_names_may_have_what_uris_are_made_of(root: str, name: str) -> None:
    catalog = lanceyard.DirectoryNamespace(
        root=root, **bucket.storage(), dir_listing_enabled="false"
    )
    catalog.create_namespace({"id": [name]})
    catalog.create_table({"id": [name, name]}, stream(numbers(1)))
    catalog.insert_into_table({"id": [name, name]}, stream(numbers(2)))
    assert catalog.count_table_rows({"id": [name, name]}).count == 2
    assert catalog.list_tables({"id": [name]}).tables == [name]
    catalog.drop_table({"id": [name, name]})
    catalog.close()


Act = Callable[[Any], object]
ACTS: dict[str, Act] = {
    "list": lambda catalog: catalog.list_tables({"id": []}),
    "declare": lambda catalog: catalog.declare_table({"id": ["t"]}),
    "create": lambda catalog: catalog.create_table({"id": ["t"]}, stream(numbers(1))),
}
each_act = pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
each_mode = pytest.mark.parametrize("mode", ["v1", "v2", "compat"])


def refusal(root: str, mode: str, act: Act, properties: dict[str, str]) -> tuple[int, str]:
    """The code of a refusal, and all that a traceback of it would say."""

    def attempt() -> None:
        with lanceyard.open(root, **MODES[mode], **properties) as yard:
            act(yard.namespace)

    with pytest.raises(LanceNamespaceError) as refused:
        attempt()
    return int(refused.value.code), "".join(traceback.format_exception(refused.value))


def is_shown(signature: str, text: str) -> bool:
    """Whether a text has what a signature proves itself by, quoted or not."""
    proof = signature.partition("sig=")[2]
    return proof in text or unquote(proof) in text


@each_mode
@each_act
def test_a_signature_that_permits_no_look_is_refused_and_not_shown(
    root: str, mode: str, act: Act
) -> None:
    signature = shared_access("d")
    code, text = refusal(root, mode, act, by_signature(signature))
    assert code == ErrorCode.PERMISSION_DENIED
    assert not is_shown(signature, text)


@each_mode
@pytest.mark.parametrize("act", [ACTS["declare"], ACTS["create"]], ids=["declare", "create"])
@pytest.mark.parametrize("is_new", [True, False])
def test_a_signature_that_permits_a_look_alone_is_refused_and_not_shown(
    root: str, mode: str, act: Act, is_new: bool
) -> None:
    if not is_new:
        with lanceyard.open(root, **MODES[mode], **bucket.storage()) as yard:
            yard.create_table("first", numbers(1))
    signature = shared_access("rl")
    code, text = refusal(root, mode, act, by_signature(signature))
    assert code == ErrorCode.PERMISSION_DENIED
    assert not is_shown(signature, text)


@pytest.mark.parametrize(("mode", "act"), [("v2", ACTS["list"]), ("v1", ACTS["create"])])
def test_a_signature_is_not_shown_where_nobody_listens(root: str, mode: str, act: Act) -> None:
    signature = shared_access()
    nowhere = {"storage.endpoint": f"http://127.0.0.1:9/{ACCOUNT}"}
    code, text = refusal(root, mode, act, by_signature(signature) | nowhere)
    assert code == ErrorCode.SERVICE_UNAVAILABLE
    assert not is_shown(signature, text)


def test_a_signature_is_not_shown_by_a_table_that_is_written_without_permission(root: str) -> None:
    with lanceyard.open(root, **bucket.storage()) as yard:
        yard.create_table("t", numbers(1))
    signature = shared_access("rl")
    insert: Act = lambda catalog: catalog.insert_into_table({"id": ["t"]}, stream(numbers(2)))  # noqa: E731
    code, text = refusal(root, "compat", insert, by_signature(signature))
    assert code == ErrorCode.PERMISSION_DENIED
    assert not is_shown(signature, text)


@pytest.mark.parametrize(("name", "value"), [("account_key", "no key!"), ("sas_token", "no token")])
def test_what_is_no_credential_is_refused_and_not_shown(root: str, name: str, value: str) -> None:
    told = by_signature("") | {f"storage.{name}": value}
    if name != "sas_token":
        del told["storage.sas_token"]
    code, text = refusal(root, "compat", ACTS["list"], told)
    assert code in (ErrorCode.INVALID_INPUT, ErrorCode.PERMISSION_DENIED)
    assert value not in text
