"""The manifest: the ``__manifest`` Lance table of a V2 catalog, read fast and written safely."""

from lanceyard.catalog.directory.manifest.engine import Manifest

__all__ = ["Manifest"]
