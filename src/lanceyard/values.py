"""Values of tables as JSON."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any


def plain(value: Any) -> Any:  # noqa: PLR0911
    """A value as JSON has it. Bytes are base64, what no number of JSON can be is null."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, Sequence | set | frozenset):
        return [plain(each) for each in value]
    return str(value)


def as_json(value: Any, *, indent: int | None = None) -> str:
    """A value as a JSON text."""
    return json.dumps(plain(value), ensure_ascii=False, indent=indent, allow_nan=False)
