"""What the pages on Spark show runs, and prints what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lanceyard.spark.sql.catalogs import detach
from tests.docs.reader import Reader
from tests.docs.snippets import ROOT
from tests.docs.test_pages import SPARK


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("page", sorted(SPARK))
def test_a_reader_can_follow_a_page(
    spark: SparkSession, page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    catalog = f"yard_{page.replace('-', '_')}"

    def edit(text: str) -> str:
        """Spark works in another folder, and keeps what it knows of a catalog."""
        return re.sub(r"\byard\b", catalog, text.replace('"./', f'"{tmp_path}/'))

    monkeypatch.chdir(tmp_path)
    with Reader(ROOT / "docs" / f"{page}.md", tmp_path, edit) as reader:
        assert reader.follow()
    detach(spark, catalog)
