"""Which names are allowed, and that every allowed one works everywhere."""

from __future__ import annotations

import pytest
from lance_namespace.errors import ErrorCode, LanceNamespaceError

from .kit import (
    NAMESPACE_CHANGES,
    NAMESPACE_READS,
    TABLE_OPERATIONS,
    TABLE_READS,
    TABLE_REMOVALS,
    Act,
    Catalog,
    applies,
    each,
    refused,
)

ODD = [
    "é",
    "e\u0301",
    "日本語",
    "😀",
    " a b ",
    "pct%41",
    "100%",
    "a#b",
    "a?b=c&d",
    "it's",
    'say "hi"',
    "x') OR starts_with(object_id, 'secret",
    "two.parts",
    ".hidden",
    "a:b;c,d",
    "*{}[]<>|`^~",
    "_versions",
    "x" * 200,
    "é" * 100,
]
odd = pytest.mark.parametrize("name", ODD, ids=[f"{at:02}" for at in range(len(ODD))])

any_name = applies(any_name=True)
few_names = applies(any_name=False)

FORBIDDEN = {
    "empty": "",
    "dot": ".",
    "dotdot": "..",
    "manifest": "__manifest",
    "dollar": "a$b",
    "slash": "a/b",
    "climbing": "../up",
    "backslash": "a\\b",
    "newline": "a\nb",
    "nul": "a\0b",
    "delete": "a\x7fb",
    "201_bytes": "x" * 201,
    "202_bytes": "é" * 101,
}
forbidden = pytest.mark.parametrize("name", FORBIDDEN.values(), ids=FORBIDDEN.keys())


@any_name
@odd
def test_a_table_of_any_name_goes_round(catalog: Catalog, home: list[str], name: str) -> None:
    identifier = [*home, name]
    catalog.create_table(identifier, 1, 2)
    assert catalog.tables(home) == [name]
    assert catalog.rows(identifier) == [1, 2]
    location = catalog.directory(identifier)
    catalog.drop_table(identifier)
    assert (catalog.tables(home), location.exists()) == ([], False)


@any_name
@applies(nested=True)
@odd
def test_a_namespace_of_any_name_goes_round(catalog: Catalog, name: str) -> None:
    catalog.create_namespace([name], properties={"k": name})
    catalog.create_table([name, "t"], 1)
    assert (catalog.namespaces([]), catalog.tables([name])) == ([name], ["t"])
    assert catalog.describe_namespace([name]).properties == {"k": name}
    assert catalog.rows([name, "t"]) == [1]
    catalog.drop_table([name, "t"])
    catalog.drop_namespace([name])
    assert catalog.namespaces([]) == []


@any_name
@applies(declare=True)
@applies(on_disk=True)
@odd
def test_a_declared_table_of_any_name_lies_where_it_says(catalog: Catalog, name: str) -> None:
    catalog.declare_table([name])
    assert (catalog.directory([name]) / ".lance-reserved").is_file()


@applies(listing=True)
@odd
def test_a_directory_of_any_name_is_a_table(catalog: Catalog, name: str) -> None:
    marker = catalog.root / f"{name}.lance" / ".lance-reserved"
    marker.parent.mkdir(parents=True)
    marker.write_text("reserved")
    assert catalog.tables([]) == [name]


@any_name
@applies(nested=True)
def test_a_name_may_end_like_a_table_directory(catalog: Catalog, home: list[str]) -> None:
    catalog.create_table([*home, "t.lance"], 1)
    catalog.create_table([*home, "t"], 2)
    assert (catalog.rows([*home, "t.lance"]), catalog.rows([*home, "t"])) == ([1], [2])


@any_name
@pytest.mark.parametrize(("one", "other"), [("t", "T"), ("é", "e\u0301"), ("a", "a ")])
def test_names_that_look_alike_are_different(
    catalog: Catalog, home: list[str], one: str, other: str
) -> None:
    catalog.create_table([*home, one], 1)
    catalog.create_table([*home, other], 2)
    assert (catalog.rows([*home, one]), catalog.rows([*home, other])) == ([1], [2])


