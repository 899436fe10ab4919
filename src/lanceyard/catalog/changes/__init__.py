"""Changes: what writers do to the rows of a catalog, and the rules that each is checked by.

A change is plain data, so that one process can carry it out for another, and it is checked on the
very state it is committed to: what holds here holds in the catalog.
"""

from lanceyard.catalog.changes.change import CHANGES, Change, Outcome, Together, from_json
from lanceyard.catalog.changes.mending import AdoptTables, DiscardRow, RestoreParents, RewriteRow
from lanceyard.catalog.changes.objects import (
    AlterProperties,
    CreateNamespace,
    DropNamespace,
    MoveTable,
    PutTable,
    RemoveTable,
)
from lanceyard.catalog.changes.rules import refuse_overlap
from lanceyard.catalog.changes.versions import (
    AddVersion,
    AdoptVersions,
    PublishVersions,
    RemoveVersions,
    RequireLatest,
)

__all__ = [
    "CHANGES",
    "AddVersion",
    "AdoptTables",
    "AdoptVersions",
    "AlterProperties",
    "Change",
    "CreateNamespace",
    "DiscardRow",
    "DropNamespace",
    "MoveTable",
    "Outcome",
    "PublishVersions",
    "PutTable",
    "RemoveTable",
    "RemoveVersions",
    "RequireLatest",
    "RestoreParents",
    "RewriteRow",
    "Together",
    "from_json",
    "refuse_overlap",
]
