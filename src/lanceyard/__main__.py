"""The command line: ``python -m lanceyard``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out a command, and return the exit status."""
    parser = argparse.ArgumentParser("lanceyard", description="A catalog for Lance tables.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    try:
        from lanceyard.server import command
    except ImportError as missing:
        hint = "pip install 'lanceyard[server]'"
        print(f"lanceyard: {missing.name} is missing: {hint}", file=sys.stderr)
        return 1
    serve = commands.add_parser("serve", help="serve a catalog over HTTP")
    command.add_arguments(serve)
    serve.set_defaults(carry_out=command.serve)
    key = commands.add_parser("key", help="make an API key, and what a server knows it by")
    key.set_defaults(carry_out=command.make_key)
    given = parser.parse_args(arguments)
    return int(given.carry_out(given))


if __name__ == "__main__":
    sys.exit(main())
