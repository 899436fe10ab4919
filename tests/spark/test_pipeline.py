"""Pipelines: the main job and a laboratory, killed, run again, and only what is new."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import lanceyard
from tests.spark.clusters import PATIENCE, REPOSITORY, environment
from tests.spark.jobs import LEAN
from tests.spark.pipelines.laboratory import Laboratory
from tests.spark.pipelines.runs import NEXT, PIPELINE
from tests.spark.victims import victim

TOPICS = {
    "Which planet has rings made of ice?": "astronomy",
    "How do I keep slugs away from young lettuce?": "gardening",
    "How long does bread dough need to rise?": "cooking",
    "Why does a database need an index?": "databases",
    "Why do we hear thunder after lightning?": "weather",
}
LATER = [
    {"id": "doc-301", "title": "Lighthouses", "text": "A lighthouse warns ships of rocks."},
    {"id": "doc-001", "title": "Again", "text": "A document that has been here before."},
    {"id": "doc-302", "title": "Empty", "text": "<p> </p>"},
]
ROWS = 3
"""The version of a streaming table that has its first rows."""


class Runs(NamedTuple):
    """What two runs said, the second with one more file, and what they left."""

    first: str
    second: str
    errors: str
    home: Path

    @property
    def yard(self) -> lanceyard.Yard:
        return lanceyard.open(self.home / "catalog")


def prepare(home: Path) -> Path:
    """A folder with the data of the example, and one more file for later."""
    shutil.copytree(PIPELINE / "data", home / "data")
    rest = {"topic": "sea", "language": "EN", "published": "2026-01-05", "url": "https://x.example"}
    later = "".join(json.dumps(row | rest) + "\n" for row in LATER)
    (home / "later.jsonl").write_text(later)
    lanceyard.open(home / "catalog").create_namespace("library", {"owner": "examples"})
    return home


def run(home: Path, *again: str) -> tuple[list[str], str]:
    """What a process that runs pipelines says."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.pipelines.runs", home, *again],
        cwd=REPOSITORY,
        # Without PYSPARK_PYTHON, Python workers start with Lance imported.
        env={k: v for k, v in environment(home).items() if k != "PYSPARK_PYTHON"},
        capture_output=True,
        text=True,
        check=False,
        timeout=2 * PATIENCE,
    )
    assert done.returncode == 0, done.stderr + (home / "catalog/.spark/log").read_text()[-4000:]
    return done.stdout.split(NEXT), done.stderr


def versions(home: Path, table: str) -> int:
    """How many versions a table of the library has: made, then the stream noted, then rows."""
    return len([*home.glob(f"catalog/*library${table}/_versions/*.manifest")])


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """The first run of all is by hand, and killed when it has read the files."""
    home = prepare(tmp_path_factory.mktemp("pipeline"))
    config = {**LEAN, "spark.library.documents": f"{home}/data/documents"}
    conf = [text for item in config.items() for text in ("--conf", "=".join(item))]
    program = ["spark-pipelines", "run", "--spec", f"{PIPELINE}/spark-pipeline.yml", *conf]
    catalog = f"yard={home}/catalog"
    with victim(catalog, "--", *program, module="lanceyard.spark.sql") as prey:
        prey.wait_for(lambda: versions(home, "raw") == ROWS)
        prey.kill()
        assert versions(home, "cleaned") < ROWS, prey.told()
    (first, second, _), errors = run(home)
    return Runs(first, second, errors, home)


def steps(run):
    """The table with which a run begins."""
    lines = run.split("\n\n")[0].splitlines()
    return [" ".join(line.split()) for line in lines]


def test_a_pipeline_that_was_killed_goes_on_from_there(runs):
    assert steps(runs.first) == [
        "step new skipped",
        "raw - 4 files",
        "cleaned 200 rows -",
        "embedded 200 rows -",
        "indexes topic, text, embedding -",
        "answers 5 questions -",
    ]


def test_a_run_with_one_more_file_does_only_that(runs):
    assert steps(runs.second)[1:] == [
        "raw 3 rows of 1 file 4 files",
        "cleaned 1 of 3 rows 219 rows",
        "embedded 1 row 200 rows",
        "indexes topic, text, embedding -",
        "answers 5 questions -",
    ]


def test_a_run_shows_the_catalog_and_what_it_finds(runs):
    first, second = (run.split("\n\n", 1)[1] for run in runs[:2])
    assert runs.yard.tables("library") == re.findall(r"^    .── (.*)$", first, re.MULTILINE)
    assert "|astronomy |20       |" in first
    assert "Lighthouses" not in first
    assert "Lighthouses" in second


def test_a_run_is_silent_otherwise(runs):
    assert runs.errors == ""


def test_cleaned_rows_are_clean(runs):
    rows = runs.yard.table("library.cleaned").read().to_pylist()
    assert len({row["id"] for row in rows}) == len(rows) == 201
    assert {row["language"] for row in rows} == {"en"}
    assert {row["topic"] for row in rows} > {*TOPICS.values()}
    assert not any(row["published"] is None for row in rows)
    texts = [row[name] for row in rows for name in ("title", "text")]
    assert all(texts)
    assert not [text for text in texts if text != " ".join(text.split())]
    assert not [text for text in texts if "<" in text or "&" in text]


def test_a_materialized_view_is_of_all_rows(runs):
    rows = runs.yard.table("library.topics").read().to_pylist()
    assert sum(row["documents"] for row in rows) == 201


def test_the_indexes_hold_all_rows(runs):
    indexes = runs.yard.table("library.embedded").to_lance().describe_indices()
    assert {index.name: index.num_rows_indexed for index in indexes} == dict.fromkeys(
        ("topic", "text", "embedding"), 201
    )


def test_the_answers_are_of_the_right_topic(runs):
    answers = runs.yard.table("library.answers").to_lance()
    assert [found["version"] for found in answers.versions()] == [1, 2]
    for version in (1, 2):
        rows = answers.checkout_version(version).to_table().to_pylist()
        best = {row["question"]: row for row in sorted(rows, key=lambda row: row["score"])}
        assert {question: row["topic"] for question, row in best.items()} == TOPICS


def test_several_flows_sinks_and_views_hold_every_row_once(runs):
    Laboratory(runs.home).check()


def test_nothing_is_left_to_repair(runs):
    assert not runs.yard.repair(dry_run=True).findings


@pytest.mark.deep
def test_a_run_without_anything_new_does_nothing(tmp_path):
    (first, second, third, _), _ = run(prepare(tmp_path), "again")
    assert steps(first)[1:4] == [
        "raw 219 rows of 4 files -",
        "cleaned 200 of 219 rows -",
        "embedded 200 rows -",
    ]
    assert steps(third)[1:] == [
        "raw - 5 files",
        "cleaned - 222 rows",
        "embedded - 201 rows",
        "indexes - topic, text, embedding",
        "answers - 5 questions",
    ]
    assert third.split("\n\n", 1)[1] == second.split("\n\n", 1)[1]
    Laboratory(tmp_path).check()
