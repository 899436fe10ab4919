"""Progress of long work, on the standard error stream, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from lanceyard.cli.interruption import Heed

if TYPE_CHECKING:
    import pyarrow as pa

Tell = Callable[[str, int, int | None], None]
"""What is told of progress: a phase, how much is done, and of how much, if that is known."""


@contextmanager
def shown(what: str) -> Iterator[Tell]:
    """Show a bar while the block runs; nothing where nobody sees it."""
    if not sys.stderr.isatty():
        yield lambda _phase, _done, _total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    console = Console(stderr=True)
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=False) as bar:
        task = bar.add_task(what, total=None)

        def tell(phase: str, done: int, total: int | None) -> None:
            bar.update(task, description=phase, completed=done, total=total)

        yield tell


@contextmanager
def shown_of_files() -> Iterator[None]:
    """Show a bar once the storage tells that it deletes or copies many files, as far as it is."""
    with ExitStack() as bars:
        bar: list[Tell] = []

        def tell(phase: str, done: int, total: int | None) -> None:
            if not bar:
                bar.append(bars.enter_context(shown(phase)))
            bar[0](phase, done, total)

        with hearing_of_files(tell):
            yield


@contextmanager
def hearing_of_files(tell: Tell) -> Iterator[None]:
    """Tell too how many files the storage has deleted or copied, while it does."""
    if not sys.stderr.isatty():
        yield
        return
    from lanceyard.storage import headway

    with headway.heard(lambda doing, done: tell(f"{doing} files", done, None)):
        yield


class Counted:
    """A stream whose rows are counted as they go by, and that fails once Ctrl-C is pressed."""

    def __init__(self, stream: pa.RecordBatchReader, tell: Tell, heed: Heed) -> None:
        """Read a stream through `reader`."""
        import pyarrow as pa

        self.count = 0
        self._tell, self._heed = tell, heed
        self.reader = pa.RecordBatchReader.from_batches(stream.schema, self._batches(stream))

    def _batches(self, stream: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        for batch in stream:
            self._heed()
            yield batch
            self.count += batch.num_rows
            self._tell("rows", self.count, None)
        self._heed()  # what ends may have been interrupted with us, and is not all then
