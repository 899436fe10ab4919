"""CreateNamespace, DescribeNamespace, NamespaceExists and DropNamespace."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode

from .kit import (
    NAMESPACE_CHANGES,
    NAMESPACE_READS,
    Act,
    Catalog,
    Identifier,
    applies,
    directory,
    each,
    refused,
)

nested = applies(nested=True)
deep = applies(nested=True, deep=True)
flat = applies(nested=False)


@nested
def test_a_created_namespace_exists(catalog: Catalog, ns: list[str]) -> None:
    catalog.namespace_exists(ns)


@nested
def test_creating_a_namespace_returns_its_properties(catalog: Catalog) -> None:
    assert catalog.create_namespace(["a"], properties={"k": "v"}).properties == {"k": "v"}


@nested
@pytest.mark.parametrize("properties", [{"k": "v"}, {"é \"'": "日本\n😀", "empty": ""}])
def test_a_namespace_keeps_its_properties(catalog: Catalog, properties: dict[str, str]) -> None:
    catalog.create_namespace(["a"], properties=properties)
    assert catalog.describe_namespace(["a"]).properties == properties


@nested
@applies(extensions=True)
def test_a_namespace_created_without_properties_has_none(catalog: Catalog, ns: list[str]) -> None:
    assert catalog.describe_namespace(ns).properties == {}


@deep
def test_namespaces_nest_ten_levels_deep(catalog: Catalog) -> None:
    path = [f"level{level}" for level in range(10)]
    for depth in range(1, 11):
        catalog.create_namespace(path[:depth])
    assert catalog.namespaces(path[:9]) == ["level9"]


@deep
def test_equal_names_under_different_parents_are_different_namespaces(catalog: Catalog) -> None:
    for parent in ("a", "b"):
        catalog.create_namespace([parent])
        catalog.create_namespace([parent, "same"], properties={"parent": parent})
    assert catalog.describe_namespace(["a", "same"]).properties == {"parent": "a"}


@nested
@applies(on_disk=True)
def test_another_client_sees_a_created_namespace(catalog: Catalog) -> None:
    catalog.again().create_namespace(["a"], properties={"k": "v"})
    assert catalog.describe_namespace(["a"]).properties == {"k": "v"}


@nested
@applies(on_disk=True)
def test_another_client_sees_a_dropped_namespace(catalog: Catalog, ns: list[str]) -> None:
    catalog.again().drop_namespace(ns)
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.namespace_exists(ns)


@nested
def test_creating_an_existing_namespace_is_refused(catalog: Catalog, ns: list[str]) -> None:
    with refused(ErrorCode.NAMESPACE_ALREADY_EXISTS):
        catalog.create_namespace(ns)


@nested
def test_creating_a_namespace_under_a_missing_parent_is_refused(catalog: Catalog) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.create_namespace(["missing", "a"])


@nested
def test_creating_a_namespace_under_a_table_is_refused(catalog: Catalog, table: list[str]) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.create_namespace([*table, "a"])


@nested
@applies(one_name=True)
@pytest.mark.parametrize("mode", ["create", "exist_ok", "overwrite"])
def test_creating_a_namespace_over_a_table_is_refused(
    catalog: Catalog, table: list[str], mode: str
) -> None:
    """004, Object Name: a name is unique among all objects of the same parent."""
    with refused(ErrorCode.NAMESPACE_ALREADY_EXISTS):
        catalog.create_namespace(table, mode=mode)


@nested
@pytest.mark.parametrize("mode", ["exist_ok", "overwrite"])
def test_every_mode_creates_a_missing_namespace(catalog: Catalog, mode: str) -> None:
    catalog.create_namespace(["a"], mode=mode, properties={"k": "v"})
    assert catalog.describe_namespace(["a"]).properties == {"k": "v"}


@nested
def test_exist_ok_keeps_the_properties_of_an_existing_namespace(catalog: Catalog) -> None:
    catalog.create_namespace(["a"], properties={"old": "1"})
    catalog.create_namespace(["a"], mode="exist_ok", properties={"new": "2"})
    assert catalog.describe_namespace(["a"]).properties == {"old": "1"}


@nested
def test_exist_ok_keeps_what_is_in_the_namespace(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_table([*ns, "t"], 1)
    catalog.create_namespace(ns, mode="exist_ok")
    assert catalog.rows([*ns, "t"]) == [1]


@nested
def test_overwriting_a_namespace_replaces_its_properties(catalog: Catalog) -> None:
    catalog.create_namespace(["a"], properties={"old": "1"})
    catalog.create_namespace(["a"], mode="overwrite", properties={"new": "2"})
    assert catalog.describe_namespace(["a"]).properties == {"new": "2"}


@deep
def test_overwriting_a_namespace_drops_what_was_in_it(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_namespace([*ns, "child"])
    catalog.create_table([*ns, "t"], 1)
    catalog.create_namespace(ns, mode="overwrite")
    assert catalog.namespaces(ns) + catalog.tables(ns) == []


@nested
@pytest.mark.parametrize("mode", ["ExistOk", "exist_ok", "EXIST_OK", "Exist_Ok"])
def test_the_mode_of_creating_is_read_in_any_case(
    catalog: Catalog, ns: list[str], mode: str
) -> None:
    catalog.create_namespace(ns, mode=mode)
    catalog.namespace_exists(ns)


@nested
@pytest.mark.parametrize("mode", ["garbage", ""])
def test_an_unknown_mode_of_creating_is_refused(catalog: Catalog, mode: str) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_namespace(["a"], mode=mode)


def test_creating_a_namespace_without_an_identifier_is_refused(catalog: Catalog) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_namespace(None)


def test_creating_the_root_is_refused(catalog: Catalog) -> None:
    """004, Root Namespace: the root is assumed to always exist."""
    with refused(ErrorCode.NAMESPACE_ALREADY_EXISTS):
        catalog.create_namespace([])


def test_creating_the_root_with_exist_ok_succeeds(catalog: Catalog) -> None:
    catalog.create_namespace([], mode="exist_ok")
    catalog.namespace_exists([])


def test_overwriting_the_root_is_refused(catalog: Catalog) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_namespace([], mode="overwrite")


@pytest.mark.parametrize("identifier", [[], None], ids=["empty", "null"])
@each(NAMESPACE_READS)
def test_the_root_always_exists(catalog: Catalog, act: Act, identifier: Identifier) -> None:
    """004, Name and Identifier for Root Namespace: an empty or null list."""
    act(catalog, identifier)


def test_a_new_root_has_no_properties(catalog: Catalog) -> None:
    assert catalog.describe_namespace([]).properties == {}


def test_a_new_root_is_empty(catalog: Catalog) -> None:
    assert catalog.namespaces([]) + catalog.tables([]) == []


@nested
@each(NAMESPACE_READS)
@pytest.mark.parametrize("missing", [["missing"], ["ns", "missing"], ["missing", "child"]], ids=str)
def test_a_missing_namespace_is_not_found(
    catalog: Catalog, ns: list[str], act: Act, missing: list[str]
) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        act(catalog, missing)


@nested
@each(NAMESPACE_READS | {"drop_namespace": NAMESPACE_CHANGES["drop_namespace"]})
def test_a_table_is_no_namespace(catalog: Catalog, table: list[str], act: Act) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        act(catalog, table)


@applies(nested=True, deep=False)
def test_where_namespaces_do_not_nest_a_child_is_unsupported(
    catalog: Catalog, ns: list[str]
) -> None:
    with refused(ErrorCode.UNSUPPORTED):
        catalog.create_namespace([*ns, "child"])
    assert catalog.namespaces(ns) == []


@applies(nested=True, deep=False)
def test_cascade_drops_every_table_of_a_namespace(catalog: Catalog, ns: list[str]) -> None:
    places = [directory(catalog.create_table([*ns, name], 1).location) for name in "ab"]
    catalog.drop_namespace(ns, behavior="cascade")
    catalog.create_namespace(ns)
    assert (catalog.tables(ns), [place.exists() for place in places]) == ([], [False, False])


@flat
@each(NAMESPACE_READS | NAMESPACE_CHANGES)
def test_child_namespaces_are_unsupported_without_a_manifest(catalog: Catalog, act: Act) -> None:
    """003, Namespace: child namespaces are only supported in V2."""
    with refused(ErrorCode.UNSUPPORTED):
        act(catalog, ["a"])


@flat
def test_without_a_manifest_the_root_has_no_child_namespaces(catalog: Catalog) -> None:
    """003, ListNamespaces: in V1, this operation returns an empty list."""
    catalog.create_table(["t"], 1)
    assert catalog.namespaces([]) == []


@nested
def test_a_dropped_namespace_is_gone(catalog: Catalog, ns: list[str]) -> None:
    catalog.drop_namespace(ns)
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.namespace_exists(ns)


@nested
def test_dropping_a_namespace_returns_its_properties(catalog: Catalog) -> None:
    catalog.create_namespace(["a"], properties={"k": "v"})
    assert catalog.drop_namespace(["a"]).properties == {"k": "v"}


@nested
def test_a_namespace_created_again_starts_afresh(catalog: Catalog) -> None:
    catalog.create_namespace(["a"], properties={"old": "1"})
    catalog.drop_namespace(["a"])
    catalog.create_namespace(["a"], properties={"new": "2"})
    assert catalog.describe_namespace(["a"]).properties == {"new": "2"}


@nested
@pytest.mark.parametrize("mode", [None, "fail", "Fail"])
def test_dropping_a_missing_namespace_is_refused(catalog: Catalog, mode: str | None) -> None:
    with refused(ErrorCode.NAMESPACE_NOT_FOUND):
        catalog.drop_namespace(["missing"], mode=mode)


@nested
@pytest.mark.parametrize("mode", ["skip", "Skip", "SKIP"])
def test_dropping_a_missing_namespace_can_be_skipped(catalog: Catalog, mode: str) -> None:
    catalog.drop_namespace(["missing"], mode=mode)


@nested
@pytest.mark.parametrize("behavior", [None, "restrict", "Restrict"])
def test_dropping_a_namespace_with_a_table_is_refused(
    catalog: Catalog, ns: list[str], behavior: str | None
) -> None:
    catalog.create_table([*ns, "t"], 1)
    with refused(ErrorCode.NAMESPACE_NOT_EMPTY):
        catalog.drop_namespace(ns, behavior=behavior)


@nested
def test_dropping_a_namespace_with_a_declared_table_is_refused(
    catalog: Catalog, ns: list[str]
) -> None:
    catalog.declare_table([*ns, "t"])
    with refused(ErrorCode.NAMESPACE_NOT_EMPTY):
        catalog.drop_namespace(ns)


@deep
def test_dropping_a_namespace_with_a_child_is_refused(catalog: Catalog, ns: list[str]) -> None:
    catalog.create_namespace([*ns, "child"])
    with refused(ErrorCode.NAMESPACE_NOT_EMPTY):
        catalog.drop_namespace(ns)


@deep
@pytest.mark.parametrize("behavior", ["cascade", "Cascade", "CASCADE"])
def test_cascade_drops_everything_below(catalog: Catalog, ns: list[str], behavior: str) -> None:
    catalog.create_namespace([*ns, "child"])
    catalog.create_table([*ns, "child", "t"], 1)
    catalog.drop_namespace(ns, behavior=behavior)
    catalog.create_namespace(ns)
    assert catalog.namespaces(ns) + catalog.tables(ns) == []


@nested
def test_cascade_deletes_the_data_below(catalog: Catalog, ns: list[str]) -> None:
    location = catalog.create_table([*ns, "t"], 1).location
    catalog.drop_namespace(ns, behavior="cascade")
    assert not directory(location).exists()


@nested
@pytest.mark.parametrize("sibling", ["ns2", pytest.param("NS", marks=applies(any_name=True)), "n"])
def test_cascade_spares_a_namespace_with_a_similar_name(
    catalog: Catalog, ns: list[str], sibling: str
) -> None:
    catalog.create_namespace([sibling])
    catalog.create_table([sibling, "t"], 7)
    catalog.drop_namespace(ns, behavior="cascade")
    assert catalog.rows([sibling, "t"]) == [7]


@nested
@pytest.mark.parametrize("fields", [{"mode": "garbage"}, {"behavior": "garbage"}], ids=str)
def test_an_unknown_way_of_dropping_is_refused(
    catalog: Catalog, ns: list[str], fields: dict[str, str]
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.drop_namespace(ns, **fields)


@pytest.mark.parametrize("identifier", [[], None], ids=["empty", "null"])
@pytest.mark.parametrize("behavior", ["restrict", "cascade"])
def test_dropping_the_root_is_refused(
    catalog: Catalog, identifier: Identifier, behavior: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.drop_namespace(identifier, behavior=behavior)
