"""The notebook on documents runs, with a Spark of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.notebooks import run


def test_the_notebook_on_documents_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Its JVM does not live long enough for its code to be worth optimising.
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
    run("documents", tmp_path)
