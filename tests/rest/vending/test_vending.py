"""What answers give to whom."""

from __future__ import annotations

from typing import Any

import pytest
from lance_namespace import (
    BatchCommitTablesResponse,
    CreateTableResponse,
    DeclareTableResponse,
    DescribeTableResponse,
    RegisterTableResponse,
)
from lance_namespace_urllib3_client.models.commit_table_result import CommitTableResult
from pydantic import BaseModel

from lanceyard.errors import InvalidInputError, ServiceUnavailableError
from lanceyard.rest.protocol import BY_NAME, Answer
from lanceyard.server.vending.settings import VendingSettings
from lanceyard.server.vending.vending import GIVING, Vending

from . import giving
from .sts_endpoint import StsEndpoint

KEYS = {"aws_access_key_id": "AKIA", "aws_secret_access_key": "x", "aws_region": "eu-north-1"}
HARMLESS = {"aws_region": "eu-north-1"}
TABLE = DescribeTableResponse(location="s3://lake/t", storage_options=KEYS)
DESCRIBE = BY_NAME["DescribeTable"]


def vending(*, has_roles: bool = False, clock: Any = None, **said: Any) -> Vending:
    how = {} if clock is None else {"clock": clock}
    return Vending(VendingSettings.model_validate(said), has_roles=has_roles, **how)


def by(endpoint: StsEndpoint) -> Vending:
    return vending(**endpoint.settings, clock=endpoint.clock)


def options(
    vending: Vending,
    answer: Any = TABLE,
    *,
    operation: str = "DescribeTable",
    may_write: bool = False,
    **said: Any,
) -> Any:
    furnished = vending.furnish(BY_NAME[operation], said, answer, may_write=may_write)
    return furnished.storage_options


def given(number: int, end: float) -> dict[str, str]:
    """What the endpoint gave, as clients get it."""
    return {
        **HARMLESS,
        "aws_access_key_id": f"ASIA{number}",
        "aws_secret_access_key": f"hidden{number}",
        "aws_session_token": f"token{number}",
        "expires_at_millis": str(int(end * 1000)),
    }


def test_without_roles_clients_have_what_the_catalog_has() -> None:
    assert options(vending()) == KEYS


def test_with_roles_nobody_has_a_key() -> None:
    assert options(vending(has_roles=True), may_write=True) == HARMLESS
    assert options(vending(kind="none")) == HARMLESS


def test_readers_do_not_get_the_keys_of_writers_unless_told() -> None:
    with pytest.raises(InvalidInputError, match="share_keys"):
        vending(kind="static", has_roles=True)
    assert options(vending(kind="static", share_keys=True, has_roles=True)) == KEYS


def test_an_answer_is_not_changed_for_others() -> None:
    options(vending(kind="none"))
    assert TABLE.storage_options == KEYS


@pytest.mark.parametrize("asked", [{}, {"vend_credentials": None}, {"vend_credentials": True}])
def test_credentials_are_given_unless_refused(endpoint: StsEndpoint, asked: Any) -> None:
    end = endpoint.now + endpoint.life
    assert options(by(endpoint), **asked) == given(1, end)


def test_who_wants_no_credentials_gets_none(endpoint: StsEndpoint) -> None:
    assert options(by(endpoint), vend_credentials=False) == HARMLESS
    assert endpoint.asked == []


def test_writers_may_write_and_readers_may_not(endpoint: StsEndpoint) -> None:
    machine = by(endpoint)
    for may_write in (False, True, False, True):
        options(machine, may_write=may_write)
    assert ["s3:PutObject" in asked["Policy"] for asked in endpoint.asked] == [False, True]


@pytest.mark.parametrize("location", ["/data/t.lance", "gs://lake/t", "az://lake/t", None])
def test_what_is_not_on_s3_gets_no_credentials_of_sts(endpoint: StsEndpoint, location: Any) -> None:
    answer = DescribeTableResponse(location=location, storage_options=KEYS)
    assert options(by(endpoint), answer, vend_credentials=True) == HARMLESS
    assert endpoint.asked == []


def test_a_catalog_that_has_its_keys_from_elsewhere_gives_credentials_too(
    endpoint: StsEndpoint,
) -> None:
    found = options(by(endpoint), DescribeTableResponse(location="s3://lake/t"))
    assert found["aws_session_token"] == "token1"


def test_new_tables_come_with_credentials(endpoint: StsEndpoint) -> None:
    machine = by(endpoint)
    for operation, answer in [
        ("DeclareTable", DeclareTableResponse(location="s3://lake/a", storage_options=KEYS)),
        ("CreateTable", CreateTableResponse(location="s3://lake/b", storage_options=KEYS)),
    ]:
        found = options(machine, answer, operation=operation, may_write=True)
        assert found["aws_session_token"].startswith("token")


