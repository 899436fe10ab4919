"""Identifiers: which names are valid, and how an identifier is written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanceyard.errors import InvalidInputError
from lanceyard.identifier import Identifier

ODD_NAMES = ["é", "日本", "a b", "v1.0", "50%", "#1", "o'brien", '"q"', "...", "-", "x" * 200]
BAD_NAMES = ["", ".", "..", "__manifest", "a$b", "a/b", "a\\b", "a\nb", "\0", "\x7f", "é" * 101]

letters = st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="$/\\")
names = st.text(letters, min_size=1, max_size=50).filter(lambda name: name not in (".", ".."))


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_names_are_names(name: str) -> None:
    assert Identifier.parse(["a", name]).name == name


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_cannot_stand_on_disk_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError):
        Identifier.parse(["a", name])


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="UTF-8"):
        Identifier.parse(["\ud800"])


@pytest.mark.parametrize("names", [[1], [None], [["a"]], [b"a"]])
def test_a_name_that_is_no_text_is_refused(names: list[str]) -> None:
    with pytest.raises(InvalidInputError):
        Identifier.parse(names)


def test_a_string_is_not_a_list_of_names() -> None:
    with pytest.raises(InvalidInputError, match="not a string"):
        Identifier.parse("abc")


@pytest.mark.parametrize("names", [None, [], ()])
def test_nothing_is_the_root(names: list[str] | None) -> None:
    assert Identifier.parse(names).is_root


def test_the_root_names_itself_in_messages() -> None:
    assert str(Identifier()) == "the root namespace"


def test_an_identifier_is_written_with_dollars() -> None:
    assert Identifier.parse(["a", "b.c"]).object_id == "a$b.c"


def test_the_parent_is_the_identifier_without_its_last_name() -> None:
    assert Identifier.parse(["a", "b", "c"]).parent == Identifier.parse(["a", "b"])


def test_a_child_is_validated_too() -> None:
    with pytest.raises(InvalidInputError):
        Identifier().child("a$b")


def test_the_message_names_the_character_that_no_name_may_have() -> None:
    with pytest.raises(InvalidInputError, match=r"'a\$b' contains '\$'"):
        Identifier.parse(["a$b"])


@given(st.lists(names, min_size=1, max_size=4))
def test_the_written_form_reads_back(parts: list[str]) -> None:
    identifier = Identifier.parse(parts)
    assert Identifier.from_object_id(identifier.object_id) == identifier
