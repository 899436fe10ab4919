"""The laboratory: a small pipeline with one of everything, and what it has to come to."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import lance
import pyarrow as pa

import lanceyard
from lanceyard.spark.sql.pipelines import Pipelines

SPEC = Path(__file__).parent / "lab" / "spark-pipeline.yml"
FRAGMENT = 10
"""Numbers that come at once."""


@dataclass(frozen=True)
class Laboratory:
    """A folder with a catalog in which the pipeline runs."""

    home: Path

    @property
    def root(self) -> str:
        return str(self.home / "catalog")

    @property
    def config(self) -> dict[str, str]:
        return {"spark.lab.sink": str(self.home / "sink.lance")}

    @property
    def yard(self) -> lanceyard.Yard:
        return lanceyard.open(self.root)

    def feed(self, times: int) -> None:
        """Add some more numbers to the source."""
        self.yard.create_namespace("lab", exist_ok=True)
        known = len(self.numbers("source"))
        for start in range(known, known + times * FRAGMENT, FRAGMENT):
            data = pa.table({"n": pa.array(range(start, start + FRAGMENT), pa.int64())})
            if start:
                self.yard.table("lab.source").append(data)
            else:
                self.yard.create_table("lab.source", data)

    def run(self, pipelines: Pipelines) -> None:
        """Let the pipeline run; it comes to its end."""
        with (self.home / "log").open("ab") as log:
            assert pipelines.run("run", "--spec", str(SPEC), output=log) == 0

    def numbers(self, table: str) -> list[int]:
        """The numbers in a table, in order; none if there is no such table."""
        if table not in self.yard.tables("lab"):
            return []
        return sorted(self.yard.table(f"lab.{table}").read()["n"].to_pylist())

    def check(self) -> None:
        """Every number that was fed is everywhere, and once."""
        fed = self.numbers("source")
        both = sorted([*fed, *(-n for n in fed if n)])
        assert self.numbers("both") == both
        assert self.numbers("even") == [n for n in both if n % 2 == 0]
        assert sorted(lance.dataset(f"{self.home}/sink.lance").to_table()["n"].to_pylist()) == fed
        rows = self.yard.table("lab.signs").read().to_pylist()
        signs = {row["sign"]: row["numbers"] for row in rows}
        half = len([n for n in fed if n and n % 2 == 0])
        assert signs == {-1.0: half, 0.0: 1, 1.0: half}
