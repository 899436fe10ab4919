"""Another writer comes between any two requests of one: some serial order explains what is left."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import lance
import pytest

import lanceyard
from lanceyard import errors
from lanceyard.catalog.directory import claims
from tests.cloud import bucket
from tests.cloud.conftest import MODES
from tests.cloud.paths import ObjectPath
from tests.cloud.proxy import Fault, Proxy, Request
from tests.conformance.kit import numbers, stream

T = {"id": ["t"]}
BEFORE, FIRST, SECOND = (0,), (1, 1), (2, 2, 2)
CATALOG_FILES = (".lance-reserved", ".lance-dropping", ".lance-deregistered")


class Table(NamedTuple):
    """What there is of a table; nothing at all is None."""

    rows: tuple[int, ...] = ()
    """There are none in one that is only declared."""
    hidden: bool = False


Found = Table | None
Acts = dict[str, Callable[[Any, tuple[int, ...]], object]]
ACTS: Acts = {
    "declare": lambda catalog, _: catalog.declare_table(T),
    "create": lambda catalog, rows: catalog.create_table(T, stream(numbers(*rows))),
    "overwrite": lambda catalog, rows: catalog.create_table(
        {**T, "mode": "overwrite"}, stream(numbers(*rows))
    ),
    "drop": lambda catalog, _: catalog.drop_table(T),
    "deregister": lambda catalog, _: catalog.deregister_table(T),
    "register": lambda catalog, _: catalog.register_table({**T, "location": "t.lance"}),
}
REFUSED = "refused"


def after(act: str, rows: tuple[int, ...], found: Found) -> Found | str:
    """What an act makes of a table, or that it is refused."""
    is_visible = found is not None and not found.hidden
    if act == "declare":
        return Table() if found is None else REFUSED
    if act == "create":
        return Table(rows) if found is None or (is_visible and not found.rows) else REFUSED
    if act == "overwrite":
        return REFUSED if found is not None and found.hidden else Table(rows)
    if act == "drop":
        return REFUSED if found is None else None
    if found is None or found.hidden is (act == "deregister"):
        return REFUSED
    return found._replace(hidden=act == "deregister")


@pytest.fixture(params=["v1", pytest.param("compat", marks=pytest.mark.deep)])
def mode(request: pytest.FixtureRequest) -> str:
    """A mode in which the directory of a root table has its name."""
    name: str = request.param
    return name


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "PATIENCE", 0.1)


class Meeting:
    """Two catalogs at one root, where one acts between two requests of the other."""

    def __init__(self, proxy: Proxy, mode: str) -> None:
        self.root = bucket.fresh_root()
        self._proxy = proxy
        settings = {**MODES[mode], **({"drop_retention": "0"} if mode == "compat" else {})}
        self.first = lanceyard.DirectoryNamespace(
            root=self.root, **bucket.storage(proxy.endpoint), **settings
        )
        self.other = lanceyard.DirectoryNamespace(root=self.root, **bucket.storage(), **settings)

    def close(self) -> None:
        self.first.close()
        self.other.close()

    def act(self, catalog: Any, name: str, rows: tuple[int, ...]) -> bool:
        """Whether an act is accepted."""
        try:
            ACTS[name](catalog, rows)
        except errors.LanceNamespaceError:
            return False
        return True

    def meet(self, first: str, other: str, number: int, *, lost: bool) -> dict[str, bool] | None:
        """Let the other act before a request, or after one whose reply is lost; None: too few."""
        count = itertools.count()
        met: list[Request] = []
        accepted: dict[str, bool] = {}

        def come() -> None:
            accepted["other"] = self.act(self.other, other, SECOND)

        def is_lost(request: Request) -> bool:
            if met and not accepted:
                come()
            if (lost and not _is_of_catalog(request)) or next(count) != number:
                return False
            met.append(request)
            if not lost:
                come()
            return lost

        with self._proxy.failing(Fault.LOST, is_lost, times=2):
            accepted["first"] = self.act(self.first, first, FIRST)
        if met and "other" not in accepted:
            come()
        return accepted if met else None

    def found(self) -> Found:
        """What there is in the end, as a new reader sees it."""
        place = ObjectPath.of(self.root) / "t.lance"
        names = {path.relative_to(place).parts[0] for path in place.rglob("?*") if path != place}
        assert ".lance-dropping" not in names
        visible = self.other.list_tables({"id": []}).tables == ["t"]
        if not visible:
            assert not names or {"data", "_versions"} <= names or ".lance-reserved" in names, names
        if not names:
            return None
        if "_versions" not in names:
            return Table(hidden=not visible)
        options = {**bucket.server().options(), "allow_http": "true"}
        dataset = lance.dataset(str(place), storage_options=options)
        return Table(tuple(dataset.to_table()["n"].to_pylist()), hidden=not visible)


def _is_of_catalog(request: Request) -> bool:
    """Whether a request writes what only catalogs write."""
    return request.kind == "DELETE MANY" or (
        request.kind == "PUT" and request.path.endswith(CATALOG_FILES)
    )


def meetings(
    proxy: Proxy, mode: str, first: str, other: str, begin: Found, *, lost: bool
) -> Iterator[tuple[int, dict[str, bool], Found]]:
    """What comes of two acts, for every place where the other can come in."""
    for number in itertools.count():
        meeting = Meeting(proxy, mode)
        try:
            if begin is not None:
                meeting.act(meeting.other, "create" if begin.rows else "declare", begin.rows)
                if begin.hidden:
                    meeting.act(meeting.other, "deregister", ())
            accepted = meeting.meet(first, other, number, lost=lost)
            if accepted is None:
                return
            yield number, accepted, meeting.found()
        finally:
            meeting.close()


def ends(first: str, other: str, begin: Found, accepted: dict[str, bool]) -> list[Found]:
    """What may be left, by the serial orders in which all that was accepted is acceptable."""
    acts = [(first, FIRST)] * accepted["first"] + [(other, SECOND)] * accepted["other"]
    possible = []
    for order in itertools.permutations(acts):
        state: Found | str = begin
        for act, rows in order:
            state = REFUSED if isinstance(state, str) else after(act, rows, state)
        if not isinstance(state, str):
            possible.append(state)
    return possible


PRESENT, DECLARED, HIDDEN = Table(BEFORE), Table(), Table(BEFORE, hidden=True)
CASES = [
    ("overwrite", "deregister", PRESENT),
    ("deregister", "overwrite", PRESENT),
    ("deregister", "drop", PRESENT),
    ("register", "drop", HIDDEN),
    ("declare", "create", None),
]
MORE_CASES = [
    ("drop", "overwrite", PRESENT),
    ("drop", "deregister", PRESENT),
    ("overwrite", "drop", PRESENT),
    ("drop", "register", HIDDEN),
    ("create", "declare", None),
    ("create", "drop", DECLARED),
    ("drop", "create", DECLARED),
    ("declare", "declare", None),
    ("create", "create", None),
    ("drop", "drop", PRESENT),
]
DEEP = [pytest.param(*case, marks=pytest.mark.deep) for case in MORE_CASES]


@pytest.mark.parametrize("lost", [False, True], ids=["between", "lost"])
@pytest.mark.parametrize(("first", "other", "begin"), [*CASES, *DEEP], ids=str)
def test_whoever_comes_between_two_requests_finds_or_leaves_whole_tables(
    proxy: Proxy, mode: str, first: str, other: str, begin: Found, lost: bool
) -> None:
    wrong = []
    for number, accepted, found in meetings(proxy, mode, first, other, begin, lost=lost):
        if found not in ends(first, other, begin, accepted):
            wrong.append((number, accepted, found))
    assert not wrong
