"""What can be said of vending."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from pydantic import ValidationError

from lanceyard.server.vending.settings import Kind, VendingSettings

ROLE = "arn:aws:iam::123456789012:role/tables"


def read(**said: Any) -> VendingSettings:
    return VendingSettings.model_validate(said)


def test_nothing_has_to_be_said() -> None:
    assert read().kind is None


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"kind": "magic"}, "'static', 'none', 'sts' or 'hook'"),
        ({"kind": "none", "role_arn": ROLE}, "role_arn belongs to the kind sts"),
        ({"kind": "sts", "role_arn": ROLE, "share_keys": True}, "belongs to the kind static"),
        ({"kind": "static", "timeout": 1}, "belongs to the kind sts or hook"),
        ({"share_keys": True}, "share_keys belongs to the kind static"),
        ({"kind": "sts"}, "needs role_arn"),
        ({"kind": "sts", "role_arn": "tables"}, "role_arn"),
        ({"kind": "sts", "role_arn": ROLE, "duration": 899}, "900"),
        ({"kind": "sts", "role_arn": ROLE, "duration": 43_201}, "43200"),
        ({"kind": "sts", "role_arn": ROLE, "session_name": "a b"}, "session_name"),
        ({"kind": "sts", "role_arn": ROLE, "endpoint": "sts.local"}, "http or https address"),
        ({"kind": "sts", "role_arn": ROLE, "endpoint": "http://u:p@h"}, "no user, password"),
        ({"kind": "sts", "role_arn": ROLE, "access_key_id": "x"}, "come together"),
        ({"kind": "hook"}, "package.module:function"),
        ({"kind": "hook", "hook": "package.module.function"}, "hook"),
        ({"kind": "none", "colour": "red"}, "Extra inputs"),
    ],
)
def test_what_has_no_meaning_is_refused(said: dict[str, Any], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        read(**said)


def test_a_secret_is_shown_nowhere() -> None:
    keys = {"access_key_id": "AKIA", "secret_access_key": "open-sesame"}
    assert "open-sesame" not in repr(read(kind="sts", role_arn=ROLE, **keys))
    with pytest.raises(ValidationError) as failure:
        read(kind="sts", role_arn="open-sesame", **keys)
    assert "open-sesame" not in str(failure.value)


def test_settings_reach_other_processes_whole() -> None:
    keys = {"access_key_id": "AKIA", "secret_access_key": "open-sesame"}
    settings = pickle.loads(pickle.dumps(read(kind="sts", role_arn=ROLE, **keys)))
    assert settings.kind is Kind.STS
    assert settings.secret_access_key.get_secret_value() == "open-sesame"
