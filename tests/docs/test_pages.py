"""What the pages show runs, and prints what they say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.docs.reader import Reader
from tests.docs.snippets import RUN, SHOWN, pages, read_page

SPARK = frozenset(
    {"pipelines", "spark", "spark-maintenance", "spark-search", "sql", "sql-reference"}
)
"""Pages that `tests/spark` follows, with the session that its tests share."""
ELSEWHERE = SPARK | {"hive"}
"""Those, and what `tests/hive` follows, on its metastore."""
PAGES = pages()
LINK = re.compile(r"\]\((?!https?:|#)([^)\s]+)\)")


def is_followed(page: Path) -> bool:
    return page.stem not in ELSEWHERE and any(each.language in RUN for each in read_page(page))


@pytest.mark.parametrize("page", [*filter(is_followed, PAGES)], ids=lambda page: page.stem)
def test_a_reader_can_follow_a_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with Reader(page, tmp_path) as reader:
        assert reader.follow()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_snippet_says_what_it_is(page: Path) -> None:
    unknown = [each.line for each in read_page(page) if each.language not in RUN | SHOWN]
    assert unknown == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_leads_to_a_file(page: Path) -> None:
    links = {link.partition("#")[0] for link in LINK.findall(page.read_text())}
    assert [link for link in sorted(links) if not (page.parent / link).is_file()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_settings_can_be_read(page: Path) -> None:
    for snippet in read_page(page):
        assert snippet.language != "toml" or tomllib.loads(snippet.code)
