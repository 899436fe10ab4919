"""Lists: each principal sees what it may, as if nothing else were there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lanceyard
from lanceyard import errors
from lanceyard.rest.protocol import BY_NAME
from lanceyard.server.security.lists import NAMES
from lanceyard.server.security.principals import ANYONE
from lanceyard.server.security.security import Security

from .people import ALICE, granting, security

LETTERS = st.sampled_from("abcd")
PATHS = st.lists(LETTERS, min_size=1, max_size=3).map(tuple)
ROLES = st.sampled_from(["reader", "writer", "owner"])
Path = tuple[str, ...]


class Stingy(lanceyard.MemoryNamespace):
    """A namespace that gives three names at a time, whatever it is asked for."""

    def list_namespaces(self, request: Any) -> Any:
        return super().list_namespaces(_few(request))

    def list_tables(self, request: Any) -> Any:
        return super().list_tables(_few(request))

    def list_all_tables(self, request: Any) -> Any:
        return super().list_all_tables(_few(request))


def _few(request: Mapping[str, Any]) -> Any:
    return {**request, "limit": min(3, request.get("limit") or 3)}


def fill(namespace: lanceyard.MemoryNamespace, tables: set[Path]) -> None:
    """Declare tables, and all the namespaces that they are in."""
    parents = {path[:depth] for path in tables for depth in range(1, len(path))}
    for parent in sorted(parents):
        namespace.create_namespace({"id": list(parent)})  # type: ignore[arg-type]
    for path in sorted(tables - parents):
        namespace.declare_table({"id": list(path)})  # type: ignore[arg-type]


def pages(
    guard: Security, namespace: Any, operation: str, said: Mapping[str, Any], limit: int | None
) -> Iterator[list[str]]:
    """The pages of a list, one after the other."""
    token = None
    while True:
        asked = {**said, "limit": limit, "page_token": token}
        answer = guard.carry_out(ALICE, namespace, BY_NAME[operation], asked)
        names = getattr(answer, NAMES[operation])
        yield names
        token = answer.page_token
        if token is None:
            return
        assert token == names[-1]


def is_visible(grants: set[Path], operation: str, path: Path) -> bool:
    """The rule, said once more: tables below a grant, and namespaces below or above one."""
    below = any(path[: len(grant)] == grant for grant in grants)
    above = any(grant[: len(path)] == path for grant in grants)
    return below or (operation == "ListNamespaces" and above)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    tables=st.sets(PATHS, max_size=25),
    grants=st.dictionaries(PATHS | st.just(()), ROLES, min_size=1, max_size=4),
    operation=st.sampled_from(sorted(NAMES)),
    parent=st.lists(LETTERS, max_size=2).map(tuple),
    limit=st.none() | st.integers(1, 5),
    kind=st.sampled_from([Stingy, lanceyard.MemoryNamespace]),
)
def test_a_filtered_list_is_the_full_one_without_what_is_hidden(
    tables: set[Path],
    grants: dict[Path, str],
    operation: str,
    parent: Path,
    limit: int | None,
    kind: type[lanceyard.MemoryNamespace],
) -> None:
    namespace = kind()
    fill(namespace, tables)
    at = () if operation == "ListAllTables" else parent
    said = {} if operation == "ListAllTables" else {"id": list(parent)}
    everybody = lanceyard.MemoryNamespace()
    fill(everybody, tables)
    try:
        answer = getattr(everybody, BY_NAME[operation].function)(dict(said))
    except errors.NamespaceNotFoundError:
        return
    guard = granting(*(("alice", role, list(path)) for path, role in grants.items()))
    expected = [
        name
        for name in getattr(answer, NAMES[operation])
        if is_visible({*grants}, operation, (*at, *name.split("$")))
    ]
    found = list(pages(guard, namespace, operation, said, limit))
    assert [name for page in found for name in page] == expected
    sees_all = any(at[: len(path)] == path for path in grants)
    if limit is not None and not (sees_all and kind is Stingy):
        assert all(len(page) == limit for page in found[:-1])
        assert found[-1] or not expected


def test_pages_are_full_though_most_names_are_hidden() -> None:
    namespace = Stingy()
    fill(namespace, {("n", f"t{number:02}") for number in range(60)})
    grants = [("alice", "reader", f"n$t{number:02}") for number in range(7, 60, 13)]
    found = list(pages(granting(*grants), namespace, "ListTables", {"id": ["n"]}, 2))
    assert found == [["t07", "t20"], ["t33", "t46"], ["t59"]]


def test_a_token_may_be_any_name_also_a_hidden_one() -> None:
    namespace = lanceyard.MemoryNamespace()
    fill(namespace, {("n", name) for name in "abcdef"})
    guard = granting(("alice", "reader", "n$b"), ("alice", "reader", "n$e"))
    said = {"id": ["n"], "page_token": "c", "limit": 1}
    answer = guard.carry_out(ALICE, namespace, BY_NAME["ListTables"], said)
    assert (answer.tables, answer.page_token) == (["e"], None)


def test_tables_that_are_only_declared_are_left_out_if_asked() -> None:
    namespace = lanceyard.MemoryNamespace()
    fill(namespace, {("n", "t")})
    guard = granting(("alice", "reader", "n$t"))
    said = {"id": ["n"], "include_declared": False}
    assert guard.carry_out(ALICE, namespace, BY_NAME["ListTables"], said).tables == []


@pytest.mark.parametrize("said", [{"limit": 0}, {"limit": -1}, {"limit": "many"}, {"id": "n"}])
def test_a_bad_request_is_refused_whoever_asks(said: dict[str, Any]) -> None:
    namespace = lanceyard.MemoryNamespace()
    for guard in (granting(("alice", "reader", "n$t")), granting(("alice", "reader", ""))):
        with pytest.raises(errors.InvalidInputError):
            guard.carry_out(ALICE, namespace, BY_NAME["ListTables"], said)


def test_a_catalog_that_repeats_a_page_for_ever_is_given_up() -> None:
    class Stuck(lanceyard.MemoryNamespace):
        def list_tables(self, request: Any) -> Any:
            return BY_NAME["ListTables"].response(tables=["x"], page_token="x")

    guard = granting(("alice", "reader", "t"))
    with pytest.raises(errors.InternalError):
        guard.carry_out(ALICE, Stuck(), BY_NAME["ListTables"], {})


def test_without_grants_everybody_sees_everything() -> None:
    namespace = lanceyard.MemoryNamespace()
    fill(namespace, {("t",)})
    guard = security(keys=[{"name": "alice", "sha256": "0" * 64}])
    assert guard.carry_out(ALICE, namespace, BY_NAME["ListAllTables"], {}).tables == ["t"]
    assert security().carry_out(ANYONE, namespace, BY_NAME["ListTables"], {}).tables == ["t"]
