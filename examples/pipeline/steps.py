"""The steps: what the pipeline has done, and what follows it. Each does only what is new."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from embedding import embed
from library import Library

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


class Extent(NamedTuple):
    """How much there is in the tables of the pipeline."""

    files: int
    raw: int
    cleaned: int
    embedded: int

    @classmethod
    def of(cls, library: Library) -> Self:
        """How much there is now."""
        files = {row["file"] for row in library.rows("raw", "file")}
        return cls(len(files), *map(library.count, ("raw", "cleaned", "embedded")))


def flow(before: Extent, after: Extent) -> list[Done]:
    """What a run of the pipeline has done between two extents."""
    new = Extent(*(now - then for now, then in zip(after, before, strict=True)))
    files = f"{_counted(new.raw, 'row')} of {_counted(new.files, 'file')}"
    cleaned = Done("cleaned", f"{new.cleaned} of {new.raw} rows", _counted(before.raw, "row"))
    if new.cleaned > new.raw:  # an earlier run was killed after it had read them
        cleaned = Done("cleaned", _counted(new.cleaned, "row"), _counted(before.cleaned, "row"))
    return [
        Done("raw", files if new.files else NOTHING, _counted(before.files, "file")),
        cleaned if new.cleaned or new.raw else cleaned._replace(new=NOTHING),
        Done("embedded", _counted(new.embedded, "row"), _counted(before.embedded, "row")),
    ]


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
    dataset = library.require("embedded")
    version = int(dataset.version)
    known = library.rows("answers", "question", "version")
    if {(row["question"], row["version"]) for row in known} == {(q, version) for q in questions}:
        return Done("answers", NOTHING, _counted(len(questions), "question"))
    answers = [
        {"question": question, **found, "version": version}
        for question in questions
        for found in search(dataset, question)
    ]
    library.write("answers", answers)
    return Done("answers", _counted(len(questions), "question"), NOTHING)


def search(embedded: LanceDataset, question: str) -> list[dict[str, Any]]:
    """The documents nearest to a question, the best first, with a score of at most 1."""
    found = embedded.to_table(
        ["id", "topic", "title", "_distance"],
        nearest={
            "column": "embedding",
            "q": embed(question),
            "k": ANSWERS,
            "metric": METRIC,
            "nprobes": PARTITIONS,
        },
    ).to_pylist()
    return [{"score": 1 - row.pop("_distance"), **row} for row in found]


def _create_index(dataset: LanceDataset, column: str) -> None:
    if column in SCALAR_INDEXES:
        dataset.create_scalar_index(column, SCALAR_INDEXES[column], name=column)
    else:
        dataset.create_index(
            column, "IVF_FLAT", name=column, metric=METRIC, num_partitions=PARTITIONS
        )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number > 1 else ''}" if number else NOTHING
