"""What Spark's Python workers do not look through after every call."""

from __future__ import annotations

import gc

import pytest

from lanceyard.spark.worker import spare_imports


@pytest.fixture
def frozen(monkeypatch):
    calls = []
    monkeypatch.setattr(gc, "freeze", lambda: calls.append("freeze"))
    spare_imports.cache_clear()
    yield calls
    spare_imports.cache_clear()


def test_a_worker_spares_what_it_has_imported_once(frozen, monkeypatch):
    monkeypatch.setenv("SPARK_REUSE_WORKER", "1")
    spare_imports()
    spare_imports()
    assert frozen == ["freeze"]


def test_other_processes_collect_garbage_as_they_like(frozen, monkeypatch):
    monkeypatch.delenv("SPARK_REUSE_WORKER", raising=False)
    spare_imports()
    assert frozen == []