def batch() -> BatchCommitTablesResponse:
    tables = [
        DeclareTableResponse(location=f"s3://lake/{name}", storage_options=KEYS) for name in "ab"
    ]
    return BatchCommitTablesResponse(
        results=[*(CommitTableResult(declare_table=each) for each in tables), CommitTableResult()]
    )


def test_in_a_batch_those_have_credentials_who_ask(endpoint: StsEndpoint) -> None:
    said = [{"declare_table": {"vend_credentials": True}}, {"declare_table": {}}, {}]
    furnished = by(endpoint).furnish(
        BY_NAME["BatchCommitTables"], {"operations": said}, batch(), may_write=False
    )
    first, second, third = furnished.results
    assert first.declare_table.storage_options == given(1, endpoint.now + endpoint.life)
    assert "s3:PutObject" in endpoint.asked[0]["Policy"]
    assert second.declare_table.storage_options == HARMLESS
    assert third.declare_table is None


def test_a_batch_gives_no_key_away() -> None:
    for said in ({}, {"operations": [{}]}, {"operations": [{}] * 5}):
        found = vending(kind="none").furnish(
            BY_NAME["BatchCommitTables"], said, batch(), may_write=True
        )
        assert len(found.results) == 3
        assert "AKIA" not in found.model_dump_json()


@pytest.mark.parametrize("answer", [RegisterTableResponse(location="s3://lake/t"), 3, "plan", None])
def test_answers_without_options_stay_as_they_are(answer: Any) -> None:
    found = vending(kind="none").furnish(BY_NAME["RegisterTable"], {}, answer, may_write=True)
    assert found is answer


def test_who_asks_for_credentials_learns_that_there_are_none(endpoint: StsEndpoint) -> None:
    endpoint.answer = endpoint.refuse
    with pytest.raises(ServiceUnavailableError):
        options(by(endpoint), vend_credentials=True)


def test_who_does_not_ask_is_told_to_ask_again(endpoint: StsEndpoint) -> None:
    endpoint.answer = endpoint.refuse
    ended = {**HARMLESS, "expires_at_millis": str(int(endpoint.now * 1000))}
    assert options(by(endpoint)) == ended


def test_a_table_that_was_declared_is_no_failure(endpoint: StsEndpoint) -> None:
    endpoint.answer = endpoint.refuse
    answer = DeclareTableResponse(location="s3://lake/t", storage_options=KEYS)
    found = options(by(endpoint), answer, operation="DeclareTable", vend_credentials=True)
    assert found == {**HARMLESS, "expires_at_millis": str(int(endpoint.now * 1000))}


def test_a_table_that_no_policy_can_be_held_to_gets_no_credentials(endpoint: StsEndpoint) -> None:
    answer = DescribeTableResponse(location="s3://lake/a*", storage_options=KEYS)
    with pytest.raises(InvalidInputError, match="cannot be limited"):
        options(by(endpoint), answer, vend_credentials=True)
    assert endpoint.asked == []


def test_a_hook_adds_to_what_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    till = giving.Till()
    monkeypatch.setattr(giving, "TILL", till)
    machine = vending(kind="hook", hook=f"{giving.__name__}:numbered", clock=till.clock)
    answer = DescribeTableResponse(location="az://lake/t", storage_options=KEYS)
    assert options(machine, answer) == {
        **HARMLESS,
        "sas_token": "token1",
        "expires_at_millis": "1100000",
    }
    assert till.asked == [("az://lake/t", False, KEYS)]


def test_what_may_wait_is_known_before(endpoint: StsEndpoint) -> None:
    machine = by(endpoint)
    assert machine.may_wait(DESCRIBE, {})
    assert machine.may_wait(DESCRIBE, {"vend_credentials": True})
    assert not machine.may_wait(DESCRIBE, {"vend_credentials": False})
    assert not machine.may_wait(BY_NAME["ListTables"], {})
    assert not vending().may_wait(DESCRIBE, {"vend_credentials": True})


def has_options(model: Any, seen: frozenset[Any] = frozenset()) -> bool:
    """Whether storage options are anywhere in a model."""
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        parts = getattr(model, "__args__", ())
        return any(has_options(part, seen) for part in parts)
    if model in seen:
        return False
    fields = model.model_fields
    return "storage_options" in fields or any(
        has_options(each.annotation, seen | {model}) for each in fields.values()
    )


def test_every_operation_that_answers_with_options_is_known() -> None:
    modelled = {name: each for name, each in BY_NAME.items() if each.answer is not Answer.TEXT}
    assert {name for name, each in modelled.items() if has_options(each.response)} == GIVING
