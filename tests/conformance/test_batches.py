"""BatchCreateTableVersions and BatchCommitTables: several changes at once, all or none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lance
import pytest
from lance_namespace.errors import ErrorCode

from lanceyard.errors import TableVersionAlreadyExistsError

from .kit import (
    NOWHERE,
    Catalog,
    applies,
    as_staged,
    manifest_name,
    refused,
    stage,
    versions_in,
    write_lance,
)

ours = applies(extensions=True)
manifest = applies(manifest=True)
managed = applies(managed=True, manifest=True)
batches = applies(batches=True)

Operation = dict[str, Any]

META = "__manifest"


def declare(*identifier: str, **fields: Any) -> Operation:
    return {"declare_table": {"id": [*identifier], **fields}}


def deregister(*identifier: str) -> Operation:
    return {"deregister_table": {"id": [*identifier]}}


def create(staged: dict[str, Any], *identifier: str, **fields: Any) -> Operation:
    return {"create_table_version": {"id": [*identifier], **staged, **fields}}


def delete(ends: tuple[int, int], *identifier: str, **fields: Any) -> Operation:
    start, end = ends
    ranges = [{"start_version": start, "end_version": end}]
    return {"delete_table_versions": {"id": [*identifier], "ranges": ranges, **fields}}


STRICT = {"context": {"ignore_missing": "false"}}
VERSION_STEPS = {"create": create(NOWHERE, "t"), "delete": delete((1, 2), "t")}
STEPS = {"declare": declare("d"), "deregister": deregister("t"), **VERSION_STEPS}

each_version_step = pytest.mark.parametrize("step", VERSION_STEPS.values(), ids=[*VERSION_STEPS])
each_step = pytest.mark.parametrize("step", STEPS.values(), ids=[*STEPS])


@pytest.fixture
def two(catalog: Catalog) -> list[dict[str, Any]]:
    """Requests for version 2 of the tables `t` and `u`, whose manifests are staged."""
    for name in ("t", "u"):
        catalog.create_table([name], 1)
    return [{"id": [name], **stage(catalog.directory([name]), 2)} for name in ("t", "u")]


@dataclass(frozen=True)
class Sight:
    """What can be seen of a catalog, in it and on disk."""

    tables: list[str]
    versions: dict[str, list[int]]
    files: list[Path]

    @classmethod
    def of(cls, catalog: Catalog) -> Sight:
        tables = catalog.list_all_tables().tables
        files = [p for p in catalog.root.rglob("*") if p.relative_to(catalog.root).parts[0] != META]
        versions = {table: catalog.versions(table.split("$")) for table in tables}
        return cls(tables, versions, sorted(files))


# BatchCreateTableVersions


@batches
def test_versions_of_several_tables_are_created(
    catalog: Catalog, two: list[dict[str, Any]]
) -> None:
    catalog.create_table_versions(*two)
    assert catalog.versions(["t"]) == catalog.versions(["u"]) == [2, 1]


@batches
def test_created_versions_are_told_in_the_order_of_the_request(
    catalog: Catalog, two: list[dict[str, Any]]
) -> None:
    told = catalog.create_table_versions(*reversed(two))
    assert told == [catalog.describe_table_version([name], version=2) for name in ("u", "t")]


@batches
def test_a_batch_may_create_several_versions_of_one_table(
    catalog: Catalog, history: list[str]
) -> None:
    staged = [{"id": history, **stage(catalog.directory(history), n)} for n in (3, 4, 5)]
    assert [version.version for version in catalog.create_table_versions(*staged)] == [3, 4, 5]
    assert catalog.versions(history) == [5, 4, 3, 2, 1]


def test_a_batch_may_create_versions_of_branches(catalog: Catalog, history: list[str]) -> None:
    catalog.append(history, 5).create_branch("side")
    table = catalog.directory(history)
    created = catalog.create_table_versions(
        {"id": history, **stage(table, 4)},
        {"id": history, **stage(table, 4, like=3, branch="side"), "branch": "side"},
    )
    assert [catalog.file(each.manifest_path).parent for each in created] == [
        versions_in(table),
        versions_in(table, "side"),
    ]
    assert (catalog.versions(history)[0], catalog.versions(history, branch="side")) == (4, [4, 3])


@ours
def test_a_batch_of_no_versions_creates_none(catalog: Catalog) -> None:
    assert catalog.create_table_versions() == []


@ours
@batches
def test_the_same_batch_of_versions_again_returns_the_same_answer(
    catalog: Catalog, two: list[dict[str, Any]]
) -> None:
    created = catalog.create_table_versions(*two)
    assert catalog.create_table_versions(*two) == created


@ours
@batches
def test_an_existing_version_makes_the_batch_a_conflict(
    catalog: Catalog, two: list[dict[str, Any]]
) -> None:
    catalog.append(["u"], 2)
    old = catalog.describe_table_version(["u"])
    with pytest.raises(TableVersionAlreadyExistsError):
        catalog.create_table_versions(*two)
    assert catalog.describe_table_version(["u"]) == old


@managed
@pytest.mark.parametrize(
    ("entry", "code"),
    [
        pytest.param({"id": ["missing"]}, ErrorCode.TABLE_NOT_FOUND, id="missing_table"),
        pytest.param({"id": ["a", "t"]}, ErrorCode.NAMESPACE_NOT_FOUND, id="missing_namespace"),
        pytest.param({"id": ["v"]}, ErrorCode.INVALID_INPUT, id="nothing_staged"),
        pytest.param({"id": ["v"], "version": 0}, ErrorCode.INVALID_INPUT, id="no_version"),
        pytest.param(
            {"id": ["v"], "version": 1, "manifest_path": f"{manifest_name(1)}-1"},
            ErrorCode.CONCURRENT_MODIFICATION,
            id="existing_version",
        ),
    ],
)
def test_one_refused_version_refuses_the_batch(
    catalog: Catalog, two: list[dict[str, Any]], entry: dict[str, Any], code: ErrorCode
) -> None:
    """003, BatchCreateTableVersions: if any version already exists, the entire batch fails."""
    catalog.create_table(["v"], 1)
    before = Sight.of(catalog)
    with refused(code):
        catalog.create_table_versions(*two, NOWHERE | entry)
    assert Sight.of(catalog) == before


@applies(batches=False)
def test_where_tables_change_one_at_a_time_no_two_versions_are_created(
    catalog: Catalog, two: list[dict[str, Any]]
) -> None:
    with refused(ErrorCode.UNSUPPORTED):
        catalog.create_table_versions(*two)
    assert catalog.versions(["t"]) == catalog.versions(["u"]) == [1]


# BatchCommitTables, and where it can be done


@ours
def test_a_batch_of_nothing_does_nothing(catalog: Catalog) -> None:
    assert catalog.commit() == []


@ours
@pytest.mark.parametrize(
    "operation",
    [
        {},
        declare("d") | deregister("t"),
        STEPS["create"] | STEPS["delete"],
        {kind: request for step in STEPS.values() for kind, request in step.items()},
    ],
    ids=["none", "two", "two_on_versions", "all"],
)
def test_an_operation_that_is_not_of_one_kind_is_refused(
    catalog: Catalog, operation: Operation
) -> None:
    """The specification: provide exactly one of the operation fields."""
    with refused(ErrorCode.INVALID_INPUT):
        catalog.commit(operation)


@ours
@applies(manifest=False)
@each_step
def test_without_a_manifest_there_are_no_batches(catalog: Catalog, step: Operation) -> None:
    catalog.create_table(["t"], 1)
    with refused(ErrorCode.UNSUPPORTED):
        catalog.commit(step)


@ours
@applies(manifest=True, managed=False)
@each_version_step
def test_where_versions_are_files_no_batch_can_commit_them(
    catalog: Catalog, history: list[str], step: Operation
) -> None:
    before = Sight.of(catalog)
    with refused(ErrorCode.UNSUPPORTED):
        catalog.commit(declare("d"), step)
    assert Sight.of(catalog) == before


@managed
@each_version_step
def test_no_batch_can_commit_versions_of_branches(
    catalog: Catalog, history: list[str], step: Operation
) -> None:
    ((kind, request),) = step.items()
    with refused(ErrorCode.UNSUPPORTED):
        catalog.commit({kind: request | {"branch": "side"}})


# BatchCommitTables, and what it does


@manifest
def test_tables_are_declared_and_deregistered_in_one_batch(catalog: Catalog, ns: list[str]) -> None:
    for name in ("a", "b"):
        catalog.create_table([*ns, name], 1)
    catalog.commit(declare("d"), deregister(*ns, "a"), declare(*ns, "e"), deregister(*ns, "b"))
    assert catalog.list_all_tables().tables == ["d", "ns$e"]


@ours
@manifest
def test_a_batch_makes_no_table_a_view(catalog: Catalog) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.commit(declare("d", properties={"lanceyard.view": "{}"}))


@manifest
def test_the_results_of_a_batch_are_in_the_order_of_its_operations(
    catalog: Catalog, ns: list[str]
) -> None:
    catalog.create_table([*ns, "t"], 1)
    results = catalog.commit(declare("d"), deregister(*ns, "t"), declare(*ns, "e"))
    kinds = [list(result.model_dump(exclude_none=True)) for result in results]
    assert kinds == [["declare_table"], ["deregister_table"], ["declare_table"]]


@ours
@manifest
def test_declaring_in_a_batch_answers_like_declaring_alone(
    catalog: Catalog, home: list[str]
) -> None:
    alone = catalog.declare_table([*home, "alone"], properties={"k": "v"})
    (result,) = catalog.commit(declare(*home, "d", properties={"k": "v"}))
    assert result.declare_table is not None
    assert result.declare_table.location == catalog.location([*home, "d"])
    told, alike = result.declare_table.model_dump(), alone.model_dump()
    assert told | {"location": None} == alike | {"location": None}


@ours
@manifest
def test_deregistering_in_a_batch_answers_like_deregistering_alone(
    catalog: Catalog, home: list[str]
) -> None:
    location = catalog.create_table([*home, "t"], 1, properties={"k": "v"}).location
    (result,) = catalog.commit(deregister(*home, "t"))
    gone = result.deregister_table
    assert gone is not None
    assert (gone.id, gone.location, gone.properties) == ([*home, "t"], location, {"k": "v"})


@manifest
def test_a_table_declared_in_a_batch_can_be_filled(catalog: Catalog, home: list[str]) -> None:
    catalog.commit(declare(*home, "d"), declare(*home, "e"))
    catalog.create_table([*home, "d"], 7)
    assert catalog.rows([*home, "d"]) == [7]
    assert catalog.describe_table([*home, "e"], check_declared=True).is_only_declared is True


@manifest
def test_a_table_deregistered_in_a_batch_can_be_registered(
    catalog: Catalog, home: list[str]
) -> None:
    location = catalog.create_table([*home, "t"], 7).location
    catalog.commit(deregister(*home, "t"))
    catalog.register_table([*home, "t"], catalog.inside(location))
    assert catalog.rows([*home, "t"]) == [7]


@manifest
def test_another_client_sees_what_a_batch_did(catalog: Catalog) -> None:
    catalog.commit(declare("d"), declare("e"))
    assert catalog.again().tables([]) == ["d", "e"]


@ours
@manifest
def test_a_batch_may_be_a_plain_dict(catalog: Catalog) -> None:
    catalog.plain.batch_commit_tables({"operations": [declare("d"), declare("e")]})
    assert catalog.tables([]) == ["d", "e"]


@manifest
def test_a_hundred_tables_are_declared_in_one_commit(catalog: Catalog) -> None:
    """No reader ever sees some of them."""
    catalog.commit(*(declare(f"t{number}") for number in range(100)))
    rows = lance.dataset(str(catalog.root / META))
    counts = {rows.checkout_version(each["version"]).count_rows() for each in rows.versions()}
    assert {count for count in counts if count > 1} == {100}


@managed
def test_a_batch_does_all_four_kinds_of_things(catalog: Catalog, home: list[str]) -> None:
    for name in ("t", "u", "v"):
        catalog.create_table([*home, name], 1)
        catalog.append([*home, name], 2)
    results = catalog.commit(
        delete((1, 2), *home, "u"),
        declare(*home, "d"),
        create(stage(catalog.directory([*home, "t"]), 3), *home, "t"),
        deregister(*home, "v"),
    )
    deleted, declared, created, gone = results
    assert deleted.delete_table_versions is not None
    assert deleted.delete_table_versions.deleted_count == 1
    assert declared.declare_table is not None
    assert declared.declare_table.managed_versioning is True
    assert created.create_table_version is not None
    assert created.create_table_version.version == catalog.describe_table_version([*home, "t"])
    assert gone.deregister_table is not None
    assert gone.deregister_table.id == [*home, "v"]
    assert catalog.tables(home) == ["d", "t", "u"]
    assert catalog.versions([*home, "t"]) == [3, 2, 1]
    assert catalog.versions([*home, "u"]) == [2]


@managed
def test_a_batch_publishes_and_deletes_manifests(catalog: Catalog, history: list[str]) -> None:
    table = catalog.directory(history)
    staged = stage(table, 3)
    catalog.commit(create(staged, *history), delete((1, 2), *history))
    names = sorted(path.name for path in versions_in(table).iterdir() if path.suffix != ".json")
    assert names == [manifest_name(3), manifest_name(2)]


@managed
def test_a_table_may_be_declared_with_its_first_version(
    catalog: Catalog, home: list[str], table: list[str]
) -> None:
    """Its manifest is staged where the table will lie."""
    folder = versions_in(catalog.root / "place")
    folder.mkdir(parents=True)
    staged = folder / f"{manifest_name(1)}-1"
    staged.write_bytes(catalog.manifest(table, 1))
    _, created = catalog.commit(
        declare(*home, "d", location="place"), create(as_staged(staged, 1), *home, "d")
    )
    assert created.create_table_version is not None
    assert created.create_table_version.version == catalog.describe_table_version([*home, "d"])
    assert catalog.describe_table([*home, "d"], check_declared=True).is_only_declared is False


@managed
def test_a_table_may_get_its_last_version_as_it_is_deregistered(
    catalog: Catalog, history: list[str]
) -> None:
    table = catalog.directory(history)
    created, _ = catalog.commit(create(stage(table, 3), *history), deregister(*history))
    assert created.create_table_version is not None
    assert created.create_table_version.version is not None
    assert catalog.file(created.create_table_version.version.manifest_path).is_file()
    catalog.register_table(history, catalog.inside(str(table)))
    assert catalog.versions(history) == [3, 2, 1]


@managed
def test_the_same_batch_of_creations_again_returns_the_same_answer(
    catalog: Catalog, two: list[dict[str, Any]]
) -> None:
    steps = [{"create_table_version": each} for each in two]
    assert catalog.commit(*steps) == catalog.commit(*steps)


# BatchCommitTables, all of it or nothing


@manifest
@pytest.mark.parametrize(
    ("bad", "code"),
    [
        pytest.param(declare("t"), ErrorCode.TABLE_ALREADY_EXISTS, id="declare_existing"),
        pytest.param(declare("d"), ErrorCode.TABLE_ALREADY_EXISTS, id="declare_twice"),
        pytest.param(declare("ns"), ErrorCode.TABLE_ALREADY_EXISTS, id="declare_namespace"),
        pytest.param(declare("a", "t"), ErrorCode.NAMESPACE_NOT_FOUND, id="declare_nowhere"),
        pytest.param(
            declare("e", location="../out"), ErrorCode.INVALID_INPUT, id="declare_outside"
        ),
        pytest.param(deregister("missing"), ErrorCode.TABLE_NOT_FOUND, id="deregister_missing"),
        pytest.param(deregister("u"), ErrorCode.TABLE_NOT_FOUND, id="deregister_twice"),
        pytest.param(deregister("ns"), ErrorCode.TABLE_NOT_FOUND, id="deregister_namespace"),
        pytest.param(deregister("a", "t"), ErrorCode.NAMESPACE_NOT_FOUND, id="deregister_nowhere"),
        pytest.param(deregister(), ErrorCode.INVALID_INPUT, id="deregister_root"),
    ],
)
def test_of_a_refused_batch_nothing_is_there(
    catalog: Catalog, ns: list[str], bad: Operation, code: ErrorCode
) -> None:
    for name in ("t", "u"):
        catalog.create_table([name], 1)
    before = Sight.of(catalog)
    with refused(code):
        catalog.commit(declare("d"), deregister("u"), bad)
    assert Sight.of(catalog) == before


@managed
@pytest.mark.parametrize(
    ("bad", "code"),
    [
        pytest.param(declare("t"), ErrorCode.TABLE_ALREADY_EXISTS, id="declare_existing"),
        pytest.param(deregister("missing"), ErrorCode.TABLE_NOT_FOUND, id="deregister_missing"),
        pytest.param(create(NOWHERE, "v"), ErrorCode.INVALID_INPUT, id="nothing_staged"),
        pytest.param(create(NOWHERE, "missing"), ErrorCode.TABLE_NOT_FOUND, id="missing_table"),
        pytest.param(
            create(NOWHERE | {"version": 2}, "v"), ErrorCode.INVALID_INPUT, id="other_version"
        ),
        pytest.param(
            create({"version": 2, "manifest_path": f"{manifest_name(2)}-1"}, "v"),
            ErrorCode.CONCURRENT_MODIFICATION,
            id="existing_version",
        ),
        pytest.param(
            delete((2, 4), "v", **STRICT), ErrorCode.TABLE_VERSION_NOT_FOUND, id="missing_version"
        ),
        pytest.param(delete((4, 2), "v"), ErrorCode.INVALID_INPUT, id="inverted_range"),
        pytest.param(delete((1, 2), "missing"), ErrorCode.TABLE_NOT_FOUND, id="delete_nowhere"),
    ],
)
def test_of_a_refused_batch_no_version_is_there(
    catalog: Catalog, bad: Operation, code: ErrorCode
) -> None:
    for name in ("t", "u", "v"):
        catalog.create_table([name], 1)
        catalog.append([name], 2)
    staged = stage(catalog.directory(["t"]), 3)
    before = Sight.of(catalog)
    good = [declare("d"), create(staged, "t"), delete((1, 2), "v"), deregister("u")]
    with refused(code):
        catalog.commit(*good, bad)
    assert Sight.of(catalog) == before
    catalog.commit(*good)
    assert catalog.tables([]) == ["d", "t", "v"]


@managed
def test_a_conflict_names_every_table_that_others_changed(
    catalog: Catalog, two: list[dict[str, Any]]
) -> None:
    for name in ("t", "u"):
        catalog.append([name], 2)
    with pytest.raises(TableVersionAlreadyExistsError, match=r"\bt\b.*\bu\b"):
        catalog.commit(*({"create_table_version": each} for each in two))


@applies(mode="compat", extensions=True)
def test_of_a_refused_batch_a_client_of_directories_sees_nothing(catalog: Catalog) -> None:
    catalog.create_table(["t"], 1)
    with refused(ErrorCode.TABLE_NOT_FOUND):
        catalog.commit(declare("d"), deregister("t"), deregister("missing"))
    assert catalog.beside("v1").tables([]) == ["t"]


@applies(mode="compat", extensions=True)
def test_a_batch_declares_no_table_that_lies_there_already(catalog: Catalog) -> None:
    write_lance(catalog.root / "t.lance", 1)
    with refused(ErrorCode.TABLE_ALREADY_EXISTS):
        catalog.commit(declare("d"), declare("t"))
    assert catalog.tables([]) == ["t"]
