"""Fingerprints of functions, by which a back-fill knows whether it computes the same as before."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

from lanceyard.spark.maintenance.pickling import dump


def digest(function: Callable[..., Any]) -> str:
    """A digest of what a function does: its code, and the values and functions that it uses.

    A function of the same name that does something else has another one. What modules do that it
    imports is taken to stay the same.
    """
    found = hashlib.sha256()
    for part in _parts(function, set()):
        found.update(part)
    return found.hexdigest()


def _parts(value: Any, seen: set[int]) -> Iterator[bytes]:
    if id(value) in seen:
        return
    seen.add(id(value))
    code = getattr(value, "__code__", None)
    if code is None:
        yield _pickled(value)
        return
    names: set[str] = set()
    yield from _code_parts(code, names)
    if hasattr(value, "__self__"):  # a method does what its object says
        yield from _parts(value.__self__, seen)
    held = [cell.cell_contents for cell in value.__closure__ or ()]
    around = [value.__globals__[name] for name in sorted(names) if name in value.__globals__]
    for used in (*held, value.__defaults__, value.__kwdefaults__, *around):
        yield from _parts(used, seen)


def _code_parts(code: CodeType, names: set[str]) -> Iterator[bytes]:
    """Instructions and constants; `names` gets those of all that is looked up."""
    yield code.co_code
    names.update(code.co_names)
    yield repr(code.co_names).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant, names)
        elif isinstance(constant, frozenset):
            yield repr(sorted(map(repr, constant))).encode()  # a set has another order every time
        else:
            yield repr(constant).encode()


def _pickled(value: Any) -> bytes:
    """A value; of one that cannot be sent anywhere, its type."""
    if isinstance(value, ModuleType):
        return value.__name__.encode()
    try:
        return dump(value)
    except (TypeError, AttributeError, pickle.PicklingError):
        return type(value).__qualname__.encode()
