"""Deferral: packages whose parts are imported one by one, until somebody asks for the whole."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from typing import Any

CLIENT = "lance_namespace_urllib3_client"
"""The models of the protocol, beside a client that we have no use for: that takes most of a second
to import, so that short commands would spend most of their time on it."""


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
