"""Object stores that refuse, are not there, or say nothing: errors with codes, soon, no secrets."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from lance_namespace.errors import ErrorCode, LanceNamespaceError

import lanceyard
from tests.cloud import bucket
from tests.cloud.conftest import MODES

SECRET = base64.b64encode(b"a secret that nobody may see").decode()
SOON = 10.0

ACTS: dict[str, Callable[[Any], object]] = {
    "list": lambda catalog: catalog.list_tables({"id": []}),
    "describe": lambda catalog: catalog.describe_table({"id": ["t"]}),
    "declare": lambda catalog: catalog.declare_table({"id": ["t"]}),
}
each_act = pytest.mark.parametrize("act", ACTS.values(), ids=ACTS)
each_mode = pytest.mark.parametrize("mode", ["v1", "v2", "compat"])


def refusal(
    act: Callable[[Any], object], root: str, mode: str, address: str | None = None, **storage: str
) -> tuple[int, str]:
    """The code and the text of a refusal, which came soon."""
    told = {f"storage.{name}": value for name, value in storage.items()}
    settings = {**MODES[mode], **bucket.storage(address), **told}
    catalog = lanceyard.DirectoryNamespace(root=root, **settings)
    began = time.monotonic()
    with pytest.raises(LanceNamespaceError) as refused:
        act(catalog)
    assert time.monotonic() - began < SOON
    catalog.close()
    return int(refused.value.code), str(refused.value)


@pytest.mark.needs(checks_signatures=True)
@each_act
@each_mode
def test_a_wrong_secret_is_a_missing_permission(
    root: str, mode: str, act: Callable[[Any], object]
) -> None:
    code, text = refusal(act, root, mode, **{bucket.KIND.secret: SECRET})
    assert code in (ErrorCode.PERMISSION_DENIED, ErrorCode.UNAUTHENTICATED)
    assert SECRET not in text


@pytest.mark.needs(checks_signatures=True)
@each_mode
def test_an_unknown_user_is_a_missing_permission(root: str, mode: str) -> None:
    code, _ = refusal(ACTS["list"], root, mode, **{bucket.KIND.who: "nobody"})
    assert code in (ErrorCode.PERMISSION_DENIED, ErrorCode.UNAUTHENTICATED)


@each_mode
@pytest.mark.parametrize("name", ["list", "describe"])
def test_a_missing_bucket_is_unavailable(mode: str, name: str) -> None:
    code, text = refusal(ACTS[name], bucket.KIND.uri("no-such-bucket") + "root", mode)
    assert code == ErrorCode.SERVICE_UNAVAILABLE
    assert bucket.KIND.no_bucket in text


@each_act
def test_an_endpoint_where_nobody_listens_is_unavailable(
    root: str, act: Callable[[Any], object]
) -> None:
    code, _ = refusal(act, root, "v2", "http://127.0.0.1:9")
    assert code == ErrorCode.SERVICE_UNAVAILABLE


@pytest.mark.parametrize(("mode", "name"), [("v2", "list"), ("v1", "declare")])
def test_an_endpoint_that_says_nothing_is_unavailable(root: str, mode: str, name: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "http://{}:{}".format(*silent.getsockname())
        code, _ = refusal(ACTS[name], root, mode, address)
    assert code == ErrorCode.SERVICE_UNAVAILABLE


def test_credentials_come_from_the_environment(root: str) -> None:
    """In a process of its own: Lance reads it once."""
    said = {k: v for k, v in bucket.environment().items() if not k.endswith("_ALLOW_HTTP")}
    program = (
        "import lanceyard, sys; catalog = lanceyard.DirectoryNamespace(root=sys.argv[1]); "
        "catalog.declare_table({'id': ['t']}); print(*catalog.list_tables({'id': []}).tables)"
    )
    told = subprocess.check_output(
        [sys.executable, "-c", program, root], env={**os.environ, **said}, text=True
    )
    assert told == "t\n"


@pytest.mark.needs(scheme="s3")
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
