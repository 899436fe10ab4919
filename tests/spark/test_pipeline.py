"""The main job, run again and again: the same catalog, and only what is new."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import lanceyard

PIPELINE = Path(__file__).parents[2] / "examples" / "pipeline"
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
# One process for all runs, because its JVM is warm after the first one.
RUNS = """
import runpy, shutil, sys
pipeline, root, data, later = sys.argv[1:]
sys.argv = ["pipeline", "--root", root, "--data", data, "--ask", "What do lighthouses warn of?"]
runpy.run_path(pipeline, run_name="__main__")
print("NEXT")
runpy.run_path(pipeline, run_name="__main__")
print("NEXT")
shutil.copy(later, data + "/documents")
runpy.run_path(pipeline, run_name="__main__")
"""


class Runs(NamedTuple):
    """What three runs said, the last with one more file, and what they left."""

    first: str
    second: str
    third: str
    errors: str
    yard: lanceyard.Yard


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    home = tmp_path_factory.mktemp("pipeline")
    root, data, later = home / "demo", home / "data", home / "later.jsonl"
    shutil.copytree(PIPELINE / "data", data)
    rest = {"topic": "sea", "language": "EN", "published": "2026-01-05", "url": "https://x.example"}
    later.write_text("".join(json.dumps(row | rest) + "\n" for row in LATER))
    done = subprocess.run(
        [sys.executable, "-c", RUNS, PIPELINE, root, data, later],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    return Runs(*done.stdout.split("NEXT\n"), done.stderr, lanceyard.open(root))


def steps(run):
    """The table with which a run begins."""
    lines = run.split("\n\n")[0].splitlines()
    return [" ".join(line.split()) for line in lines]


def test_the_first_run_does_everything(runs):
    assert steps(runs.first) == [
        "step new skipped",
        "raw 219 rows of 4 files -",
        "cleaned 200 of 219 rows -",
        "embedded 200 rows -",
        "indexes topic, text, embedding -",
        "answers 5 questions -",
    ]


def test_a_run_without_anything_new_does_nothing(runs):
    assert steps(runs.second)[1:] == [
        "raw - 4 files",
        "cleaned - 219 rows",
        "embedded - 200 rows",
        "indexes - topic, text, embedding",
        "answers - 5 questions",
    ]


def test_a_run_with_one_more_file_does_only_that(runs):
    assert steps(runs.third)[1:] == [
        "raw 3 rows of 1 file 4 files",
        "cleaned 1 of 3 rows 219 rows",
        "embedded 1 row 200 rows",
        "indexes topic, text, embedding -",
        "answers 5 questions -",
    ]


def test_a_run_shows_the_catalog_and_what_it_finds(runs):
    first, second, third = (run.split("\n\n", 1)[1] for run in runs[:3])
    assert runs.yard.tree() in first
    assert "| astronomy|       20|" in first
    assert first == second
    assert "Lighthouses" not in second
    assert "Lighthouses" in third


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


def test_the_namespace_tells_its_owner(runs):
    found = runs.yard.namespace.describe_namespace({"id": ["library"]})
    assert found.properties["owner"] == "examples"
