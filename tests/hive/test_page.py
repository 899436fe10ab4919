"""What the page on Hive Metastores shows runs."""

from __future__ import annotations

from pathlib import Path

import pytest

import lanceyard
from lanceyard.catalog.hive.metastore.client import Metastore
from tests.docs.reader import Reader
from tests.docs.snippets import ROOT

from .metastore import MetastoreServer


def test_a_reader_can_follow_the_page(
    hive: MetastoreServer, store: Metastore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    around = "hive." if store.has_catalogs() else ""

    def edit(text: str) -> str:
        """Hive 3 and newer have catalogs around databases."""
        here = text.replace("thrift://metastore:9083", hive.uri)
        return here.replace("s3://lake/lance", str(tmp_path)).replace('"shop', f'"{around}shop')

    monkeypatch.chdir(tmp_path)
    with Reader(ROOT / "docs" / "hive.md", tmp_path, edit) as reader:
        assert reader.follow()
    yard = lanceyard.open({"impl": "hive", "uri": hive.uri, "root": str(tmp_path)})
    assert yard.table(f"{around}shop.fruit").read().num_rows == 2
    yard.drop(f"{around}shop", cascade=True)
