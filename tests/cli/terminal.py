"""A real terminal: a command on a pseudo-terminal, and what a person sees and types there."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from functools import partial
from typing import Self

PATIENCE = 60.0
REACTION = 0.3
"""Seconds that a person takes to do something about what is shown."""
ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """A command that believes that a person sits before it."""

    def __init__(self, *words: str, columns: int = 100) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "lanceyard", *words],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**_elsewhere(), "TERM": "xterm-256color"},
            start_new_session=True,
            # The terminal is that of the session, so that Ctrl-C reaches it.
            preexec_fn=partial(fcntl.ioctl, 0, termios.TIOCSCTTY, 0),  # noqa: PLW1509
        )
        self._settings = termios.tcgetattr(theirs)
        os.close(theirs)
        self.raw = ""

    @property
    def seen(self) -> str:
        """All that was shown so far, without what only moves or colours."""
        return ESCAPE.sub("", self.raw).replace("\r\n", "\n")

    @property
    def is_as_before(self) -> bool:
        """Whether the terminal echoes, breaks lines and shows its cursor as it did at first."""
        shows_cursor = self.raw.rfind("\x1b[?25l") <= self.raw.rfind("\x1b[?25h")
        return shows_cursor and termios.tcgetattr(self._ours) == self._settings

    def wait_for(self, text: str) -> None:
        """Wait until something is shown."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            assert self._read(0.1), f"ended before {text!r}: {self.seen}"

    def type(self, text: str) -> None:
        """Type something, as fast as people can."""
        time.sleep(REACTION)
        os.write(self._ours, text.encode())

    def interrupt(self, after: float = REACTION) -> int:
        """Press Ctrl-C, and tell how the command ends; it leaves the terminal as it was."""
        time.sleep(after)
        os.write(self._ours, b"\x03")
        code = self.end()
        assert self.is_as_before
        assert "Traceback" not in self.seen
        return code

    def end(self, patience: float = PATIENCE) -> int:
        """Wait until the command ends, and tell how."""
        deadline = time.monotonic() + patience
        while self._read(0.1):
            assert time.monotonic() < deadline, self.seen
        return self._process.wait(PATIENCE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._ours)

    def _read(self, seconds: float) -> bool:
        """Read on; False once nothing more will come."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # which is how Linux says that the other side is closed
            return False
        self.raw += data.decode(errors="replace")
        return bool(data)


def _elsewhere() -> dict[str, str]:
    """The environment, but for what it says of another terminal."""
    return {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
