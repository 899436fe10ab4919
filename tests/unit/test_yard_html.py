"""What notebooks show of a catalog."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import lanceyard

HOSTILE = "<script>alert('x')&amp;"
VOID = {"br", "hr", "img", "input", "meta"}


class Balance(HTMLParser):
    """Checks that every element that begins also ends, and collects the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: object) -> None:
        assert tag not in VOID
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def shown(html: str) -> list[str]:
    """The texts of HTML that is whole."""
    parser = Balance()
    parser.feed(html)
    parser.close()
    assert not parser.open
    assert len(html) < 20_000
    return parser.text


@pytest.fixture
def yard(tmp_path: Path) -> lanceyard.Yard:
    return lanceyard.open(tmp_path)


def test_a_yard_shows_its_tree(yard: lanceyard.Yard) -> None:
    yard.create_namespace("shop").create_namespace("shop.eu")
    yard.create_table("shop.eu.fruits", {"n": [1]})
    yard.create_table("notes", {"n": [1]})
    assert shown(yard._repr_html_())[1:] == ["notes", "shop/", "eu/", "fruits"]


def test_a_space_shows_what_is_below_it_and_its_properties(yard: lanceyard.Yard) -> None:
    yard.create_namespace("shop", {"owner": "ann"}).create_namespace("other")
    yard.create_table("shop.fruits", {"n": [1]})
    assert shown(yard.space("shop")._repr_html_()) == ["shop", "owner", "ann", "fruits"]


def test_a_table_shows_facts_and_columns(yard: lanceyard.Yard) -> None:
    table = yard.create_table("t", {"n": [1, 2], "s": ["a", "b"]}, properties={"owner": "ann"})
    table.index("n")
    texts = shown(table._repr_html_())
    facts = dict(zip(texts[1::2], texts[2::2], strict=False))
    assert facts["rows"] == "2"
    assert (facts["owner"], facts["index n_idx"]) == ("ann", "n")
    assert texts[-4:] == ["n", "int64", "s", "string"]


def test_a_table_that_was_only_declared_says_so(yard: lanceyard.Yard) -> None:
    assert "declared, without data" in shown(yard.declare("t")._repr_html_())


def test_names_and_values_from_outside_are_escaped(yard: lanceyard.Yard) -> None:
    name = HOSTILE.replace("/", "")
    yard.create_namespace([name], {name: HOSTILE})
    table = yard.create_table([name, name], {HOSTILE: [1]}, properties={HOSTILE: HOSTILE})
    for html in (yard._repr_html_(), yard.space([name])._repr_html_(), table._repr_html_()):
        assert "<script" not in html
        assert any(HOSTILE in text for text in shown(html))


def test_what_is_shown_is_bounded(yard: lanceyard.Yard) -> None:
    for number in range(150):
        yard.create_namespace([f"{number:03}-{'n' * 150}"])
    texts = shown(yard._repr_html_())
    assert texts[-1] == "… and more"
    assert len(texts) == 102
    wide = yard.create_table("wide", {f"{n}-{'c' * 200}": [1] for n in range(150)})
    assert shown(wide._repr_html_())[-1] == "… and more"


def test_an_empty_catalog_says_so(yard: lanceyard.Yard) -> None:
    yard.create_namespace("shop")
    assert shown(yard.space("shop")._repr_html_()) == ["shop", "nothing in it yet"]
    yard.drop("shop")
    assert shown(yard._repr_html_())[-1] == "nothing in it yet"
