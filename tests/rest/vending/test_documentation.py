"""What docs/vending.md says can be said."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from lanceyard.server.vending.settings import FIELDS, Kind, VendingSettings

TEXT = (Path(__file__).parents[3] / "docs" / "vending.md").read_text()
EXAMPLES = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_examples_are_settings(example: str) -> None:
    whole = re.sub(r"^# (?=\w+ = )", "", example, flags=re.MULTILINE)
    for text in (example, whole):
        assert VendingSettings.model_validate(tomllib.loads(text)["vending"]).kind


def test_every_kind_and_every_setting_is_told() -> None:
    assert all(f"| `{kind.value}` |" in TEXT for kind in Kind)
    assert all(f"{name} = " in TEXT for names in FIELDS.values() for name in names)
