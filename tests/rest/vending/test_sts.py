"""Credentials of a role that the server assumes."""

from __future__ import annotations

import json
import logging
import sys
import time
from typing import Any

import pytest

from lanceyard.errors import InvalidInputError, ServiceUnavailableError
from lanceyard.server.vending.scopes import Scope
from lanceyard.server.vending.settings import VendingSettings
from lanceyard.server.vending.stock import PAUSE, Stock
from lanceyard.server.vending.sts import Sts

from .sts_endpoint import HANGING, ROLE, TOLD, Answer, StsEndpoint

TABLE = "s3://lake/root/t.lance"


def sts(endpoint: StsEndpoint, **said: Any) -> Sts:
    return Sts(VendingSettings.model_validate({**endpoint.settings, **said}))


def test_the_role_is_assumed_for_one_table(endpoint: StsEndpoint) -> None:
    given = sts(endpoint, duration=1800, session_name="yard").fetch(TABLE, {}, write=True)
    assert given.expires_at == endpoint.now + endpoint.life
    assert given.options == {
        "aws_access_key_id": "ASIA1",
        "aws_secret_access_key": "hidden1",
        "aws_session_token": "token1",
    }
    (asked,) = endpoint.asked
    assert (asked["Action"], asked["RoleArn"]) == ("AssumeRole", ROLE)
    assert (asked["DurationSeconds"], asked["RoleSessionName"]) == ("1800", "yard")
    assert asked["Policy"] == Scope.of(TABLE).policy(write=True)
    assert endpoint.signers == ["SERVER"]


def test_the_policy_is_in_the_partition_of_the_role(endpoint: StsEndpoint) -> None:
    role = ROLE.replace("arn:aws:", "arn:aws-us-gov:")
    sts(endpoint, role_arn=role).fetch(TABLE, {}, write=False)
    objects, _ = json.loads(endpoint.asked[0]["Policy"])["Statement"]
    assert objects["Resource"] == "arn:aws-us-gov:s3:::lake/root/t.lance/*"


def test_without_keys_botocore_finds_its_own(
    endpoint: StsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AMBIENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "x")
    own = {k: v for k, v in endpoint.settings.items() if "access_key" not in k}
    Sts(VendingSettings.model_validate(own)).fetch(TABLE, {}, write=False)
    assert endpoint.signers == ["AMBIENT"]


def garbage() -> Answer:
    return 200, "<html>welcome</html>"


def half() -> Answer:
    return 200, "<AssumeRoleResponse><AssumeRoleResult/></AssumeRoleResponse>"


def failing() -> Answer:
    return 500, "oops"


@pytest.mark.parametrize("answer", ["refuse", garbage, half, failing])
def test_an_sts_that_gives_nothing_is_answered_with_17(
    endpoint: StsEndpoint, answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.answer = endpoint.refuse if answer == "refuse" else answer
    with caplog.at_level(logging.DEBUG, "lanceyard"), pytest.raises(ServiceUnavailableError) as got:
        sts(endpoint).fetch(TABLE, {}, write=False)
    assert (int(got.value.code), got.value.__cause__) == (17, None)
    assert "STS" in caplog.text
    assert 1 <= len(endpoint.asked) <= 2
    for secret in (TOLD, "server-secret", "SERVER"):
        assert secret not in f"{got.value}{caplog.text}"


def test_an_sts_that_hangs_is_left_in_time(endpoint: StsEndpoint) -> None:
    endpoint.answer = endpoint.hang
    begun = time.monotonic()
    with pytest.raises(ServiceUnavailableError):
        sts(endpoint, timeout=1).fetch(TABLE, {}, write=False)
    assert time.monotonic() - begun < HANGING / 2
    assert len(endpoint.asked) <= 2


def test_an_sts_that_does_not_answer_is_left_alone_for_a_moment(endpoint: StsEndpoint) -> None:
    kept = Stock(sts(endpoint, timeout=1), patience=HANGING, clock=endpoint.clock)
    endpoint.answer = endpoint.hang
    with pytest.raises(ServiceUnavailableError):
        kept.take(TABLE, {}, write=False)
    asked = len(endpoint.asked)
    with pytest.raises(ServiceUnavailableError):
        kept.take("s3://lake/other", {}, write=False)
    assert len(endpoint.asked) == asked
    endpoint.answer, endpoint.now = endpoint.give, endpoint.now + PAUSE
    assert kept.take("s3://lake/other", {}, write=False).expires_at


def test_an_sts_that_is_not_there_is_answered_with_17() -> None:
    with StsEndpoint() as gone:
        vendor = sts(gone)
    with pytest.raises(ServiceUnavailableError):
        vendor.fetch(TABLE, {}, write=False)


def test_what_botocore_cannot_work_with_is_refused_at_the_start(
    endpoint: StsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(InvalidInputError, match="ProfileNotFound"):
        sts(endpoint)


def test_an_endpoint_without_a_region_is_refused_at_the_start(
    endpoint: StsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with pytest.raises(InvalidInputError, match="region"):
        sts(endpoint, region=None)


def test_without_botocore_the_text_says_what_to_install(
    endpoint: StsEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "botocore.config", None)
    with pytest.raises(InvalidInputError, match=r"lanceyard\[aws\]"):
        sts(endpoint)
