"""A sample catalog for each test, and a shell of its own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import lanceyard
from lanceyard.cli import sample
from tests.cli.running import Shell


@pytest.fixture(scope="session")
def sample_catalog(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalog of `lanceyard demo`, made once; copy it."""
    root = tmp_path_factory.mktemp("sample") / "market"
    with lanceyard.open(root) as yard:
        sample.fill(yard, lambda *_: None)
    return root


@pytest.fixture
def market(sample_catalog: Path, home: Path) -> str:
    """A copy of the sample in the current folder, by the name under which commands find it."""
    shutil.copytree(sample_catalog, home / "market")
    return "./market"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder, with folders for configuration and caches of its own."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "XDG_CACHE_HOME", *filter(is_ours, os.environ)):
        monkeypatch.delenv(name, raising=False)
    return work


def is_ours(variable: str) -> bool:
    """Whether a variable is for the command line, wherever the tests run."""
    return variable.startswith("LANCEYARD_")


@pytest.fixture
def shell(home: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    """What carries out commands in that folder."""
    return Shell(capsys)
