"""Commands where only the core is installed."""

from __future__ import annotations

import json
import subprocess
import sys

from lanceyard.cli.exits import Exit

ABSENT = """
import sys
for name in ("pyspark", "datafusion", "uvicorn", "starlette"):
    sys.modules[name] = None
import json
from lanceyard.cli.main import main
for line in sys.stdin:
    print(json.dumps({"code": main(json.loads(line))}))
"""
LINES = [
    ["maintain", "compact", "./market", "shop.orders"],
    ["maintain", "index", "./market", "shop.customers", "id"],
    ["maintain", "refresh", "./market", "library.documents"],
    ["maintain", "backfill", "./market", "shop.customers", "big=id * 2"],
    ["maintain", "sweep", "./market", "shop.orders", "--yes"],
    ["maintain", "expire", "./market", "shop.orders", "--older-than", "0", "--yes"],
    ["maintain", "compact", "./market", "--master", "local[2]"],
    ["sql", "./market", "SELECT 1"],
    ["serve", "./market"],
]


def test_maintenance_needs_no_spark_and_the_rest_says_what_to_install(market: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ABSENT],
        input="\n".join(map(json.dumps, LINES)),
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    codes = [row["code"] for row in rows if "code" in row]
    assert codes == [Exit.DONE] * 6 + [Exit.UNSUPPORTED] * 3
    tables = {row["table"] for row in rows if "table" in row}
    assert tables >= {"shop.orders", "shop.customers"}
    told = [line.rpartition("pip install ")[2] for line in done.stderr.splitlines()]
    assert told == ["'lanceyard[spark]'", "'lanceyard[views]'", "'lanceyard[server]'"]
