"""Deferral: what short commands do not import, because they would spend their time on it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from typing import Any

CLIENT = "lance_namespace_urllib3_client"
"""The models of the protocol, beside a client that we have no use for: that takes most of a second
to import."""
PANDAS = "pandas"
"""Which Arrow imports as soon as it makes a value, to look whether that is pandas' own."""


def defer(name: str = CLIENT) -> None:
    """Let a package be imported without what its own module does, unless that is done already.

    Its submodules can be imported at once. The first name that is asked of the package itself lets
    it do the rest, so that nobody sees a difference but in time.
    """
    spec = None if name in sys.modules else find_spec(name)
    if spec is None or spec.loader is None:
        return
    loader, package = spec.loader, module_from_spec(spec)

    def whole(attribute: str) -> Any:
        del vars(package)["__getattr__"]
        loader.exec_module(package)
        return getattr(package, attribute)

    vars(package)["__getattr__"] = whole
    sys.modules[name] = package


def import_arrow_alone() -> None:
    """Let Arrow do without pandas in this process, unless somebody has imported Arrow already.

    It looks once whether there is pandas. Others can import that all the same.
    """
    if "pyarrow" in sys.modules:
        return
    with _unseen(PANDAS):
        import pyarrow as pa

        pa.scalar(None)


class _Blindness:
    """Finds out that a package is not there."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, *_: object) -> None:
        if name == self._name:
            raise ModuleNotFoundError(f"{name} is not wanted here", name=name)


@contextmanager
def _unseen(name: str) -> Iterator[None]:
    """Let a package not be found while the block runs."""
    blindness = _Blindness(name)
    sys.meta_path.insert(0, blindness)
    try:
        yield
    finally:
        sys.meta_path.remove(blindness)
