"""The main job: documents from files to answers, through Spark, in a catalog on local disk.

A declarative pipeline (``spark-pipeline.yml`` and ``transformations``) reads, cleans and embeds
them; then they are indexed and searched. Run it again and it does only what is new: put one more
file into the folder of documents and only that one is read, cleaned, embedded and indexed.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import steps
from library import NAMESPACE, Library

import lanceyard
from lanceyard.spark.java import JavaError
from lanceyard.spark.sql.pipelines import Pipelines

HERE = os.path.dirname(os.path.abspath(__file__))
QUESTION = "How does a telescope see faint stars?"
STORAGE = ".spark"
"""Of the pipeline, as its spec says: a folder in that of the catalog."""
LOG = os.path.join(STORAGE, "log")
PROPERTIES = {"owner": "examples", "about": "documents with embeddings"}
CONFIG = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.ui.showConsoleProgress": "false",
}
"""For a session that is silent, and lives for seconds: compiling more would not pay."""


def main() -> None:
    """Run the pipeline and what follows it, and show what is there then."""
    arguments = _arguments()
    root = os.path.abspath(arguments.root)
    # PySpark has its doubts about pandas 3, which nothing here depends on.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    with lanceyard.open(root) as yard, start(root, arguments.data) as pipelines:
        library = Library(yard)
        run(library, pipelines, root, arguments.data)
        show(library, arguments.ask)


def run(library: Library, pipelines: Pipelines, root: str, data: str) -> None:
    """Bring the tables up to date with the files."""
    library.yard.create_namespace(NAMESPACE, PROPERTIES, exist_ok=True)
    if library.count("raw") and not os.path.exists(os.path.join(root, STORAGE, "_checkpoints")):
        sys.exit(f"{root} has tables, but not how far they have come: remove it, and run again.")
    before = steps.Extent.of(library)
    log = os.path.join(root, LOG)
    with open(log, "a", encoding="utf-8") as file:
        spec = os.path.join(HERE, "spark-pipeline.yml")
        if pipelines.run("run", "--spec", spec, output=file) != 0:
            sys.exit(f"The pipeline failed; {log} tells why. Run it again: it goes on from there.")
    _tell("step", "new", "skipped")
    for done in steps.flow(before, steps.Extent.of(library)):
        _tell(*done)
    _tell(*steps.index(library))
    _tell(*steps.answer(library, _lines(os.path.join(data, "questions.txt"))))


def show(library: Library, question: str) -> None:
    """Print the tree of the catalog, a table and a vector search."""
    print(f"\n{library.yard.tree()}\n")
    print("The documents of each topic:")
    topics = library.rows("topics", "topic", "documents", "letters", "latest")
    _show(sorted(topics, key=lambda row: str(row["topic"])))
    print(f"The documents nearest to {question!r}:")
    found = steps.search(library.require("embedded"), question)
    _show([{**row, "score": round(row["score"], 2)} for row in found], "score", "topic", "title")


def _show(rows: Sequence[dict[str, Any]], *columns: str) -> None:
    """Print rows as a table, by default with all their columns."""
    names = columns or tuple(rows[0])
    lines = [names, *([str(row[name]) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "+".join(["", *("-" * width for width in widths), ""])
    texts = ["|".join(["", *map(str.ljust, line, widths), ""]) for line in lines]
    print("\n".join([rule, texts[0], rule, *texts[1:], rule]), end="\n\n")


def _lines(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def _tell(step: str, new: str, skipped: str) -> None:
    print(f"{step:<12}{new:<26}{skipped}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="pipeline", description=__doc__)
    parser.add_argument("--root", default="demo", help="folder of the catalog (%(default)s)")
    parser.add_argument(
        "--data",
        default=os.path.join(HERE, "data"),
        help="folder with documents/*.jsonl and questions.txt",
    )
    parser.add_argument("--ask", default=QUESTION, help="what the vector search looks for")
    return parser.parse_args()


@contextmanager
def start(root: str, data: str) -> Iterator[Pipelines]:
    """A Spark whose messages go into a file."""
    log = os.path.join(root, LOG)
    os.makedirs(os.path.dirname(log), exist_ok=True)
    config = {**CONFIG, "spark.library.documents": os.path.join(os.path.abspath(data), "documents")}
    try:
        with _stderr_into(log):
            started = Pipelines({"yard": root}, config=config, modules=HERE)
    except JavaError as failure:
        sys.exit(str(failure))
    with started:
        try:
            yield started
        except Exception as failure:
            failure.add_note(f"More is in {log}")
            raise


@contextmanager
def _stderr_into(path: str) -> Iterator[None]:
    """Let processes that are started meanwhile write their errors into a file."""
    kept = os.dup(2)
    with open(path, "ab") as file:
        os.truncate(path, 0)
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


if __name__ == "__main__":
    main()
