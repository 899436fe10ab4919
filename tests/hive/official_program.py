"""The official implementation, for another Python: operations in, answers out, as JSON.

It imports nothing of this project, whose thrift is too new for it.
"""

from __future__ import annotations

import json
import sys
import time

import lance_namespace
from lance_namespace_urllib3_client import models


def main(implementation: str, uri: str, root: str) -> None:
    """Carry out operations, one on each line, until there are none."""
    namespace = lance_namespace.connect(implementation, {"uri": uri, "root": root})
    for line in sys.stdin:
        operation, request = json.loads(line)
        words = "".join(word.capitalize() for word in operation.split("_"))
        made = getattr(models, f"{words}Request").from_dict(request)
        begun = time.perf_counter()
        try:
            answer = getattr(namespace, operation)(made)
            seconds = time.perf_counter() - begun
            found = {"answer": answer.to_dict(), "seconds": seconds}
        except Exception as failure:
            found = {"failure": f"{type(failure).__name__}: {failure}"}
        print(json.dumps(found, default=str), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
