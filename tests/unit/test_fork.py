"""A namespace in the child of a fork starts anew: locks, threads and handles are the parent's.

What Lance itself does in a child whose parent has used it is not ours to promise: its reads hang
there now and then, and it warns of that.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

import lanceyard
from lanceyard.namespace import DirectoryNamespace

WAIT = 20


def child_exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def manifest_of(namespace: DirectoryNamespace):
    return namespace._catalog._hashed.manifest


def test_a_namespace_that_was_not_used_yet_works_in_the_child_of_a_fork(tmp_path: Path) -> None:
    namespace = lanceyard.DirectoryNamespace(root=str(tmp_path), dir_listing_enabled="true")
    pid = os.fork()
    if pid == 0:
        threading.Timer(WAIT, os._exit, [3]).start()
        os._exit(0 if namespace.list_tables({"id": []}).tables == [] else 1)
    assert child_exit_code(pid) == 0


def test_the_child_of_a_fork_holds_nothing_of_its_parent(tmp_path: Path) -> None:
    namespace = lanceyard.DirectoryNamespace(root=str(tmp_path), durability="os")
    namespace.create_namespace({"id": ["a"]})
    before = manifest_of(namespace)._view
    pid = os.fork()
    if pid == 0:
        after = manifest_of(namespace)._view
        fresh = after is not before and after.held is None and after.lock.acquire(blocking=False)
        os._exit(0 if fresh else 1)
    assert child_exit_code(pid) == 0
    assert namespace.list_namespaces({"id": []}).namespaces == ["a"]


def test_a_fork_waits_until_no_thread_is_inside_a_commit(tmp_path: Path) -> None:
    manifest = manifest_of(lanceyard.DirectoryNamespace(root=str(tmp_path)))
    manifest._landing.acquire()
    threading.Timer(0.2, manifest._landing.release).start()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    assert child_exit_code(pid) == 0
    assert manifest._landing.acquire(blocking=False)
