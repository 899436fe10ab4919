"""Snippets: the fenced blocks of a page, in the order in which a reader meets them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
RUN = frozenset({"console", "python", "sql"})
"""Languages that are carried out. A console is a transcript: commands after ``$``, then output."""
SHOWN = frozenset({"json", "text", "toml", "yaml"})
"""Languages that are there to be read; one with a title is a file that others use."""
FENCE = re.compile(
    r"(?:^<!-- not run: (?P<reason>[^>]+?) -->\n+)?"
    r'^```(?P<language>\S*)(?: title="(?P<title>[^"]+)")?\n(?P<code>.*?)^```$',
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Snippet:
    """One block."""

    language: str
    code: str
    line: int
    """Where its code begins in the page."""
    title: str | None = None
    """The file that it is the content of."""
    output: str | None = None
    """What it prints, if the page shows that in a block of text right after it."""
    reason: str | None = None
    """Why it is not carried out."""

    def write(self, folder: Path) -> None:
        """Put it down as the file that it is the content of."""
        assert self.title is not None
        file = folder / self.title
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(self.code)


def read_page(page: Path) -> list[Snippet]:
    """The snippets of a page."""
    return read_snippets(page.read_text())


def read_snippets(text: str) -> list[Snippet]:
    """The snippets of a text, those in comments (which readers do not see) among them."""
    found: list[Snippet] = []
    end = 0
    for match in FENCE.finditer(text):
        between = text[end : match.start()].strip()
        end = match.end()
        if match["language"] == "text" and not between and found and found[-1].language in RUN:
            found[-1] = replace(found[-1], output=match["code"])
            continue
        line = text.count("\n", 0, match.start("code")) + 1
        found.append(
            Snippet(
                match["language"],
                match["code"],
                line,
                title=match["title"],
                reason=match["reason"],
            )
        )
    return found


def pages() -> list[Path]:
    """All pages with snippets: those of the documentation, and those that the site takes in."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
