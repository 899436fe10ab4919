"""The catalog in time: states, tags, differences, and what was dropped."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import lance
import pytest

import lanceyard
from lanceyard import errors
from lanceyard.catalog.history import Committed, Difference, Renamed
from lanceyard.identifier import Identifier

MANAGED = {"table_version_management": "true"}
MODES = {
    "managed": MANAGED,
    "managed v2": {**MANAGED, "dir_listing_enabled": "false"},
    "v2": {"dir_listing_enabled": "false"},
    "compat": {},
}


@pytest.fixture(params=MODES)
def yard(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[lanceyard.Yard]:
    properties = {"durability": "os", "drop_retention": "3600", **MODES[request.param]}
    with lanceyard.open(tmp_path / "yard", **properties) as yard:
        yield yard


@pytest.fixture
def managed(tmp_path: Path) -> Iterator[lanceyard.Yard]:
    properties = {"durability": "os", "drop_retention": "3600", **MANAGED}
    with lanceyard.open(tmp_path / "managed", **properties) as yard:
        yield yard


def identifier(*names: str) -> Identifier:
    return Identifier.parse(names)


def numbers(yard: lanceyard.Yard, name: str) -> list[int]:
    return sorted(yard.table(name).read()["n"].to_pylist())


def build(yard: lanceyard.Yard) -> None:
    yard.create_namespace("ns", {"owner": "me"})
    yard.create_table("ns.a", {"n": [1]})
    yard.create_table("ns.b", {"n": [2]}, properties={"k": "v"})
    time.sleep(0.02)  # file times are all that tells versions apart where they are files


def test_a_tagged_state_shows_everything_as_it_was(yard: lanceyard.Yard) -> None:
    build(yard)
    tagged = yard.tags.create("before")
    time.sleep(0.02)
    yard.table("ns.a").append({"n": [10]})
    yard.rename("ns.b", "c")
    yard.create_namespace("later")
    then = yard.as_of("before")
    assert then.tree() == ".\n└── ns\n    ├── a\n    └── b"
    assert numbers(then, "ns.a") == [1]
    assert numbers(then, "ns.b") == [2]
    assert then.table("ns.b").properties == {"k": "v"}
    assert then.table("ns.a").version == 1
    assert then.namespace.describe_namespace({"id": ["ns"]}).properties == {"owner": "me"}
    assert yard.tags.list() == {"before": tagged}
    assert numbers(yard, "ns.a") == [1, 10]


def test_a_dropped_table_is_seen_in_the_past_while_it_is_kept(yard: lanceyard.Yard) -> None:
    build(yard)
    yard.tags.create("before")
    yard.drop("ns", cascade=True)
    assert numbers(yard.as_of("before"), "ns.a") == [1]


def test_a_state_is_found_by_time_version_and_tag(managed: lanceyard.Yard) -> None:
    build(managed)
    then = datetime.now(UTC)
    version = managed.states()[-1].version
    managed.tags.create("here")
    time.sleep(0.02)
    managed.table("ns.a").append({"n": [10]})
    moments = [then, then.timestamp(), then.isoformat(), version, str(version), "here"]
    assert [numbers(managed.as_of(moment), "ns.a") for moment in moments] == [[1]] * len(moments)


def test_a_view_is_opened_by_property_pickled_and_read_by_stock_pylance(
    managed: lanceyard.Yard,
) -> None:
    build(managed)
    managed.tags.create("here")
    managed.table("ns.a").append({"n": [10]})
    view = managed.as_of("here").namespace
    copy = pickle.loads(pickle.dumps(view))
    for each in (view, copy):
        assert lance.dataset(namespace_client=each, table_id=["ns", "a"]).count_rows() == 1
    location = Path(managed.table("ns.a").location).parent
    opened = lanceyard.open(location, as_of="here")
    assert numbers(opened, "ns.a") == [1]


def test_a_view_can_only_be_read(managed: lanceyard.Yard) -> None:
    build(managed)
    view = managed.as_of(managed.states()[-1].version)
    handle = lance.dataset(namespace_client=view.namespace, table_id=["ns", "a"])
    for write in (
        lambda: view.create_namespace("x"),
        lambda: view.create_table("x", {"n": [1]}),
        lambda: view.drop("ns.a"),
        lambda: view.rename("ns.a", "z"),
        view.transaction,
        lambda: view.tags.create("x"),
        view.repair,
    ):
        with pytest.raises(errors.UnsupportedOperationError):
            write()
    with pytest.raises(OSError):  # noqa: PT011 - pylance wraps the error in its own words
        handle.delete("true")
    assert numbers(managed, "ns.a") == [1]


def test_reading_the_past_changes_nothing(managed: lanceyard.Yard) -> None:
    build(managed)
    for number in range(5):
        managed.table("ns.a").append({"n": [number]})
    managed.close()
    folder = Path(managed.table("ns.a").location) / "_versions"
    before = sorted(folder.iterdir())
    for state in managed.states()[3:]:
        view = managed.as_of(state.version)
        assert view.table("ns.a").version == len(numbers(view, "ns.a"))
    assert sorted(folder.iterdir()) == before
    managed.table("ns.a").append({"n": [9]})
    assert managed.table("ns.a").version == 7


@pytest.mark.parametrize("moment", ["1999-01-01", 0.0, 10**6, 0])
def test_a_state_that_is_not_kept_answers_11_and_names_the_oldest(
    managed: lanceyard.Yard, moment: str | float
) -> None:
    build(managed)
    with pytest.raises(errors.TableVersionNotFoundError, match="versions 1 ") as told:
        managed.as_of(moment)
    assert told.value.code == 11


def test_an_unknown_tag_answers_8_and_names_those_that_are_there(managed: lanceyard.Yard) -> None:
    build(managed)
    managed.tags.create("release-1")
    with pytest.raises(errors.TableTagNotFoundError, match="release-1"):
        managed.as_of("release-2")
    with pytest.raises(errors.TableTagNotFoundError):
        managed.tags.delete("release-2")
    with pytest.raises(errors.TableTagAlreadyExistsError):
        managed.tags.create("release-1")
    managed.tags.delete("release-1")
    assert managed.tags.list() == {}


@pytest.mark.parametrize("name", ["", "12", "a b", "../x", "lanceyard-x", "é"])
def test_a_tag_that_could_be_taken_for_something_else_is_refused(
    managed: lanceyard.Yard, name: str
) -> None:
    build(managed)
    with pytest.raises(errors.InvalidInputError):
        managed.tags.create(name)


def test_a_difference_tells_what_was_done(yard: lanceyard.Yard) -> None:
    build(yard)
    yard.create_table("ns.c", {"n": [3]})
    yard.tags.create("one")
    time.sleep(0.02)
    yard.table("ns.a").append({"n": [10]})
    yard.rename("ns.b", "moved")
    yard.drop("ns.c")
    yard.create_namespace("new")
    yard.create_table("new.d", {"n": [4]})
    yard.namespace.alter_namespace({"id": ["ns"], "set": {"owner": "you"}})
    assert yard.diff("one") == Difference(
        created=(identifier("new"), identifier("new", "d")),
        dropped=(identifier("ns", "c"),),
        renamed=(Renamed(identifier("ns", "b"), identifier("ns", "moved")),),
        committed=(Committed(identifier("ns", "a"), 1, 2),),
        altered=(identifier("ns"),),
    )
    yard.tags.create("two")
    assert not yard.diff("two")
    assert str(yard.diff("two")) == "nothing"
    assert str(yard.diff("one")).splitlines()[2:5] == [
        "dropped    ns$c",
        "renamed    ns$b -> ns$moved",
        "committed  ns$a: version 1 -> 2",
    ]
    back = yard.diff("two", "one")
    assert back.created == (identifier("ns", "c"),)
    assert back.committed == (Committed(identifier("ns", "a"), 2, 1),)


def test_a_replaced_table_is_dropped_and_created(managed: lanceyard.Yard) -> None:
    build(managed)
    managed.tags.create("one")
    managed.create_table("ns.a", {"n": [5]}, mode="overwrite")
    difference = managed.diff("one")
    assert difference.created == difference.dropped == (identifier("ns", "a"),)


def test_a_dropped_table_comes_back(yard: lanceyard.Yard) -> None:
    build(yard)
    yard.table("ns.a").append({"n": [10]})
    yard.drop("ns.a")
    assert yard.tables("ns") == ["b"]
    assert [each.name for each in yard.dropped()] == [identifier("ns", "a")]
    yard.undrop("ns.a")
    assert numbers(yard, "ns.a") == [1, 10]
    assert yard.table("ns.a").version == 2
    assert yard.dropped() == []
    yard.table("ns.a").append({"n": [11]})
    assert numbers(yard, "ns.a") == [1, 10, 11]


def test_a_dropped_root_table_comes_back(yard: lanceyard.Yard) -> None:
    yard.create_table("t", {"n": [1]}, properties={"k": "v"})
    yard.drop("t")
    assert yard.tables() == []
    yard.create_table("t", {"n": [2]})
    with pytest.raises(errors.TableAlreadyExistsError):
        yard.undrop("t")
    yard.undrop("t", "old")
    assert numbers(yard, "t") == [2]
    assert numbers(yard, "old") == [1]
    assert yard.table("old").properties == {"k": "v"}
    assert yard.tables() == ["old", "t"]


def test_a_dropped_namespace_comes_back_with_all_below_it(yard: lanceyard.Yard) -> None:
    build(yard)
    yard.create_namespace("ns.deep")
    yard.create_table("ns.deep.c", {"n": [3]})
    yard.drop("ns", cascade=True)
    assert yard.tree() == "."
    yard.undrop("ns")
    assert yard.tables("ns.deep") == ["c"]
    assert numbers(yard, "ns.deep.c") == [3]
    assert yard.namespace.describe_namespace({"id": ["ns"]}).properties == {"owner": "me"}


def test_a_tree_that_cannot_come_back_whole_does_not_come_back_at_all(
    managed: lanceyard.Yard,
) -> None:
    build(managed)
    managed.drop("ns", cascade=True)
    managed.create_namespace("ns")
    with pytest.raises(errors.NamespaceAlreadyExistsError):
        managed.undrop("ns")
    assert managed.tables("ns") == []
    managed.undrop("ns", "other")
    assert managed.tables("other") == ["a", "b"]


def test_the_last_of_several_drops_comes_back_first(managed: lanceyard.Yard) -> None:
    for number in (1, 2):
        managed.create_table("t", {"n": [number]})
        managed.drop("t")
    managed.undrop("t")
    assert numbers(managed, "t") == [2]
    managed.undrop("t", "first")
    assert numbers(managed, "first") == [1]


def test_what_was_never_dropped_does_not_come_back(managed: lanceyard.Yard) -> None:
    build(managed)
    for name in ("ns.a", "nothing"):
        with pytest.raises(errors.TableNotFoundError, match="drop_retention"):
            managed.undrop(name)


def test_a_protected_table_is_not_dropped_and_leaves_no_record(managed: lanceyard.Yard) -> None:
    managed.create_table("t", {"n": [1]}, properties={"protected": "true"})
    with pytest.raises(errors.InvalidTableStateError):
        managed.drop("t")
    assert managed.dropped() == []
    assert numbers(managed, "t") == [1]


def test_without_retention_a_drop_deletes_at_once(tmp_path: Path) -> None:
    yard = lanceyard.open(tmp_path, durability="os", **MANAGED)
    location = Path(yard.create_table("t", {"n": [1]}).location)
    yard.drop("t")
    assert not location.exists()


def test_after_the_retention_it_is_gone_for_good(tmp_path: Path) -> None:
    root = tmp_path / "yard"
    properties = {"durability": "os", "drop_retention": "1", **MANAGED}
    with lanceyard.open(root, **properties) as yard:
        location = Path(yard.create_table("t", {"n": [1]}).location)
        yard.drop("t")
        assert location.exists()
        time.sleep(1.1)
        yard.create_namespace("later")
    assert not location.exists()
    assert lanceyard.open(root, **properties).dropped() == []


def test_catalogs_without_a_manifest_have_no_history(tmp_path: Path) -> None:
    plain = lanceyard.open(tmp_path, manifest_enabled="false")
    for ask in (plain.states, lambda: plain.as_of(1), lambda: plain.diff(1), plain.dropped):
        with pytest.raises(errors.UnsupportedOperationError):
            ask()
    for name, value in {"as_of": "1", "drop_retention": "10"}.items():
        with pytest.raises(errors.InvalidInputError, match=name):
            lanceyard.open(tmp_path, manifest_enabled="false", **{name: value})


def test_repair_leaves_what_can_be_brought_back_alone(managed: lanceyard.Yard) -> None:
    build(managed)
    managed.drop("ns.a")
    report = managed.repair(unreferenced_for=timedelta(0))
    assert not report.findings
    managed.undrop("ns.a")
    assert numbers(managed, "ns.a") == [1]
