"""What the reference lists is complete, and is what the code says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import lanceyard
from lanceyard import errors
from lanceyard.rest.protocol import STATUSES
from tests.docs.generated import PAGES, fill
from tests.docs.snippets import ROOT

ERRORS = (ROOT / "docs" / "errors.md").read_text()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_generated_is_up_to_date(page: Path) -> None:
    assert fill(page) == page.read_text(), "make reference writes it"


@pytest.mark.parametrize("code", errors.ErrorCode, ids=lambda code: code.name)
def test_every_code_has_a_row_with_cause_and_fix(code: errors.ErrorCode) -> None:
    kind = type(errors.from_error_code(int(code), ""))
    begin = f"| {int(code)} | `{kind.__name__}` | {STATUSES[int(code)]} | "
    (row,) = [line for line in ERRORS.splitlines() if line.startswith(begin)]
    cause, fix = row.removeprefix(begin).removesuffix(" |").split(" | ")
    assert cause
    assert fix


@pytest.mark.parametrize("name", lanceyard.__all__)
def test_every_public_name_is_told_of(name: str) -> None:
    page = (ROOT / "docs" / "python.md").read_text()
    assert re.search(rf"^::: lanceyard\.([a-z_.]+\.)?{name}$", page, re.MULTILINE)
