"""What the code says of itself is true, and pages name all there is; `tests/docs` runs them."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import pytest

import lanceyard
from lanceyard.catalog.hive.metastore.settings import PROPERTIES
from lanceyard.catalog.hive.settings import PARSERS as HIVE_PARSERS
from lanceyard.catalog.maintenance import Kind
from lanceyard.spark.options import Options

SPARK = (Path(__file__).parents[2] / "docs" / "spark.md").read_text()
MAINTENANCE = (Path(__file__).parents[2] / "docs" / "maintenance.md").read_text()
HIVE = (Path(__file__).parents[2] / "docs" / "hive.md").read_text()
MODULES = [
    module.name for module in pkgutil.walk_packages(lanceyard.__path__, f"{lanceyard.__name__}.")
]


@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.name)
def test_the_page_on_maintenance_tells_every_kind_of_finding(kind: Kind) -> None:
    assert (
        f"| {kind.title} | `{kind.name}` | {kind.severity.value} | {kind.action} |" in MAINTENANCE
    )


@pytest.mark.parametrize("name", ["lanceyard", *MODULES])
def test_the_examples_in_docstrings_hold(name: str) -> None:
    module: ModuleType = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("name", ["lanceyard", *MODULES])
def test_every_module_says_what_it_is(name: str) -> None:
    assert (importlib.import_module(name).__doc__ or "").strip()


@pytest.mark.parametrize("name", [f.name for f in fields(Options) if "parse" in f.metadata])
def test_the_documentation_of_spark_names_every_option(name: str) -> None:
    assert f"`{name}`" in SPARK


@pytest.mark.parametrize("name", [*HIVE_PARSERS, "storage.*"])
def test_the_page_on_hive_names_every_property(name: str) -> None:
    assert f"| `{name}` |" in HIVE


@pytest.mark.parametrize("name", PROPERTIES)
def test_the_page_on_hive_names_every_property_of_connections(name: str) -> None:
    assert f"`{name}`" in HIVE


def test_every_public_name_says_what_it_does() -> None:
    assert all(getattr(lanceyard, name).__doc__ for name in lanceyard.__all__)
