"""Eight racers want the same name: exactly one gets it, and nothing is left of the others."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.races.arena import RACERS, Client, Racers, Step, accepted, audit, check, prepare

Fresh = Callable[[], Client]
with_manifest = pytest.mark.parametrize("mode", ["v2", "compat"], indirect=True)

NAMESPACE = Step("create_namespace", {"id": ["ns"]})
TABLE = Step("create_table", {"id": ["t"]}, (0,))


def test_one_of_many_creators_wins(racers: Racers, fresh: Fresh, rounds: int) -> None:
    for _ in range(rounds):
        client = fresh()
        steps = [Step("create_table", {"id": ["t"]}, (i,)) for i in range(RACERS)]
        [won] = check(racers.race(client, steps), winners=1, codes={5, 14})
        found = audit(client)
        assert [*found] == ["t"]
        assert found["t"].rows == won.rows


@with_manifest
def test_one_of_many_creators_below_a_namespace_wins(
    racers: Racers, fresh: Fresh, rounds: int
) -> None:
    for _ in range(rounds):
        client = fresh()
        prepare(client, NAMESPACE)
        steps = [Step("create_table", {"id": ["ns", "t"]}, (i,)) for i in range(RACERS)]
        [won] = check(racers.race(client, steps), winners=1, codes={5, 14})
        found = audit(client)
        assert [*found] == ["ns$t"]
        assert found["ns$t"].rows == won.rows


def test_one_of_many_declarers_wins(racers: Racers, fresh: Fresh, rounds: int) -> None:
    for _ in range(rounds):
        client = fresh()
        steps = [Step("declare_table", {"id": ["t"]})] * RACERS
        check(racers.race(client, steps), winners=1, codes={5, 14})
        found = audit(client)
        assert [*found] == ["t"]
        assert found["t"].rows is None


def test_one_of_many_who_fill_a_declared_table_wins(
    racers: Racers, fresh: Fresh, rounds: int
) -> None:
    for _ in range(rounds):
        client = fresh()
        prepare(client, Step("declare_table", {"id": ["t"]}))
        requests = [{"id": ["t"], "properties": {"by": str(i)}} for i in range(RACERS)]
        steps = [Step("create_table", request, (i,)) for i, request in enumerate(requests)]
        [won] = check(racers.race(client, steps), winners=1, codes={5, 14})
        assert audit(client)["t"].rows == won.rows
        described = client.open().describe_table({"id": ["t"], "load_detailed_metadata": True})
        assert described.properties == won.request["properties"]


def test_one_of_many_droppers_wins(racers: Racers, fresh: Fresh, rounds: int) -> None:
    for _ in range(rounds):
        client = fresh()
        prepare(client, TABLE)
        steps = [Step("drop_table", {"id": ["t"]})] * RACERS
        check(racers.race(client, steps), winners=1, codes={4, 14})
        assert audit(client) == {}


@with_manifest
def test_one_of_many_renamers_wins(racers: Racers, fresh: Fresh, rounds: int) -> None:
    for _ in range(rounds):
        client = fresh()
        prepare(client, TABLE)
        requests = [{"id": ["t"], "new_table_name": f"t{i}"} for i in range(RACERS)]
        steps = [Step("rename_table", request) for request in requests]
        [won] = check(racers.race(client, steps), winners=1, codes={4, 14})
        found = audit(client)
        assert [*found] == [won.request["new_table_name"]]
        assert next(iter(found.values())).rows == (0,)


@with_manifest
def test_one_of_many_tables_renamed_to_one_name_wins(
    racers: Racers, fresh: Fresh, rounds: int
) -> None:
    for _ in range(rounds):
        client = fresh()
        names = [f"t{i}" for i in range(RACERS)]
        prepare(client, *(Step("create_table", {"id": [n]}, (i,)) for i, n in enumerate(names)))
        steps = [Step("rename_table", {"id": [n], "new_table_name": "new"}) for n in names]
        [won] = check(racers.race(client, steps), winners=1, codes={5, 14})
        found = audit(client)
        assert {*found} == {*names, "new"} - {won.request["id"][0]}
        assert found["new"].rows == (int(won.request["id"][0][1:]),)


@with_manifest
def test_one_of_many_creators_of_a_namespace_wins(
    racers: Racers, fresh: Fresh, rounds: int
) -> None:
    for _ in range(rounds):
        client = fresh()
        check(racers.race(client, [NAMESPACE] * RACERS), winners=1, codes={2, 14})
        assert client.open().list_namespaces({}).namespaces == ["ns"]


@with_manifest
def test_all_who_bootstrap_a_root_keep_what_they_made(
    racers: Racers, fresh: Fresh, rounds: int
) -> None:
    for _ in range(rounds):
        client = fresh()
        numbers = range(RACERS // 2)
        steps = [Step("create_namespace", {"id": [f"n{i}"]}) for i in numbers]
        steps += [Step("create_table", {"id": [f"t{i}"]}, (i,)) for i in numbers]
        assert accepted(racers.race(client, steps)) == steps
        found = audit(client)
        assert [(name, table.rows) for name, table in found.items()] == [
            (f"t{i}", (i,)) for i in numbers
        ]
        assert client.open().list_namespaces({}).namespaces == [f"n{i}" for i in numbers]
