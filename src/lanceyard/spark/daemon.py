"""The process that Spark forks Python workers from, after it has imported what they will need.

Every worker would else import Lance and what comes with it for a second or two before it can begin.
Nothing of it is used here: a fork of a process in which Lance has run would hang.
"""

from __future__ import annotations

import gc
import socket
import warnings

import lance  # noqa: F401
from pyspark import daemon

import lanceyard.namespace
import lanceyard.spark.source  # noqa: F401

_worker = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001
    """Serve until Spark has enough, which is no failure to be told: LIMIT ends many tasks so."""
    try:
        return _worker(sock, authenticated)
    except BrokenPipeError:
        return 1


if __name__ == "__main__":
    daemon.worker = worker
    warnings.filterwarnings("ignore", message="lance is not fork-safe")
    gc.freeze()
    daemon.manager()
