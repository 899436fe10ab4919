"""Racers that want opposite things: some serial order explains every answer and the outcome."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest

from tests.races.arena import (
    RACERS,
    Answer,
    Client,
    Racers,
    Step,
    accepted,
    audit,
    prepare,
    refusals,
    summary,
)

Fresh = Callable[[], Client]
with_manifest = pytest.mark.parametrize("mode", ["v2", "compat"], indirect=True)

NAMESPACE = Step("create_namespace", {"id": ["ns"]})
DROP = Step("drop_table", {"id": ["t"]})
HALF = RACERS // 2


def creators(mode: str = "create") -> list[Step]:
    return [Step("create_table", {"id": ["t"], "mode": mode}, (i,)) for i in range(1, HALF + 1)]


def crossed(steps: Sequence[Step], others: Sequence[Step]) -> list[Step]:
    return [step for pair in zip(steps, others, strict=True) for step in pair]


def split(answers: list[Answer], operation: str) -> tuple[list[Answer], list[Answer]]:
    """The answers of one operation, and the rest."""
    chosen = [answer for answer in answers if answer.step.operation == operation]
    return chosen, [answer for answer in answers if answer not in chosen]


def assert_balanced(
    found: Mapping[str, object], existed: bool, creates: list[Answer], drops: list[Answer]
) -> None:
    """Every drop found a table.

    A root table that others find by its directory shows up, declared, while it is created: a drop
    may find it then, and its creator is told so with 14.
    """
    surplus = len(found) + len(accepted(drops)) - len(accepted(creates)) - existed
    assert 0 <= surplus <= refusals(creates)[14], (found, summary([*creates, *drops]))


@pytest.mark.parametrize("exists", [False, True])
def test_creates_and_drops_of_one_name_alternate(
    racers: Racers, fresh: Fresh, rounds: int, exists: bool
) -> None:
    for _ in range(rounds):
        client = fresh()
        prepare(client, *[Step("create_table", {"id": ["t"]}, (0,))] * exists)
        answers = racers.race(client, crossed(creators(), [DROP] * HALF))
        drops, creates = split(answers, "drop_table")
        assert set(refusals(drops)) <= {4, 14}, summary(answers)
        assert set(refusals(creates)) <= {5, 14}, summary(answers)
        found = audit(client)
        assert_balanced(found, exists, creates, drops)
        written = {(0,), *(step.rows for step in accepted(creates))}
        assert {table.rows for table in found.values()} <= written


@with_manifest
def test_declares_and_drops_of_one_name_alternate(
    racers: Racers, fresh: Fresh, rounds: int
) -> None:
    for _ in range(rounds):
        client = fresh()
        steps = crossed([Step("declare_table", {"id": ["t"]})] * HALF, [DROP] * HALF)
        answers = racers.race(client, steps)
        drops, declares = split(answers, "drop_table")
        assert set(refusals(drops)) <= {4, 14}, summary(answers)
        assert set(refusals(declares)) <= {5, 14}, summary(answers)
        found = audit(client)
        assert_balanced(found, False, declares, drops)
        assert {table.rows for table in found.values()} <= {None}


def test_an_overwrite_is_dropped_whole_or_stays_whole(
    racers: Racers, fresh: Fresh, rounds: int
) -> None:
    for _ in range(rounds):
        client = fresh()
        prepare(client, Step("create_table", {"id": ["t"]}, (0,)))
        answers = racers.race(client, crossed(creators("overwrite"), [DROP] * HALF))
        drops, overwrites = split(answers, "drop_table")
        assert set(refusals(drops)) <= {4, 14}, summary(answers)
        assert set(refusals(overwrites)) <= {4, 5, 14}, summary(answers)
        found = audit(client)
        if not found:
            assert accepted(drops), summary(answers)
            continue
        # The row of an overwrite that was not acknowledged may only stay if none was.
        kept = {step.rows for step in accepted(overwrites)} or {(0,)}
        assert found["t"].rows in kept, (summary(answers), found)


def test_one_of_many_overwrites_stays(racers: Racers, fresh: Fresh, rounds: int) -> None:
    for _ in range(rounds):
        client = fresh()
        prepare(client, Step("create_table", {"id": ["t"]}, (0,)))
        answers = racers.race(client, creators("overwrite"))
        assert set(refusals(answers)) <= {14}, summary(answers)
        assert audit(client)["t"].rows in {step.rows for step in accepted(answers)}


@with_manifest
@pytest.mark.parametrize("how", ["declare_table", "create_table"])
def test_a_namespace_is_dropped_only_while_no_table_is_in_it(
    racers: Racers, fresh: Fresh, rounds: int, how: str
) -> None:
    for _ in range(rounds):
        client = fresh()
        prepare(client, NAMESPACE)
        answers = racers.race(client, [*makers(how), Step("drop_namespace", {"id": ["ns"]})])
        [drop], makes = split(answers, "drop_namespace")
        assert set(refusals(makes)) <= {1, 14}, summary(answers)
        assert drop.code in (None, 3, 14), drop
        made = {"ns$" + step.request["id"][1] for step in accepted(makes)}
        assert {*audit(client)} == made, summary(answers)
        assert bool(client.open().list_namespaces({}).namespaces) == (drop.code is not None)


@with_manifest
@pytest.mark.parametrize("how", ["declare_table", "create_table"])
def test_nothing_stays_below_a_namespace_that_is_dropped_with_its_content(
    racers: Racers, fresh: Fresh, rounds: int, how: str
) -> None:
    drop = Step("drop_namespace", {"id": ["ns"], "behavior": "Cascade"})
    for _ in range(rounds):
        client = fresh()
        prepare(client, NAMESPACE, Step("create_table", {"id": ["ns", "old"]}, (1,)))
        answers = racers.race(client, [*makers(how), drop])
        assert drop in accepted(answers), summary(answers)
        assert set(refusals(answers)) <= {1, 14}, summary(answers)
        assert audit(client) == {}
        assert client.open().list_namespaces({}).namespaces == []


def makers(how: str) -> list[Step]:
    rows = (1,) if how == "create_table" else None
    return [Step(how, {"id": ["ns", f"t{i}"]}, rows) for i in range(RACERS - 1)]
