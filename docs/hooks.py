"""What the site takes from outside of this folder: README, CHANGELOG, CONTRIBUTING and benchmarks.

They stay where readers of the repository look for them. Links between all these pages are written
as files of the repository, and turned into pages of the site here.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
GUESTS = {
    "index.md": "README.md",
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    **{
        f"benchmarks/{page.name}": f"benchmarks/{page.name}"
        for page in ROOT.glob("benchmarks/*.md")
    },
}
"""Pages of the site, and the files of the repository that they are made of."""
PAGES = {path: page for page, path in GUESTS.items()}
ALONE = frozenset({"index.md"})
"""Pages that are alone in their section, so that it need not be shown beside them."""
LINK = re.compile(r"(?<=\]\()(?!https?:)([^)\s#]+\.md)(?=[)#])")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the guests to the files of the site."""
    for page, path in GUESTS.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links to files into links to pages."""
    uri = page.file.src_uri
    if uri in ALONE:
        page.meta["hide"] = ["navigation"]
    folder = posixpath.dirname(GUESTS.get(uri, f"docs/{uri}"))

    def to_page(link: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(folder, link[0]))
        target = PAGES.get(path, path.removeprefix("docs/"))
        return posixpath.relpath(target, posixpath.dirname(uri) or ".")

    return LINK.sub(to_page, markdown)
