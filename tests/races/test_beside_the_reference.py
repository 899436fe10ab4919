"""Beside the reference implementation, on one manifest: nothing is lost, nothing doubled."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import lance
import pytest
from lance_namespace.errors import LanceNamespaceError

from tests.races.arena import (
    Client,
    Processes,
    Step,
    act_fresh,
    call,
    declare_many,
    look,
    manifest_rows,
    prepare,
    read,
)

NAMESPACE = Step("create_namespace", {"id": ["ns"]})
EACH = 4
SECONDS = 10.0
FLAGS = "lance.namespace.manifest.{}_feature_flags"


@pytest.fixture
def ours(tmp_path: Path) -> Client:
    return Client(str(tmp_path / "root"), "v2")


@pytest.fixture
def theirs(ours: Client) -> Client:
    return ours._replace(is_reference=True)


def names(kind: str, writer: int, count: int) -> list[str]:
    return [f"{kind}{writer}_{i}" for i in range(count)]


def manifest(client: Client) -> lance.LanceDataset:
    return lance.dataset(f"{client.root}/__manifest")


@pytest.mark.parametrize("count", [8, pytest.param(200, marks=pytest.mark.deep)])
def test_four_and_four_writers_lose_nothing_and_double_nothing(
    processes: Processes, ours: Client, theirs: Client, count: int
) -> None:
    prepare(theirs, NAMESPACE)
    jobs = [partial(declare_many, ours, names("o", i, count)) for i in range(EACH)]
    jobs += [partial(declare_many, theirs, names("r", i, count)) for i in range(EACH)]
    done = [name for acknowledged in processes.run(jobs) for name in acknowledged]
    rows = Counter(manifest_rows(ours.root))
    assert {f"ns${name}" for name in done} - {*rows} == set()
    assert set(rows.values()) == {1}
    assert {f"ns${name}" for i in range(EACH) for name in names("o", i, count)} <= {*rows}


@pytest.mark.deep
def test_each_writer_of_the_reference_keeps_a_quarter_of_its_rate(
    processes: Processes, ours: Client, theirs: Client
) -> None:
    # Each on a catalog of its own: the reference slows down with every table.
    solo = theirs._replace(root=f"{theirs.root}-solo")
    prepare(solo, NAMESPACE)
    prepare(theirs, NAMESPACE)
    alone = rates(processes, solo, "s", [])
    own = [partial(declare_many, ours, names("o", i, 100_000), SECONDS) for i in range(EACH)]
    beside = rates(processes, theirs, "b", own)
    assert min(beside) >= sum(alone) / EACH / 4, (alone, beside)


def rates(processes: Processes, client: Client, kind: str, others: list) -> list[int]:
    """How many tables each writer of the reference declares, with others beside it."""
    jobs = [partial(declare_many, client, names(kind, i, 100_000), SECONDS) for i in range(EACH)]
    return [len(done) for done in processes.run([*jobs, *others])[:EACH]]


def test_it_lists_describes_and_drops_what_we_made(ours: Client, theirs: Client) -> None:
    prepare(ours, NAMESPACE, Step("create_table", {"id": ["ns", "t"]}, (1, 2)))
    reference = theirs.open()
    assert call(reference, Step("list_tables", {"id": ["ns"]})).tables == ["t"]
    location = call(reference, Step("describe_table", {"id": ["ns", "t"]})).location
    assert read(location) == (1, 2)
    call(reference, Step("drop_table", {"id": ["ns", "t"]}))
    assert call(ours.open(), Step("list_tables", {"id": ["ns"]})).tables == []


def test_we_list_describe_and_drop_what_it_made(ours: Client, theirs: Client) -> None:
    prepare(theirs, NAMESPACE, Step("create_table", {"id": ["ns", "t"]}, (1, 2)))
    instance = ours.open()
    assert call(instance, Step("list_tables", {"id": ["ns"]})).tables == ["t"]
    assert look(instance, ["ns", "t"]).rows == (1, 2)
    call(instance, Step("drop_table", {"id": ["ns", "t"]}))
    assert call(theirs.open(), Step("list_tables", {"id": ["ns"]})).tables == []


def test_live_instances_of_both_see_each_other_at_once(ours: Client, theirs: Client) -> None:
    instance, reference = ours.open(), theirs.open()
    call(instance, NAMESPACE)
    for i in range(10):
        call(reference, Step("declare_table", {"id": ["ns", f"r{i}"]}))
        call(instance, Step("declare_table", {"id": ["ns", f"o{i}"]}))
        expected = sorted([f"{kind}{j}" for kind in "or" for j in range(i + 1)])
        for client in (instance, reference):
            assert sorted(call(client, Step("list_tables", {"id": ["ns"]})).tables) == expected
    instance.close()


def test_unknown_columns_metadata_and_config_survive_us(ours: Client) -> None:
    prepare(ours, NAMESPACE, *(Step("declare_table", {"id": ["ns", n]}) for n in ("a", "b", "c")))
    manifest(ours).add_columns({"note": "concat('note of ', object_id)"})
    manifest(ours).update_metadata({"owner": "somebody"})
    manifest(ours).update_config({"else.key": "kept"})
    prepare(
        ours,
        Step("rename_table", {"id": ["ns", "a"], "new_table_name": "z"}),
        Step("drop_table", {"id": ["ns", "b"]}),
        *(Step("declare_table", {"id": ["ns", f"t{i}"]}) for i in range(20)),
    )
    table = manifest(ours).to_table(columns=["object_id", "note"])
    notes = dict(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))
    assert notes["ns$c"] == "note of ns$c"
    assert notes["ns$z"] == "note of ns$a"
    assert notes["ns$t0"] is None
    assert manifest(ours).metadata["owner"] == "somebody"
    assert manifest(ours).config()["else.key"] == "kept"


def test_unknown_columns_survive_new_properties(ours: Client) -> None:
    prepare(ours, NAMESPACE)
    manifest(ours).add_columns({"note": "concat('note of ', object_id)"})
    ours.open().alter_namespace({"id": ["ns"], "set": {"k": "v"}})
    [row] = manifest(ours).to_table().to_pylist()
    assert row["note"] == "note of ns"


def test_an_unknown_reader_flag_keeps_us_out(ours: Client) -> None:
    prepare(ours, NAMESPACE)
    manifest(ours).update_metadata({FLAGS.format("reader"): "1024"})
    for step in (Step("list_namespaces", {}), Step("create_namespace", {"id": ["m"]})):
        assert act_fresh(ours, step).code == 0


def test_an_unknown_writer_flag_lets_us_only_read(ours: Client) -> None:
    prepare(ours, NAMESPACE)
    manifest(ours).update_metadata({FLAGS.format("writer"): "1024"})
    before = manifest_rows(ours.root)
    assert act_fresh(ours, Step("list_namespaces", {})).code is None
    for step in (
        Step("create_namespace", {"id": ["m"]}),
        Step("drop_namespace", {"id": ["ns"]}),
        Step("declare_table", {"id": ["ns", "t"]}),
        Step("create_table", {"id": ["ns", "t"]}, (1,)),
    ):
        assert act_fresh(ours, step).code == 0, step
    with pytest.raises(LanceNamespaceError) as refusal:
        ours.open().alter_namespace({"id": [], "set": {"k": "v"}})
    assert refusal.value.code == 0
    assert manifest_rows(ours.root) == before
    assert [path.name for path in Path(ours.root).iterdir()] == ["__manifest"]


def test_a_late_bootstrap_of_the_reference_wipes_nothing_that_was_acknowledged(
    processes: Processes, tmp_path: Path
) -> None:
    for i in range(6):
        ours = Client(str(tmp_path / f"root{i}"), "v2")
        theirs = ours._replace(is_reference=True)
        steps = [Step("create_namespace", {"id": [f"n{j}"]}) for j in range(2 * EACH)]
        clients = [ours, theirs] * EACH
        jobs = [partial(act_fresh, c, s) for c, s in zip(clients, steps, strict=True)]
        answers = processes.run(jobs)[::2]
        assert {a.code for a in answers} == {None}, answers
        assert {s.request["id"][0] for s in steps[::2]} <= {*manifest_rows(ours.root)}
