"""Object stores that refuse, are not there, or say nothing: errors with codes, soon, no secrets."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
from lance_namespace.errors import ErrorCode, LanceNamespaceError

import lanceyard
from tests.cloud import bucket
from tests.cloud.conftest import MODES

SECRET = "a-secret-that-nobody-may-see"
SOON = 10.0

ACTS: dict[str, Callable[[Any], object]] = {
    "list": lambda catalog: catalog.list_tables({"id": []}),
    "describe": lambda catalog: catalog.describe_table({"id": ["t"]}),
    "declare": lambda catalog: catalog.declare_table({"id": ["t"]}),
}
each_act = pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
each_mode = pytest.mark.parametrize("mode", ["v1", "v2", "compat"])


def refusal(act: Callable[[Any], object], root: str, mode: str, **storage: str) -> tuple[int, str]:
    """The code and the text of a refusal, which came soon."""
    told = {f"storage.{name}": value for name, value in storage.items()}
    catalog = lanceyard.DirectoryNamespace(root=root, **MODES[mode], **bucket.storage() | told)
    began = time.monotonic()
    with pytest.raises(LanceNamespaceError) as refused:
        act(catalog)
    assert time.monotonic() - began < SOON
    catalog.close()
    return int(refused.value.code), str(refused.value)


@each_act
@each_mode
def test_a_wrong_secret_is_a_missing_permission(
    root: str, mode: str, act: Callable[[Any], object]
) -> None:
    code, text = refusal(act, root, mode, secret_access_key=SECRET)
    assert code in (ErrorCode.PERMISSION_DENIED, ErrorCode.UNAUTHENTICATED)
    assert SECRET not in text


@each_mode
def test_an_unknown_key_is_a_missing_permission(root: str, mode: str) -> None:
    code, _ = refusal(ACTS["list"], root, mode, access_key_id="nobody")
    assert code in (ErrorCode.PERMISSION_DENIED, ErrorCode.UNAUTHENTICATED)


@each_mode
@pytest.mark.parametrize("name", ["list", "describe"])
def test_a_missing_bucket_is_unavailable(mode: str, name: str) -> None:
    code, text = refusal(ACTS[name], "s3://no-such-bucket/root", mode)
    assert code == ErrorCode.SERVICE_UNAVAILABLE
    assert "NoSuchBucket" in text


@each_act
def test_an_endpoint_where_nobody_listens_is_unavailable(
    root: str, act: Callable[[Any], object]
) -> None:
    code, _ = refusal(act, root, "v2", endpoint="http://127.0.0.1:9")
    assert code == ErrorCode.SERVICE_UNAVAILABLE


@pytest.mark.parametrize(("mode", "name"), [("v2", "list"), ("v1", "declare")])
def test_an_endpoint_that_says_nothing_is_unavailable(root: str, mode: str, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = "http://{}:{}".format(*silent.getsockname())
        code, _ = refusal(ACTS[name], root, mode, endpoint=endpoint)
    assert code == ErrorCode.SERVICE_UNAVAILABLE


def test_credentials_come_from_the_environment(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in bucket.environment().items():
        if name != "AWS_ALLOW_HTTP":
            monkeypatch.setenv(name, value)
    catalog = lanceyard.DirectoryNamespace(root=root)
    catalog.declare_table({"id": ["t"]})
    assert catalog.list_tables({"id": []}).tables == ["t"]
    catalog.close()


def test_options_have_lances_names_and_those_of_opendal(root: str) -> None:
    known = bucket.storage()
    catalog = lanceyard.DirectoryNamespace(
        root=root,
        **{
            "storage.aws_access_key_id": known["storage.access_key_id"],
            "storage.AWS_SECRET_ACCESS_KEY": known["storage.secret_access_key"],
            "storage.aws_endpoint_url": known["storage.endpoint"],
            "storage.region": "us-east-1",
            "storage.enable_virtual_host_style": "false",
        },
    )
    catalog.declare_table({"id": ["t"]})
    catalog.table_exists({"id": ["t"]})
    catalog.close()
