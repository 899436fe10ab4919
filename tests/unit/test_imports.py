"""Imports point one way, and importing the package costs next to nothing."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import lanceyard

PACKAGE = Path(lanceyard.__file__).parent
LAYERS = [
    {"identifier", "errors", "settings", "values"},
    {"storage"},
    {"catalog"},
    {"namespace"},
    {"yard"},
    {"rest"},
    {"server"},
    {"spark"},
    {"cli"},
    {"__main__"},
]
"""From the ground up: a module imports from its own layer and those before it."""
HEAVY = ("lance", "pyarrow", "pydantic", "obstore", "lance_namespace", "numpy", "pandas", "pyspark")
USES_PYLANCE = (
    "catalog/directory/manifest/",
    "catalog/directory/contents.py",
    "catalog/directory/repair/",
    "namespace/",
    "yard/",
    "spark/",
)
MODULES = sorted(PACKAGE.rglob("*.py"))


@cache
def imported(path: Path) -> frozenset[str]:
    """The modules that a file names in import statements, those inside functions too."""
    return frozenset(_imported(ast.parse(path.read_text())))


def _imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            assert node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def inside(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def layer(part: str) -> int:
    return next(i for i, parts in enumerate(LAYERS) if part in parts)


def parts(path: Path) -> set[str]:
    """The parts of the package that a file imports from."""
    ours = (name.split(".") for name in imported(path))
    return {names[1] for names in ours if names[0] == "lanceyard" and len(names) > 1}


LAYERED = [path for path in MODULES if path != PACKAGE / "__init__.py"]


@pytest.mark.parametrize("path", LAYERED, ids=inside)
def test_a_module_imports_nothing_from_above(path: Path) -> None:
    own = layer(inside(path).split("/")[0].removesuffix(".py"))
    above = {part for part in parts(path) if layer(part) > own}
    assert not above


@pytest.mark.parametrize("path", MODULES, ids=inside)
def test_pylance_is_imported_only_where_tables_are_opened(path: Path) -> None:
    if not inside(path).startswith(USES_PYLANCE):
        assert not {name for name in imported(path) if name.split(".")[0] == "lance"}


@pytest.mark.parametrize("path", MODULES, ids=inside)
def test_only_the_storage_layer_knows_object_stores(path: Path) -> None:
    if not inside(path).startswith("storage/"):
        assert not {name for name in imported(path) if name.split(".")[0] == "obstore"}


def test_the_catalog_in_memory_knows_no_directory() -> None:
    assert not {name for name in imported(PACKAGE / "catalog/memory.py") if "directory" in name}


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import sys, lanceyard; print(*[m for m in {HEAVY!r} if m in sys.modules])"
    assert run(code).strip() == ""


def test_importing_the_package_takes_less_than_a_seventh_of_a_second() -> None:
    code = "import time; t = time.process_time(); import lanceyard; print(time.process_time() - t)"
    assert min(float(run(code)) for _ in range(3)) < 0.15


def test_the_exported_names_are_sorted_and_there() -> None:
    assert lanceyard.__all__ == sorted(lanceyard.__all__)
    assert all(getattr(lanceyard, name) is not None for name in lanceyard.__all__)


def test_the_exported_names_are_those_that_completion_offers() -> None:
    assert set(lanceyard.__all__) <= set(dir(lanceyard))


def test_a_name_that_is_not_exported_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = lanceyard.nonsense


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout
