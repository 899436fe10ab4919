"""Bodies are read as they come, whatever their size."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

MEGABYTES = 500
ALLOWED = 200

INSERT = """
import resource, sys
import numpy as np, pyarrow as pa
import lanceyard

ROWS = 4096
SCHEMA = pa.schema({"v": pa.list_(pa.float32(), 256)})

def batch(number):
    values = np.random.default_rng(number).random(ROWS * 256, dtype=np.float32)
    return pa.record_batch([pa.FixedSizeListArray.from_arrays(pa.array(values), 256)], ["v"])

def chunks(megabytes):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        writer.write_batch(batch(0))
    yield sink.getvalue().to_pybytes()[:-8]
    for number in range(1, megabytes // 4):
        yield batch(number).serialize().to_pybytes()
    yield b"\\xff\\xff\\xff\\xff\\x00\\x00\\x00\\x00"

namespace = lanceyard.DirectoryNamespace(root=sys.argv[1], durability="os")
namespace.create_table({"id": ["t"]}, chunks(8))
namespace.insert_into_table({"id": ["t"]}, chunks(8))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
answer = namespace.insert_into_table({"id": ["t"]}, chunks(int(sys.argv[2])))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(answer.num_inserted_rows * 1024 // 2**20, (after - before) // 1024)
"""


def test_an_insert_of_500_megabytes_takes_less_than_200_of_memory(tmp_path: Path) -> None:
    command = [sys.executable, "-c", INSERT, str(tmp_path), str(MEGABYTES)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    inserted, added = map(int, done.stdout.split())
    assert inserted == MEGABYTES
    assert added < ALLOWED
