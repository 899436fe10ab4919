"""The command line: ``python -m lanceyard``."""

from __future__ import annotations

import contextlib
import os
import signal
import sys

COMPLETE = "_LANCEYARD_COMPLETE"
"""The variable by which a shell asks for completions."""
INTERRUPTED = 130


def main() -> int:
    """Carry out the command of this process, and return its exit code.

    If it was interrupted the process ends here.
    """
    _open_what_is_closed()
    try:
        code = _carry_out()
    except KeyboardInterrupt:  # before there was a command that could tell it
        code = INTERRUPTED
    # All is done: Ctrl-C would only spoil how it ends.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if code == INTERRUPTED:
        _end_at_once(code)
    return code


def _open_what_is_closed() -> None:
    """Let there be standard streams: a file of the catalog must not become one by its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # which takes the lowest number that is free
            setattr(sys, name, open(number, "w" if number else "r"))  # noqa: SIM115 - as long as we run


def _carry_out() -> int:
    if COMPLETE in os.environ:
        from lanceyard.cli.main import cli

        cli.main(prog_name="lanceyard", complete_var=COMPLETE)
    from lanceyard.cli.main import main as carry_out

    return carry_out()


def _end_at_once(code: int) -> None:
    """End without waiting for threads: those of Lance that are at work would abort the process."""
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.exit(main())
