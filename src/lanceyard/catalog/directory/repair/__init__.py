"""Repair of a directory catalog: findings, and how each is mended."""

from lanceyard.catalog.directory.repair.repair import Repair
from lanceyard.catalog.directory.repair.site import Site
from lanceyard.catalog.directory.repair.trash import Trash

__all__ = ["Repair", "Site", "Trash"]
