"""Settings in which a name could mean two principals are refused, and secrets are never shown."""

from __future__ import annotations

import pickle
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from lanceyard import errors
from lanceyard.server.security.keys import new_key
from lanceyard.server.security.roles import Role
from lanceyard.server.security.security import Security
from lanceyard.server.security.settings import Grant, SecuritySettings

from .issuer import private_pem

ONE, TWO = "1" * 64, "2" * 64
A = {"issuer": "https://a.example", "audience": "yard"}
B = {"issuer": "https://b.example", "audience": "yard"}


def read(**table: Any) -> SecuritySettings:
    return SecuritySettings.model_validate(table)


def test_settings_are_read_from_a_table() -> None:
    found = read(
        **tomllib.loads(f"""
            keys = [{{name = "ci", sha256 = "{ONE}", groups = ["robots"]}}]
            issuers = [{{issuer = "https://a.example", audience = "yard", prefix = "a:"}}]
            clients = [{{id = "etl", sha256 = "{TWO}"}}]
            grants = [{{to = "group:robots", role = "writer", on = "a$b"}}]
        """)
    )
    assert found.is_on
    assert found.token_lifetime == 3600
    assert found.grants == (Grant(to="group:robots", role=Role.WRITER, on=("a", "b")),)


def test_security_is_off_where_nobody_is_known() -> None:
    assert not read().is_on


@pytest.mark.parametrize(("on", "path"), [("", ()), ("a", ("a",)), (["a.b", "c"], ("a.b", "c"))])
def test_a_grant_is_on_an_object(on: Any, path: tuple[str, ...]) -> None:
    assert Grant(to="*", role="reader", on=on).on == path  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "table",
    [
        {"frobnicate": 1},
        {"keys": [{"name": "a", "sha256": "short"}]},
        {"keys": [{"name": "a", "sha256": ONE.replace("1", "A")}]},
        {"keys": [{"name": "a", "sha256": ONE}, {"name": "a", "sha256": TWO}]},
        {"keys": [{"name": "a", "sha256": ONE}, {"name": "b", "sha256": ONE}]},
        {"keys": [{"name": "a", "sha256": ONE}], "clients": [{"id": "a", "sha256": TWO}]},
        {"keys": [{"name": "group:a", "sha256": ONE}]},
        {"keys": [{"name": "*", "sha256": ONE}]},
        {"keys": [{"name": "anyone", "sha256": ONE}]},
        {"keys": [{"name": "a\nb", "sha256": ONE}]},
        {"issuers": [{**A, "issuer": "http://a.example"}]},
        {"issuers": [{**A, "issuer": "https://a.example?x"}]},
        {"issuers": [{**A, "issuer": "lanceyard"}]},
        {"issuers": [{**A, "audience": ""}]},
        {"issuers": [A, B]},
        {"issuers": [{**A, "prefix": "a:"}, {**A, "prefix": "b:"}]},
        {"issuers": [{**A, "prefix": "a:"}, {**B, "prefix": "a:b:"}]},
        {"issuers": [A], "keys": [{"name": "a", "sha256": ONE}]},
        {"issuers": [{**A, "prefix": "a:"}], "keys": [{"name": "a:x", "sha256": ONE}]},
        {
            "issuers": [{**A, "prefix": "a:"}],
            "clients": [{"id": "x", "sha256": ONE, "groups": ["a:x"]}],
        },
        {"grants": [{"to": "a", "role": "reader"}]},
        {"issuers": [A], "grants": [{"to": "a", "role": "admin"}]},
        {"issuers": [A], "grants": [{"to": "group:", "role": "reader"}]},
        {"issuers": [A], "grants": [{"to": "a", "role": "reader", "on": "a$$b"}]},
        {"issuers": [A], "token_lifetime": 0},
    ],
)
def test_unclear_settings_are_refused(table: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        read(**table)


def test_one_issuer_alone_needs_no_prefix_and_several_need_one_each() -> None:
    assert read(issuers=[A]).is_on
    assert read(issuers=[{**A, "prefix": "a:"}, {**B, "prefix": "b:"}]).is_on


def test_a_key_that_is_pasted_where_its_digest_belongs_is_not_shown() -> None:
    key, digest = new_key()
    with pytest.raises(ValidationError) as failure:
        read(keys=[{"name": "a", "sha256": key}])
    assert key not in str(failure.value)
    assert digest not in repr(read(keys=[{"name": "a", "sha256": digest}]))


def test_processes_that_get_the_settings_share_the_key_of_tokens() -> None:
    secret, digest = new_key()
    settings = read(clients=[{"id": "etl", "sha256": digest}]).with_token_key()
    first, second = (Security(pickle.loads(pickle.dumps(settings))) for _ in range(2))
    form = {"grant_type": "client_credentials", "client_id": "etl", "client_secret": secret}
    token = first.issue_token(form, {})["access_token"]
    shown = {b"authorization": b"Bearer " + token.encode()}
    assert second.authenticate(shown, None).name == "etl"
    assert settings.with_token_key() is settings
    assert "PRIVATE" not in repr(settings)


def test_the_key_of_tokens_comes_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_bytes(private_pem("EdDSA"))
    settings = read(clients=[{"id": "etl", "sha256": ONE}], token_key=file)
    assert settings.with_token_key().signing_key == file.read_bytes()


@pytest.mark.parametrize("content", [b"", b"secret", private_pem("ES256")])
def test_a_file_without_an_ed25519_key_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "key.pem"
    file.write_bytes(content)
    settings = read(clients=[{"id": "etl", "sha256": ONE}], token_key=file)
    with pytest.raises(errors.InvalidInputError, match=r"key\.pem") as failure:
        settings.with_token_key()
    assert "secret" not in str(failure.value)
