"""A reader who does what a page says, in a folder of his own."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from tests.docs.snippets import Snippet, read_snippets

PORT = "2333"
"""The port that pages name; the reader takes one that is free."""
SECONDS = 60


class Reader:
    """Carries out the snippets of a page, and compares what they print with what the page shows.

    All Python of a page is one program, which runs in this process: most of what a page takes is
    imported already. Commands run in a shell; one that ends with ``&`` goes on until the page ends,
    and has to print a line when it is ready.
    """

    def __init__(self, page: Path, folder: Path, edit: Callable[[str], str] = str) -> None:
        """Begin to read a page, edited for where it is read.

        The folder is empty, and the one that this process works in.
        """
        self._page = page
        self._edit = edit
        self._folder = folder
        self._names: dict[str, Any] = {"__name__": "__main__"}
        self._port = _free_port()
        self._running: list[subprocess.Popen[str]] = []
        self._environment = {
            **os.environ,
            "PATH": f"{_commands(folder)}:{os.environ['PATH']}",
            "LANCEYARD_OUTPUT": "table",  # as readers see it on their terminals
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=SECONDS)

    def follow(self) -> int:
        """Do all that the page says, and say how much that was."""
        text = self._edit(self._page.read_text().replace(PORT, self._port))
        snippets = [each for each in read_snippets(text) if each.reason is None]
        for snippet in snippets:
            self._do(snippet)
        return len(snippets)

    def _do(self, snippet: Snippet) -> None:
        if snippet.title is not None:
            snippet.write(self._folder)
        elif snippet.language == "python":
            self._compare(snippet, snippet.output, self._run(snippet.code, snippet.line))
        elif snippet.language == "sql":
            self._compare(snippet, snippet.output, self._query(snippet.code))
        elif snippet.language == "console":
            for command, output in transcript(snippet.code):
                self._compare(snippet, output or None, self._command(command))

    def _run(self, code: str, line: int) -> str:
        # Tracebacks then name the line of the page.
        program = compile("\n" * (line - 1) + code, str(self._page), "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(program, self._names)
        return printed.getvalue()

    def _query(self, code: str) -> str:
        """The statements of Spark SQL, one by one; what they find is printed as `show` does."""
        statements = [each.strip() for each in re.split(r";\s*$", code, flags=re.MULTILINE)]
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            for statement in filter(None, statements):
                self._names["spark"].sql(statement).show(truncate=False)
        return printed.getvalue()

    def _command(self, command: str) -> str:
        if command.endswith("&"):
            return self._start(command.removesuffix("&"))
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _start(self, command: str) -> str:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self._folder,
            env=self._environment,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._running.append(process)
        assert process.stdout is not None
        return process.stdout.readline()

    def _compare(self, snippet: Snippet, shown: str | None, printed: str) -> None:
        if shown is None:
            return
        assert is_shown(printed, shown), (
            f"{self._page.name}, line {snippet.line}: the page shows\n{shown}\nand it is\n{printed}"
        )


def is_shown(printed: str, shown: str) -> bool:
    """Whether a page shows what was printed, but for what may differ."""
    pattern = ".*?".join(re.escape(part) for part in _tidy(shown).split("…"))
    return re.fullmatch(pattern, _tidy(printed), re.DOTALL) is not None


def transcript(code: str) -> list[tuple[str, str]]:
    """The commands of a console, each with the output below it; ``\\`` continues a command."""
    steps = re.split(r"^\$ ", code, flags=re.MULTILINE)[1:]
    commands = []
    for step in steps:
        command, _, output = re.sub(r"\\\n\s*", "", step).partition("\n")
        commands.append((command.strip(), output))
    return commands


def _tidy(text: str) -> str:
    """A text without what nobody sees at the ends of its lines."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def _commands(folder: Path) -> Path:
    """A folder with the commands of this very Python, wherever the others come from."""
    home = folder.parent / f"{folder.name}-bin"
    home.mkdir()
    for name, arguments in {"python": "", "lanceyard": " -m lanceyard"}.items():
        script = home / name
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)}{arguments} "$@"\n')
        script.chmod(0o755)
    return home


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return str(taken.getsockname()[1])
