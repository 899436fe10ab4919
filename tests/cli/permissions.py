"""Folders that may only be read, also by root."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PR_CAPBSET_DROP = 24
CAPABILITIES = (1, 2, 3)
"""CAP_DAC_OVERRIDE and its kin, for which permissions of files do not hold."""


def without_the_rights_of_root() -> None:
    """Let the permissions of files hold for this process, once it runs a program."""
    for capability in CAPABILITIES:
        ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


@contextmanager
def read_only(root: Path) -> Iterator[None]:
    """Let nobody write below a folder while the block runs."""
    _set_writable(root, writable=False)
    try:
        yield
    finally:
        _set_writable(root, writable=True)


def _set_writable(root: Path, *, writable: bool) -> None:
    for folder, _, names in os.walk(root):
        for name in names:
            os.chmod(os.path.join(folder, name), 0o644 if writable else 0o444)
        os.chmod(folder, 0o755 if writable else 0o555)
