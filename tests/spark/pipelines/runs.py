"""Runs of pipelines in one process, because its JVM is warm after the first one.

``python -m tests.spark.pipelines.runs HOME`` brings the example up to date, does it once more with
one more file, and runs the laboratory and what the page on pipelines shows; with ``again`` the
example and the laboratory once more, with nothing new.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import lanceyard
from lanceyard.errors import InvalidInputError
from lanceyard.spark.sql.pipelines import Pipelines
from tests.docs.snippets import ROOT, read_snippets
from tests.spark.pipelines.laboratory import Laboratory

PIPELINE = ROOT / "examples" / "pipeline"
PAGE = ROOT / "docs" / "pipelines.md"
QUESTION = "What do lighthouses warn of?"
NEXT = "NEXT\n"


def main(home: str, *again: str) -> None:
    example = _example()
    root, data = f"{home}/catalog", f"{home}/data"
    laboratory = Laboratory(Path(home))
    laboratory.feed(2)
    example.CONFIG |= laboratory.config
    with lanceyard.open(root) as yard, example.start(root, data) as pipelines:
        library = example.Library(yard)

        def work() -> None:
            example.run(library, pipelines, root, data)
            example.show(library, QUESTION)
            print(NEXT, end="", flush=True)

        _check_that_there_is_no_second(root)
        work()
        shutil.copy(f"{home}/later.jsonl", f"{data}/documents")
        work()
        laboratory.run(pipelines)
        _run_what_the_page_shows(yard, pipelines, Path(home))
        for _ in again:
            work()
            laboratory.run(pipelines)


def _check_that_there_is_no_second(root: str) -> None:
    with pytest.raises(InvalidInputError, match="process of their own"):
        Pipelines({"yard": root})


def _run_what_the_page_shows(yard: lanceyard.Yard, pipelines: Pipelines, home: Path) -> None:
    """The files of the page on pipelines, in a namespace of their own."""
    folder = home / "page"
    text = PAGE.read_text().replace("database: library", "database: page")
    for snippet in read_snippets(text.replace('"./', f'"{folder}/')):
        if snippet.title is not None:
            snippet.write(folder)
    yard.create_namespace("page")
    with (home / "log").open("ab") as log:
        assert pipelines.run("run", "--spec", f"{folder}/spark-pipeline.yml", output=log) == 0
    assert yard.table("page.totals").read()["documents"].to_pylist() == [1]


def _example() -> Any:
    """The main program of the example, as a module."""
    sys.path.insert(0, str(PIPELINE))
    spec = importlib.util.spec_from_file_location("example", PIPELINE / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main(*sys.argv[1:])
