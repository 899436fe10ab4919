"""The process that reads the spec of a pipeline, and has Spark run it.

It is Spark's own, but for two things. The storage may lie within a catalog, as in
``storage: yard:.spark``, so that tables and the checkpoints that tell how far they have come are
moved, copied and deleted together. And flows that would read tables too early are refused.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanceyard import errors
from lanceyard.spark.sql.flows import Flows

if TYPE_CHECKING:
    from pyspark.pipelines import cli
    from pyspark.pipelines.flow import Flow
    from pyspark.pipelines.output import Output


def stored(storage: str, roots: Mapping[str, str]) -> str:
    """The storage as Spark takes it, given the folders of the catalogs."""
    name, separator, path = storage.partition(":")
    if not separator or name not in roots or path.startswith("//"):
        return storage
    root = roots[name]
    if "://" in root:
        return f"{root.rstrip('/')}/{path}"
    return Path(os.path.join(root, path)).absolute().as_uri()


def main(roots: str, *arguments: str) -> int:
    """Run ``spark-pipelines`` with some arguments, as long as standard input is open."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # PySpark has its doubts about pandas 3, which nothing here depends on.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    from pyspark.pipelines import cli

    _complete(cli, json.loads(roots))
    sys.argv = ["spark-pipelines", *arguments]
    try:
        cli.main()
    except errors.LanceNamespaceError as refusal:
        sys.stderr.write(f"lanceyard: {refusal}\n")
        return 1
    return 0


def _end_with_parent() -> None:
    """End this process when its parent has died: Spark has ended then, and would be called on."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def _complete(cli: Any, roots: Mapping[str, str]) -> None:
    """Put our parts into Spark's program."""
    unpack, start_run = cli.unpack_pipeline_spec, cli.start_run
    flows = Flows(None, None)

    def unpack_completed(said: Mapping[str, Any]) -> cli.PipelineSpec:
        nonlocal flows
        storage = {key: stored(said[key], roots) for key in ("storage",) if key in said}
        spec = unpack({**said, **storage})
        flows = Flows(spec.catalog, spec.database)
        return spec

    def start_checked(*given: Any, **more: Any) -> Any:
        flows.check()
        return start_run(*given, **more)

    class Registry(cli.SparkConnectGraphElementRegistry):  # type: ignore[misc]
        """Spark's own, with a second look at what is declared."""

        def register_output(self, output: Output) -> None:
            flows.add_table(output.name)
            super().register_output(output)

        def register_flow(self, flow: Flow) -> None:
            def watched() -> Any:
                frame: Any = flow.func()
                flows.add_flow(flow.name, frame._plan.plan(self._client))  # noqa: SLF001
                return frame

            super().register_flow(replace(flow, func=watched))

    cli.unpack_pipeline_spec = unpack_completed
    cli.start_run = start_checked
    cli.SparkConnectGraphElementRegistry = Registry


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
