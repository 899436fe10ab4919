"""Notebooks, and how they are run: as a reader does, from the first cell to the last."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.docs.snippets import ROOT

NOTEBOOKS = ROOT / "examples" / "notebooks"
SECONDS = 300


def read(name: str) -> nbformat.NotebookNode:
    """A notebook as it is stored."""
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def run(name: str, home: Path) -> None:
    """Run a notebook in a folder of its own, beside the files that notebooks refer to."""
    shutil.copytree(ROOT / "examples" / "pipeline", home / "pipeline")
    folder = home / "notebooks"
    folder.mkdir()
    NotebookClient(
        read(name), timeout=SECONDS, resources={"metadata": {"path": str(folder)}}
    ).execute()