@any_name
@applies(nested=True)
def test_an_identifier_may_be_longer_than_a_file_name(catalog: Catalog) -> None:
    path = [letter * 200 for letter in "abc"]
    catalog.create_namespace(path[:1])
    catalog.create_namespace(path[:2])
    catalog.create_table(path, 1)
    assert catalog.rows(path) == [1]


@any_name
@applies(nested=True)
def test_identifiers_that_differ_far_to_the_right_are_different_tables(catalog: Catalog) -> None:
    catalog.create_namespace(["n" * 200])
    tables = [["n" * 200, "t" * 190 + end] for end in "ab"]
    for number, table in enumerate(tables):
        catalog.create_table(table, number)
    assert [catalog.rows(table) for table in tables] == [[0], [1]]


@few_names
@pytest.mark.parametrize("name", ["t", "t_1", "1", "_", "x" * 128], ids=lambda name: name[:5])
def test_a_table_of_a_narrow_name_goes_round(catalog: Catalog, home: list[str], name: str) -> None:
    catalog.create_table([*home, name], 1)
    assert (catalog.tables(home), catalog.rows([*home, name])) == ([name], [1])


@few_names
@pytest.mark.parametrize("name", ["T", "é", "a-b", "a.b", "a b", "x" * 129], ids=lambda n: n[:5])
def test_a_name_that_the_backend_cannot_hold_is_refused(catalog: Catalog, name: str) -> None:
    for refusal in (
        lambda: catalog.create_table([name], 1),
        lambda: catalog.describe_table([name]),
        lambda: catalog.create_namespace([name]),
        lambda: catalog.drop_namespace([name]),
        lambda: catalog.list_tables([name]),
    ):
        with refused(ErrorCode.INVALID_INPUT):
            refusal()
    assert catalog.namespaces([]) + catalog.tables([]) == []


@forbidden
def test_a_table_of_a_forbidden_name_is_refused(catalog: Catalog, name: str) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_table([name], 1)


@applies(nested=True)
@forbidden
def test_a_namespace_of_a_forbidden_name_is_refused(
    catalog: Catalog, ns: list[str], name: str
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.create_namespace([*ns, name])


@forbidden
def test_a_forbidden_name_is_refused_in_reads_too(catalog: Catalog, name: str) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.describe_table([name])


@each(TABLE_OPERATIONS)
def test_every_operation_on_a_table_refuses_a_forbidden_name(catalog: Catalog, act: Act) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        act(catalog, ["a/b"])


@applies(nested=True)
@each(TABLE_OPERATIONS)
def test_every_operation_refuses_a_forbidden_name_of_a_parent(
    catalog: Catalog, ns: list[str], act: Act
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        act(catalog, [*ns, "..", "t"])


@applies(nested=True)
@each(NAMESPACE_READS | NAMESPACE_CHANGES)
def test_every_operation_on_a_namespace_refuses_a_forbidden_name(
    catalog: Catalog, ns: list[str], act: Act
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        act(catalog, ["a$b"])


@applies(nested=True)
@each(TABLE_READS | TABLE_REMOVALS)
def test_a_joined_identifier_is_no_name(catalog: Catalog, ns: list[str], act: Act) -> None:
    catalog.create_table([*ns, "t"], 1)
    with refused(ErrorCode.INVALID_INPUT):
        act(catalog, ["ns$t"])


@applies(on_disk=True)
@forbidden
def test_a_refused_name_leaves_nothing_on_disk(catalog: Catalog, name: str) -> None:
    with pytest.raises(LanceNamespaceError):
        catalog.create_table([name], 1)
    assert not catalog.root.exists() or not [*catalog.root.glob("[!_]*")]


@applies(extensions=True)
@pytest.mark.parametrize("name", [1, None, b"t", ["t"], "\ud800"], ids=repr)
def test_a_name_must_be_text(catalog: Catalog, name: object) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.plain.describe_table({"id": [name]})
