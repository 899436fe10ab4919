"""The steps of the pipeline. Each does only what was not done before, and says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Literal, NamedTuple

from cleaning import clean
from embedding import DIMENSIONS, embed, embed_batches
from library import NAMESPACE, Library
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.types import ArrayType, FloatType, StructType

from lanceyard.spark.ingestion import ingest

if TYPE_CHECKING:
    from lance import LanceDataset

SCALAR_INDEXES: dict[str, Literal["BITMAP", "INVERTED"]] = {"topic": "BITMAP", "text": "INVERTED"}
METRIC = "cosine"
PARTITIONS = 4
"""Of the vector index. A search looks into all of them: this is a small library."""
ANSWERS = 3
"""How many documents answer a question."""
NOTHING = "-"


class Done(NamedTuple):
    """What a step has done, and what it had not to do again."""

    step: str
    new: str
    skipped: str


def load(library: Library, folder: str) -> Done:
    """Read the files of a folder into *raw*, as they are."""
    done = ingest(
        library.spark, folder, f"{NAMESPACE}.raw", catalog=library.root, progress=lambda _: None
    )
    new = f"{_counted(done.rows, 'row')} of {_counted(done.files, 'file')}"
    return Done("raw", new if done.files else NOTHING, _counted(done.skipped, "file"))


def refine(library: Library) -> Done:
    """Stream what is new in *raw* into *cleaned*."""
    before = library.count("cleaned")
    read = library.follow("raw", "cleaned", clean)
    kept = library.count("cleaned") - before
    skipped = library.count("raw") - read
    return Done("cleaned", f"{kept} of {read} rows" if read else NOTHING, _counted(skipped, "row"))


def vectorize(library: Library) -> Done:
    """Stream what is new in *cleaned* into *embedded*, with a vector for each row."""

    def change(cleaned: DataFrame) -> DataFrame:
        schema = StructType([*cleaned.schema]).add("embedding", ArrayType(FloatType()))
        return cleaned.mapInArrow(embed_batches, schema)

    size = {"embedding.arrow.fixed-size-list.size": str(DIMENSIONS)}
    read = library.follow("cleaned", "embedded", change, **size)
    skipped = library.count("cleaned") - read
    return Done("embedded", _counted(read, "row"), _counted(skipped, "row"))


def index(library: Library) -> Done:
    """Create the indexes of *embedded*, or add to them the rows that they lack."""
    dataset = library.require("embedded")
    rows = dataset.count_rows()
    indexed = {found.name: found.num_rows_indexed for found in dataset.describe_indices()}
    wanted = [*SCALAR_INDEXES, "embedding"]
    for column in wanted:
        if column not in indexed:
            _create_index(dataset, column)
    if any(number < rows for number in indexed.values()):
        dataset.optimize.optimize_indices()
    skipped = [column for column in wanted if indexed.get(column) == rows]
    new = [column for column in wanted if column not in skipped]
    return Done("indexes", ", ".join(new) or NOTHING, ", ".join(skipped) or NOTHING)


def answer(library: Library, questions: Sequence[str]) -> Done:
    """Search for the documents nearest to each question, and keep them in *answers*.

    Each row tells the version of *embedded* that it was found in. If that is the latest one, and
    the questions are the same, there is nothing to search for.
    """
    version = int(library.require("embedded").version)
    if _answered(library) == {(question, version) for question in questions}:
        return Done("answers", NOTHING, _counted(len(questions), "question"))
    found = [
        search(library, question, version=str(version)).select(
            f.lit(question).alias("question"), "*", f.lit(version).alias("version")
        )
        for question in questions
    ]
    library.write("answers", reduce(DataFrame.union, found))
    return Done("answers", _counted(len(questions), "question"), NOTHING)


def search(library: Library, question: str, **options: str) -> DataFrame:
    """The documents nearest to a question, with a score of at most 1."""
    nearest = {
        "column": "embedding",
        "q": embed(question).tolist(),
        "k": ANSWERS,
        "metric": METRIC,
        "nprobes": PARTITIONS,
    }
    found = library.read("embedded", nearest=json.dumps(nearest), **options)
    return found.selectExpr("1 - _distance as score", "id", "topic", "title")


def _create_index(dataset: LanceDataset, column: str) -> None:
    if column in SCALAR_INDEXES:
        dataset.create_scalar_index(column, SCALAR_INDEXES[column], name=column)
    else:
        dataset.create_index(
            column, "IVF_FLAT", name=column, metric=METRIC, num_partitions=PARTITIONS
        )


def _answered(library: Library) -> set[tuple[str, int]]:
    """The questions that have answers, and the version in which they were found."""
    answers = library.find("answers")
    rows = [] if answers is None else answers.to_table(["question", "version"]).to_pylist()
    return {(row["question"], row["version"]) for row in rows}


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}" if number else NOTHING
