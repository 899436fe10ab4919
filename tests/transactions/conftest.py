"""Yards whose catalogs manage versions."""

from __future__ import annotations

from pathlib import Path

import pytest

import lanceyard


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "yard"


@pytest.fixture
def yard(root: Path) -> lanceyard.Yard:
    """A catalog with two tables that hold one number each."""
    yard = open_yard(root)
    yard.create_namespace("shop")
    yard.create_table("shop.a", {"n": [1]})
    yard.create_table("shop.b", {"n": [10]})
    return yard


def open_yard(root: str | Path, **properties: str) -> lanceyard.Yard:
    return lanceyard.open(root, table_version_management="true", durability="os", **properties)


def numbers(yard: lanceyard.Yard, name: str) -> list[int]:
    return sorted(yard.table(name).read()["n"].to_pylist())
