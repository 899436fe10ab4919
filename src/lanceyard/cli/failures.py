"""Failures: what went wrong in one line, with the next step, and the exit code for it."""

from __future__ import annotations

import shlex
import sys
import traceback
from collections.abc import Sequence
from typing import NamedTuple

from lanceyard.cli.cells import visible
from lanceyard.cli.exits import BY_CODE, Exit

EXTRAS = {
    "datafusion": "views",
    "pyspark": "spark",
    "uvicorn": "server",
    "starlette": "server",
    "httptools": "server",
    "prometheus_client": "server",
    "jwt": "server",
    "pandas": "pandas",
}
"""The extras that packages come with."""
BY_KIND: dict[type[OSError], Exit] = {
    PermissionError: Exit.FORBIDDEN,
    FileExistsError: Exit.TAKEN,
    FileNotFoundError: Exit.MISSING,
    NotADirectoryError: Exit.MISSING,
    IsADirectoryError: Exit.MISSING,
}
"""Exit codes of failures on files beside the catalog."""
LONGEST = 400
"""Characters of a message; Lance sometimes tells much more."""


class RefusalError(Exception):
    """Raised when a command cannot be carried out as it was given."""

    def __init__(self, message: str, code: Exit, step: str | None = None) -> None:
        """Say why, with which exit code, and what to do next."""
        super().__init__(message)
        self.code = code
        self.step = step


class Told(NamedTuple):
    """A failure as people are told of it."""

    message: str
    code: Exit
    step: str | None

    def __str__(self) -> str:
        said = f"lanceyard: {self.message}"
        return f"{said}; next: {self.step}" if self.step else said


def command_line(*words: str) -> str:
    """A command that can be copied into a shell."""
    return shlex.join(("lanceyard", *words))


def tell(
    error: BaseException, address: Sequence[str], table: str | None = None, *, debug: bool = False
) -> Exit:
    """Tell a failure on the standard error stream; in one line, or with all that led to it."""
    told = read(error, address, table)
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    print(told, file=sys.stderr)
    return told.code


def read(error: BaseException, address: Sequence[str], table: str | None = None) -> Told:
    """What a failure is.

    `address` is how the catalog was named on the command line, `table` the table it was about.
    """
    if isinstance(error, RefusalError):
        return Told(visible(str(error)), error.code, error.step)
    code = getattr(error, "code", None)
    if code is not None and int(code) in BY_CODE:
        return Told(_line(error), BY_CODE[int(code)], _step(error, int(code), address, table))
    if isinstance(error, ModuleNotFoundError):
        return _missing_package(error)
    for kind, exit_code in BY_KIND.items():
        if isinstance(error, kind):
            return Told(_line(error), exit_code, None)
    step = None if isinstance(error, OSError) else "the same command with --debug tells more"
    return Told(f"{type(error).__name__}: {_line(error)}", Exit.FAILED, step)


def _line(error: BaseException) -> str:
    """What an error says, in one line."""
    said = str(error)
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        said = f"{error.strerror}: {error.filename}"
    text = visible(" ".join(said.split())).rstrip(".")
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _missing_package(error: ModuleNotFoundError) -> Told:
    top = (error.name or "").partition(".")[0]
    extra = EXTRAS.get(top)
    step = f"pip install 'lanceyard[{extra}]'" if extra else None
    return Told(f"{top or error} is missing", Exit.UNSUPPORTED, step)


def _step(error: BaseException, code: int, address: Sequence[str], table: str | None) -> str | None:
    """What to do next, where the error does not say it."""
    from lanceyard.errors import ErrorCode, UnknownOutcomeError

    if isinstance(error, UnknownOutcomeError):
        return "look whether it was done before doing it again"
    steps = {
        ErrorCode.NAMESPACE_NOT_FOUND: command_line("ls", "-R", *address),
        ErrorCode.TABLE_NOT_FOUND: command_line("ls", "-R", *address),
        ErrorCode.TABLE_VERSION_NOT_FOUND: command_line("log", *address),
        **(_steps_of(table, address) if table else {}),
        ErrorCode.CONCURRENT_MODIFICATION: "do it again",
        ErrorCode.SERVICE_UNAVAILABLE: "try again later, or check the address",
        ErrorCode.THROTTLING: "try again later",
        ErrorCode.UNAUTHENTICATED: "give a key: -p api_key=KEY, or in a profile (config --help)",
        ErrorCode.INTERNAL: "the same command with --debug tells more",
    }
    return steps.get(ErrorCode(code))


def _steps_of(table: str, address: Sequence[str]) -> dict[int, str]:
    """What to do next where something of a table is missing."""
    from lanceyard.errors import ErrorCode

    return {
        ErrorCode.TABLE_VERSION_NOT_FOUND: command_line("versions", *address, table),
        ErrorCode.TABLE_TAG_NOT_FOUND: command_line("tag", "list", *address, "--table", table),
        ErrorCode.TABLE_COLUMN_NOT_FOUND: command_line("show", *address, table),
    }
