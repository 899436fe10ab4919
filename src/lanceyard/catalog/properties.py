"""Properties of a table whose catalog keeps none: its Lance metadata."""

from __future__ import annotations

import json
from typing import Any

from lanceyard.catalog.views import VIEW

PENDING = b"lanceyard:properties"
"""In the schema's metadata: the properties that came with a content, until they are in place."""


def lance_properties(dataset: Any) -> dict[str, str]:
    """The properties that an open table carries itself.

    Those that came with its content count from the same commit on, put in place or not yet.
    """
    pending = (dataset.schema.metadata or {}).get(PENDING)
    found = dict(dataset.metadata) if pending is None else json.loads(pending)
    # Whoever can write the table could have put it there. Only rows make a view.
    return {name: value for name, value in found.items() if name != VIEW}
