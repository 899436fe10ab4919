"""Clean-up of old states: history, tags and open transactions hold what they need."""

from __future__ import annotations

from pathlib import Path

import pytest

import lanceyard
from lanceyard import errors
from lanceyard.catalog.directory import open_catalog
from lanceyard.namespace import Namespace
from lanceyard.settings import DirectorySettings, Durability
from tests.races.arena import Clock

WINDOW = 600.0
HOUR = 3_600.0


class Aging:
    """A catalog with a clock of its own."""

    def __init__(self, root: Path, *, managed: bool, history: float | None = None) -> None:
        self.clock = Clock()
        settings = DirectorySettings(
            root=str(root),
            durability=Durability.OS,
            window=WINDOW,
            catalog_history=history,
            table_version_management=managed,
        )
        self.yard = lanceyard.Yard(Namespace(open_catalog(settings, clock=self.clock)))
        self.yard.create_table("t", {"n": [1]})
        for name in ("a", "b", "c"):
            self.yard.create_namespace(name)
        self.old = self.yard.states()[-1].version
        self.yard.create_namespace("d")

    def wait(self, seconds: float) -> None:
        """Let time pass, with a write after it and the upkeep that it causes."""
        self.yard.close()
        self.clock.ahead += seconds
        self.yard.create_namespace(f"after{self.clock.ahead:.0f}")
        self.yard.close()


@pytest.mark.parametrize(
    ("managed", "history", "kept_for"),
    [(True, None, HOUR), (True, 1_800.0, 1_800.0), (False, None, WINDOW), (False, HOUR, HOUR)],
)
def test_states_are_kept_for_the_history(
    tmp_path: Path, *, managed: bool, history: float | None, kept_for: float
) -> None:
    aging = Aging(tmp_path, managed=managed, history=history)
    aging.wait(kept_for - 60)
    assert aging.yard.as_of(aging.old).namespaces() == ["a", "b", "c"]
    aging.wait(kept_for)
    with pytest.raises(errors.TableVersionNotFoundError, match="it has versions"):
        aging.yard.as_of(aging.old)


def test_a_tagged_state_is_kept_for_ever(tmp_path: Path) -> None:
    aging = Aging(tmp_path, managed=True)
    aging.yard.tags.create("kept", aging.old)
    aging.wait(2 * HOUR)
    aging.wait(2 * HOUR)
    assert aging.yard.as_of("kept").namespaces() == ["a", "b", "c"]
    assert aging.yard.as_of("kept").table("t").read()["n"].to_pylist() == [1]
    aging.yard.table("t").append({"n": [2]})
    assert aging.yard.diff("kept").committed
    aging.yard.tags.delete("kept")
    aging.wait(2 * HOUR)
    with pytest.raises(errors.TableVersionNotFoundError):
        aging.yard.as_of(aging.old)


def test_an_open_transaction_keeps_what_it_sees(tmp_path: Path) -> None:
    aging = Aging(tmp_path, managed=True)
    tx = aging.yard.transaction()
    aging.wait(2 * HOUR)
    aging.yard.create_table("later", {"n": [1]})
    aging.wait(2 * HOUR)
    with aging.yard.transaction(tx.id) as joined:
        assert joined.table("t").count_rows() == 1
        with pytest.raises(errors.TableNotFoundError):
            joined.table("later")
    tx.table("t").delete("n = 1")
    tx.commit()
    assert aging.yard.table("t").count() == 0
