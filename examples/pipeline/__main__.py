"""The main job: documents from files to answers, through Spark, in a catalog on local disk.

Run it again and it does only what is new: put one more file into the folder of documents and only
that one is read, cleaned, embedded and indexed.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import embedding
import steps
from library import NAMESPACE, Library
from pyspark.sql import SparkSession
from pyspark.sql import functions as f

import lanceyard
from lanceyard.spark.java import JavaError
from lanceyard.spark.sessions import session

HERE = os.path.dirname(os.path.abspath(__file__))
QUESTION = "How does a telescope see faint stars?"
PROPERTIES = {"owner": "examples", "about": "documents with embeddings"}
CONFIG = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.showConsoleProgress": "false",
}
"""For a session that is silent, and lives for seconds: compiling more would not pay."""


def main() -> None:
    """Run all steps, and show what is there then."""
    arguments = _arguments()
    root = os.path.abspath(arguments.root)
    # PySpark has its doubts about pandas 3, which nothing here depends on.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    with lanceyard.open(root) as yard, _spark(root) as spark:
        library = Library(spark, yard, root)
        run(library, arguments.data)
        show(library, arguments.ask)


def run(library: Library, data: str) -> None:
    """Bring the tables up to date with the files, step by step."""
    library.yard.create_namespace(NAMESPACE, PROPERTIES, exist_ok=True)
    _tell("step", "new", "skipped")
    _tell(*steps.load(library, os.path.join(data, "documents")))
    _tell(*steps.refine(library))
    _tell(*steps.vectorize(library))
    _tell(*steps.index(library))
    _tell(*steps.answer(library, _lines(os.path.join(data, "questions.txt"))))


def show(library: Library, question: str) -> None:
    """Print the tree of the catalog, a query and a vector search."""
    print(f"\n{library.yard.tree()}\n")
    print("The documents of each topic:")
    topics = library.read("cleaned").groupBy("topic")
    topics.agg(
        f.count("*").alias("documents"),
        f.round(f.avg(f.length("text"))).cast("int").alias("letters"),
        f.to_date(f.max("published")).alias("latest"),
    ).orderBy("topic").show()
    print(f"The documents nearest to {question!r}:")
    found = steps.search(library, question).orderBy(f.desc("score"))
    found.select(f.round("score", 2).alias("score"), "topic", "title").show(truncate=False)


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
def _spark(root: str) -> Iterator[SparkSession]:
    """A session whose messages go into a file, and whose workers know how to embed."""
    log = os.path.join(root, ".spark", "log")
    os.makedirs(os.path.dirname(log), exist_ok=True)
    try:
        with _stderr_into(log):
            spark = session("pipeline", config=CONFIG)
    except JavaError as failure:
        sys.exit(str(failure))
    spark.sparkContext.addPyFile(embedding.__file__)
    try:
        yield spark
    except Exception as failure:
        failure.add_note(f"More is in {log}")
        raise
    finally:
        spark.stop()


@contextmanager
def _stderr_into(path: str) -> Iterator[None]:
    """Let processes that are started meanwhile write their errors into a file."""
    kept = os.dup(2)
    with open(path, "wb") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


if __name__ == "__main__":
    main()
