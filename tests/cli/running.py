"""Running commands in this process, and reading what they say."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from lanceyard.cli.main import main


@dataclass(frozen=True)
class Done:
    """A command that ended."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """What it wrote for people."""
        return self.out.splitlines()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What it wrote as ndjson."""
        return [json.loads(line) for line in self.lines]

    @property
    def row(self) -> dict[str, Any]:
        """The only row."""
        (found,) = self.rows
        return found

    @property
    def error(self) -> str:
        """The one line in which it told that it failed."""
        (line,) = self.err.splitlines()
        return line


class Shell:
    """Carries out commands as a shell would, but in this process."""

    def __init__(self, captured: pytest.CaptureFixture[str]) -> None:
        self._captured = captured

    def __call__(self, *words: object) -> Done:
        self._captured.readouterr()
        code = main([str(word) for word in words])
        out, err = self._captured.readouterr()
        return Done(code, out, err)

    def ok(self, *words: object) -> Done:
        """Carry out what has to succeed."""
        done = self(*words)
        assert (done.code, done.err) == (0, "")
        return done
