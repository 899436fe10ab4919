"""The official implementation of Hive namespaces, as a process of another Python."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any, Self

PYTHON = "LANCE_IMPLS_PYTHON"
"""The variable that names a Python which has ``lance-namespace-impls``."""
PROGRAM = Path(__file__).with_name("official_program.py")
HIVE_2 = "lance_namespace_impls.hive2.Hive2Namespace"


class Official:
    """A namespace of ``lance-namespace-impls`` on a metastore."""

    def __init__(self, python: str, uri: str, root: Path) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [python, str(PROGRAM), HIVE_2, uri, str(root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(60)
        self._process.stdout.close()

    def __call__(self, operation: str, **request: Any) -> dict[str, Any]:
        """What an operation answers. Raises `RuntimeError` with what it fails with."""
        answer: dict[str, Any] = self._ask(operation, request)["answer"]
        return answer

    def seconds(self, operation: str, **request: Any) -> float:
        """How long an operation takes."""
        return float(self._ask(operation, request)["seconds"])

    def _ask(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([operation, request]) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        if "failure" in answer:
            raise RuntimeError(answer["failure"])
        return answer
