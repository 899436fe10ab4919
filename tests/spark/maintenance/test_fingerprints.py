"""Fingerprints of functions, and progress as people see it."""

from __future__ import annotations

from lanceyard.spark.maintenance import Progress
from lanceyard.spark.maintenance.fingerprints import digest
from lanceyard.spark.maintenance.progress import Bar

SOURCE = """
def inner(x):
    return x in {{"a", "b", "c"}} or x + {constant}

def outer(x):
    return [inner(each) for each in x] + [FACTOR]
"""


def made(constant, factor):
    """A function that uses another one, and a value beside it."""
    around = {"FACTOR": factor}
    exec(SOURCE.format(constant=constant), around)
    return around["outer"]


def test_the_same_code_has_the_same_fingerprint():
    assert digest(made(1, 2)) == digest(made(1, 2))


def test_what_a_function_uses_belongs_to_its_fingerprint():
    assert len({digest(made(1, 2)), digest(made(3, 2)), digest(made(1, 3))}) == 3
    assert digest(lambda x: x + 1) != digest(lambda x: x + 2)


def test_a_function_that_calls_itself_has_a_fingerprint():
    def again(x):
        return again(x - 1) if x else 0

    assert digest(again) == digest(again)


def test_progress_ends_with_its_bar(capsys):
    bar = Bar()
    for done in (0, 1, 2):
        bar(Progress("compact", done, 2, 0.1))
    bar.close()
    assert "compact" not in capsys.readouterr().out
    assert str(Progress("compact", 1, 2, 0.5)) == "compact: 1 of 2 tasks, 0.5 s"


class Scale:
    """A model with a method."""

    def __init__(self, factor):
        self.factor = factor

    def run(self, batch):
        return batch * self.factor


def test_a_method_does_what_its_object_says():
    assert digest(Scale(2).run) == digest(Scale(2).run)
    assert digest(Scale(2).run) != digest(Scale(3).run)
