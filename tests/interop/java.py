"""Spark, as a process that carries out statements of SQL; one with Java's lance-spark."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

STATEMENTS = Path(__file__).with_name("statements.py")
CATALOG = "org.lance.spark.LanceNamespaceSparkCatalog"


class SparkProcess:
    """A session of Spark that another process holds, which answers as ``statements`` does."""

    def __init__(self, *command: str) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def __call__(self, statement: str) -> list[list[Any]]:
        """The rows that a statement gives. Raises `RuntimeError` with what Spark says."""
        rows: list[list[Any]] = self._ask(statement)["rows"]
        return rows

    def seconds(self, statement: str) -> float:
        """How long a statement takes."""
        return float(self._ask(statement)["seconds"])

    def _ask(self, statement: str, settings: Mapping[str, str] | None = None) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        said = {"statement": statement, "settings": dict(settings or {})}
        self._process.stdin.write(json.dumps(said) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        if "failure" in answer:
            raise RuntimeError(answer["failure"])
        return answer


class LanceSpark(SparkProcess):
    """A session of Spark with lance-spark, which other Python runs."""

    def __init__(self, python: str) -> None:
        """Start it; its jars are fetched when that is done for the first time."""
        super().__init__(python, str(STATEMENTS))

    def use(self, name: str, address: str, **properties: str) -> None:
        """Know a server by a name."""
        mine = f"spark.sql.catalog.{name}"
        said = {mine: CATALOG, f"{mine}.impl": "rest", f"{mine}.uri": address}
        self._ask("SELECT 1", said | {f"{mine}.{key}": properties[key] for key in properties})
