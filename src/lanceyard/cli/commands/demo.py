"""A sample catalog: `demo`."""

from __future__ import annotations

import shlex
import shutil
import uuid
from pathlib import Path

from lanceyard.cli import progress
from lanceyard.cli.command import Effect, catalog_command
from lanceyard.cli.exits import Exit
from lanceyard.cli.failures import RefusalError, command_line
from lanceyard.cli.interruption import Heed, heeded
from lanceyard.cli.session import Session


@catalog_command("demo", effect=Effect.CHANGES)
def demo_command(session: Session) -> None:
    """Make a sample catalog in a new folder.

    It has rows, vectors, pictures, versions, tags and indexes.
    """
    root = session.address.root
    if root is None:
        raise RefusalError("a sample is made in a local folder: give a path", Exit.USAGE)
    target = Path(root)
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        step = command_line("ls", "-R", *session.address.words)
        raise RefusalError(f"{root} exists and is not empty", Exit.TAKEN, step)
    if not session.goes_ahead("demo", root, namespaces=3, tables=8):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{uuid.uuid4().hex}.part")
    properties = {**session.address.properties, "root": str(part)}
    properties.pop("path", None)
    with heeded() as heed:
        try:
            part.mkdir()
            _fill(properties, heed)
            part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    session.done("demo", root, namespaces=3, tables=8, undo=shlex.join(["rm", "-r", root]))
    session.output.line(f"next: {command_line('ls', '-R', *session.address.words)}")


def _fill(properties: dict[str, str], heed: Heed) -> None:
    import lanceyard
    from lanceyard.cli import sample

    with lanceyard.open(properties) as yard, progress.shown("demo") as tell:

        def told(phase: str, done: int, total: int | None) -> None:
            heed()
            tell(phase, done, total)

        sample.fill(yard, told)
