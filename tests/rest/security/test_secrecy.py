"""Secrecy: nobody learns of what they may not see."""

from __future__ import annotations

import json
from typing import Any

import pytest

import lanceyard
from lanceyard import errors
from lanceyard.rest.protocol import BY_NAME
from lanceyard.server.security.principals import Principal
from lanceyard.server.security.security import Security

from .people import ALICE, granting
from .test_roles import QUERY, VIEW

GUARD = granting(("alice", "owner", "other"), ("bob", "owner", "n"), ("group:x", "reader", ""))


def refusal(guard: Security, operation: str, said: dict[str, Any]) -> str:
    """The text of a refusal."""
    with pytest.raises(errors.PermissionDeniedError) as failure:
        guard.authorize(ALICE, BY_NAME[operation], said)
    return str(failure.value)


@pytest.mark.parametrize("operation", sorted(BY_NAME.keys() - {"ListOperations", "ListAllTables"}))
def test_a_stranger_cannot_tell_what_exists(operation: str) -> None:
    texts = {
        refusal(
            GUARD,
            operation,
            {
                "id": ["n", name],
                "entries": [{"id": ["n", name]}],
                "operations": [{"declare_table": {"id": ["n", name]}}],
                "query": {**QUERY, "id": ["n", name]},
                "source_query": json.dumps(VIEW),
            },
        ).replace(f"n${name}", "n$…")
        for name in ("t", "missing")
    }
    assert len(texts) == 1
    assert "bob" not in texts.pop()


def test_the_owner_of_a_base_does_not_learn_who_made_views_of_it(catalog: Any) -> None:
    catalog.create_materialized_view(
        {
            "id": ["n", "hidden"],
            "kind": "query",
            "source_query": json.dumps({**VIEW, "tables": {"t": ["other", "t"]}}),
            "output_schema": "",
        }
    )
    for operation, said in [
        ("DropTable", {"id": ["other", "t"]}),
        ("DeregisterTable", {"id": ["other", "t"]}),
        ("DropNamespace", {"id": ["other"], "behavior": "cascade"}),
    ]:
        with pytest.raises(errors.InvalidTableStateError) as failure:
            GUARD.carry_out(ALICE, catalog, BY_NAME[operation], said)
        assert "hidden" not in str(failure.value)
    reader = Principal("carol", frozenset({"x"}))
    with pytest.raises(errors.InvalidTableStateError, match="hidden"):
        GUARD.carry_out(reader, catalog, BY_NAME["DropTable"], {"id": ["other", "t"]})


def test_what_somebody_shows_is_not_passed_on() -> None:
    class Curious(lanceyard.MemoryNamespace):
        def describe_namespace(self, request: Any) -> Any:
            assert "identity" not in request
            return super().describe_namespace(request)

    said = {"id": [], "identity": {"api_key": "secret"}}
    reader = granting(("alice", "reader", ""))
    reader.carry_out(ALICE, Curious(), BY_NAME["DescribeNamespace"], said)
    assert "identity" in said
