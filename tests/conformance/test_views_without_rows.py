"""Catalogs that keep no properties of tables have no views, and say so."""

from __future__ import annotations

import pyarrow as pa
from lance_namespace.errors import ErrorCode

from .kit import Catalog, applies, refused
from .test_views import TWICE, define, schema

pytestmark = [applies(extensions=True, views=False)]


def test_views_are_unsupported(catalog: Catalog) -> None:
    catalog.create_table(["t"], 1, 2, 3)
    with refused(ErrorCode.UNSUPPORTED):
        define(catalog, ["v"], TWICE, output_schema=schema(twice=pa.int64()))
    assert "CreateMaterializedView" not in catalog.plain.list_operations().operations
