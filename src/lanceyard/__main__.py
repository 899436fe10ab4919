"""The command line: ``python -m lanceyard``."""

from __future__ import annotations

import os
import sys

COMPLETE = "_LANCEYARD_COMPLETE"
"""The variable by which a shell asks for completions."""


def main() -> int:
    """Carry out the command of this process, and return its exit code."""
    if COMPLETE in os.environ:
        from lanceyard.cli.main import cli

        cli.main(prog_name="lanceyard", complete_var=COMPLETE)
    from lanceyard.cli.main import main as carry_out

    return carry_out()


if __name__ == "__main__":
    sys.exit(main())
