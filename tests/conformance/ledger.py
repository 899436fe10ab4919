"""Runs the kit on the reference and writes what it does otherwise to docs/reference-deviations.md.

python tests/conformance/ledger.py
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections import defaultdict
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from lance_namespace import errors

if TYPE_CHECKING:
    from collections.abc import Iterator

KIT = Path(__file__).parent
PROJECT = KIT.parent.parent
LEDGER = PROJECT / "docs" / "reference-deviations.md"
MODES = ["v1", "v2", "compat"]

HEAD = """\
# Where the reference differs

The conformance kit (`tests/conformance`) run on `lance.namespace.DirectoryNamespace` of pylance
{pylance} with lance-namespace {namespace}, in its three modes. Each row is a rule of the documents,
or of our reading where they are silent or disagree, that the reference does not follow in at least
one mode. A number is the error code it answers; ✓ means that it follows the rule, n/a that the rule
does not concern the mode. Where a rule is tried in several ways, the cell says in how many of them
the reference differs, and what it does in the first.

Left out: what we add to the documents (AlterNamespace, AlterTable, ListOperations, `protected`,
requests as dicts, pickling, bodies other than bytes, the bare layout of 001, strict settings,
declaring at a given location), and choices of form (an empty dict for no properties, plain paths).

Written by `python tests/conformance/ledger.py`; do not edit.

"""


@dataclass(frozen=True)
class Case:
    """One case of the kit on the reference; `deviation` is empty where it follows the rule."""

    noun: str
    rule: str
    mode: str
    deviation: str


def run_kit(report: Path) -> None:
    """Run the kit on the reference and leave a JUnit report."""
    backends = ",".join(f"reference_{mode}" for mode in MODES)
    environment = os.environ | {"CONFORMANCE_BACKENDS": backends}
    command = [sys.executable, "-m", "pytest", str(KIT), "-q", "--tb=line", "--no-header"]
    command += ["-p", "no:cacheprovider", f"--junitxml={report}"]
    outcome = subprocess.run(command, cwd=PROJECT, env=environment, check=False)
    if outcome.returncode not in (0, 1):
        raise SystemExit(f"pytest ended with {outcome.returncode}")


def read_cases(report: Path) -> Iterator[Case]:
    """The cases of a JUnit report, in the order in which they ran."""
    for element in ET.parse(report).iter("testcase"):
        noun = element.attrib["classname"].rsplit(".", 1)[-1].removeprefix("test_")
        rule, _, parameters = element.attrib["name"].partition("[")
        mode = re.match(r"reference_([a-z0-9]+)", parameters)
        problem = next((found for found in element if found.tag in ("failure", "error")), None)
        if mode is None:
            raise SystemExit(f"no backend in {element.attrib['name']!r}")
        deviation = "" if problem is None else describe(problem.attrib["message"])
        yield Case(noun, rule.removeprefix("test_").replace("_", " "), mode[1], deviation)


def describe(message: str) -> str:
    """What the reference did, in a few words that are the same in every run."""
    text = message.removeprefix("failed on setup with ").strip('"').splitlines()[0]
    if refused := re.match(r"Failed: refused: (\d+) (\w+)", text):
        return f"{refused[1]} {name_of(refused[2])}"
    if "Failed: accepted" in text:
        return "accepted"
    if raised := re.match(r"([\w.]*(?:Error|Exception))\b", text.removeprefix("AssertionError: ")):
        return exception(raised[1].rsplit(".", 1)[-1])
    if answered := re.match(r"(?:AssertionError: )?assert ([^/|<]{1,24}?) (?:==|is) ", text):
        return f"answers `{answered[1]}`"
    return "another result"


def exception(name: str) -> str:
    """A namespace error by its code, any other exception by its class."""
    known = getattr(errors, name, None)
    return f"{known.code:d} {name_of(name)}" if known else f"`{name}`"


def name_of(error: str) -> str:
    return error.removesuffix("Error")


def write_ledger(cases: list[Case]) -> str:
    """The ledger as Markdown."""
    head = HEAD.format(pylance=version("pylance"), namespace=version("lance-namespace"))
    return head + scores(cases) + "".join(sections(cases))


def scores(cases: list[Case]) -> str:
    lines = ["| mode | cases | followed | differs |", "|---|---|---|---|"]
    for mode in MODES:
        own = [case for case in cases if case.mode == mode]
        differs = sum(bool(case.deviation) for case in own)
        lines.append(f"| {mode} | {len(own)} | {len(own) - differs} | {differs} |")
    return "\n".join(lines) + "\n"


def sections(cases: list[Case]) -> Iterator[str]:
    """A table for each file of the kit in which the reference deviates."""
    nouns: dict[str, dict[str, dict[str, list[str]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for case in cases:
        nouns[case.noun][case.rule][case.mode].append(case.deviation)
    for noun, rules in sorted(nouns.items()):
        rows = [
            f"| {rule} | {' | '.join(cell(by_mode[mode]) for mode in MODES)} |"
            for rule, by_mode in rules.items()
            if any(any(deviations) for deviations in by_mode.values())
        ]
        if rows:
            heading = (
                f"\n## {noun.capitalize()}\n\n| rule | {' | '.join(MODES)} |\n|---|---|---|---|\n"
            )
            yield heading + "\n".join(rows) + "\n"


def cell(deviations: list[str]) -> str:
    """One mode's answer to one rule."""
    if not deviations:
        return "n/a"
    found = [deviation for deviation in deviations if deviation]
    if not found:
        return "✓"
    share = "" if len(deviations) == 1 else f" ({len(found)} of {len(deviations)})"
    return found[0] + share


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        run_kit(report)
        cases = list(read_cases(report))
    LEDGER.parent.mkdir(exist_ok=True)
    LEDGER.write_text(write_ledger(cases), encoding="utf-8")


if __name__ == "__main__":
    main()
