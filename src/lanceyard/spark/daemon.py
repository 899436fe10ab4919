"""The process that Spark forks Python workers from, after it has imported what they will need.

Every worker would else import Lance and what comes with it for a second or two before it can begin.
Nothing of it is used here: a fork of a process in which Lance has run would hang.
"""

from __future__ import annotations

import gc
import socket
import sys
import warnings

import lance  # noqa: F401
from pyspark import daemon

import lanceyard.namespace
import lanceyard.spark.source  # noqa: F401

_worker = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:  # noqa: FBT001
    """Serve a task, whose pieces are acknowledged at once: Spark sends none before the last is."""
    if sys.platform == "linux" and sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)  # until the kernel forgets it
    return _worker(sock, authenticated)


if __name__ == "__main__":
    daemon.worker = worker
    warnings.filterwarnings("ignore", message="lance is not fork-safe")
    gc.freeze()
    daemon.manager()
