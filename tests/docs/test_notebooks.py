"""The notebooks run, and are stored as they were before that."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.notebooks import NOTEBOOKS, read, run


def test_the_quick_start_runs(tmp_path: Path) -> None:
    run("quickstart", tmp_path)


@pytest.mark.parametrize("name", sorted(each.stem for each in NOTEBOOKS.glob("*.ipynb")))
def test_a_notebook_is_stored_without_outputs(name: str) -> None:
    cells = [cell for cell in read(name).cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in cells] == [([], None)] * len(cells)
