"""Parts of pages that are made from the code; ``make reference`` writes them."""

from __future__ import annotations

from pathlib import Path

from tests.docs import indexes, routes, settings
from tests.docs.snippets import ROOT

PAGES = {
    ROOT / "docs" / "properties.md": settings.tables,
    ROOT / "docs" / "rest.md": routes.tables,
    ROOT / "docs" / "search.md": indexes.tables,
}


def fill(page: Path) -> str:
    """What a page has to say, with all of its places filled."""
    text = page.read_text()
    for name, table in PAGES[page]().items():
        before, begin, rest = text.partition(f"<!-- generated: {name} -->\n")
        _, end, after = rest.partition("<!-- end -->\n")
        assert end, f"{page.name} has no place for {name}"
        text = f"{before}{begin}\n{table}\n\n{end}{after}"
    return text


if __name__ == "__main__":
    for each in PAGES:
        each.write_text(fill(each))
