"""Transactions over many tables: all of it, or nothing, and nobody sees it before."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from pathlib import Path

import lance
import pytest

import lanceyard
from lanceyard import errors
from lanceyard.yard.transaction import Transaction
from tests.transactions.conftest import numbers
from tests.transactions.workers import add, die, rows


def test_everything_lands_in_one_commit_of_the_manifest(yard: lanceyard.Yard) -> None:
    yard.close()
    before = yard.states()[-1].version
    with yard.transaction() as tx:
        tx.table("shop.a").insert(rows(2))
        tx.table("shop.b").update({"n": "n + 1"})
        tx.create_table("shop.c", {"n": [5]})
    assert numbers(yard, "shop.a") == [1, 2]
    assert numbers(yard, "shop.b") == [11]
    assert numbers(yard, "shop.c") == [5]
    moved = [state for state in yard.states() if state.version > before]
    shown = [len(yard.as_of(state.version).tables("shop")) == 3 for state in moved]
    assert shown[0], "the first commit after the beginning has all of it"


def test_nobody_sees_it_before(yard: lanceyard.Yard) -> None:
    with yard.transaction() as tx:
        tx.table("shop.a").insert(rows(2))
        tx.create_table("shop.c", {"n": [5]})
        assert numbers(yard, "shop.a") == [1]
        assert yard.tables("shop") == ["a", "b"]
        assert lance.dataset(yard.table("shop.a").location).count_rows() == 1


def test_it_reads_what_it_wrote(yard: lanceyard.Yard) -> None:
    with yard.transaction() as tx:
        handle = tx.table("shop.a")
        handle.insert(rows(2))
        assert handle.count_rows() == 2
        assert tx.table("shop.a").count_rows() == 2
        assert tx.create_table("shop.c", {"n": [5]}).count_rows() == 1
        assert tx.table("shop.c").count_rows() == 1
        assert set(tx.tables()) == {"shop.a", "shop.c"}


def test_every_stock_call_can_be_part_of_it(yard: lanceyard.Yard) -> None:
    with yard.transaction() as tx:
        handle = tx.table("shop.a")
        handle.insert(rows(2, 3, 4))
        handle.delete("n = 2")
        handle.update({"n": "n * 10"}, where="n = 3")
        handle.merge_insert("n").when_not_matched_insert_all().execute(rows(4, 7))
        handle.create_scalar_index("n", "BTREE")
        handle.add_columns({"twice": "n * 2"})
        handle.optimize.compact_files()
        lance.write_dataset(rows(100), tx.table("shop.b"), mode="overwrite")
    table = yard.table("shop.a")
    assert numbers(yard, "shop.a") == [1, 4, 7, 30]
    assert [index.name for index in table.to_lance().describe_indices()] == ["n_idx"]
    assert table.read(where="n = 7")["twice"].to_pylist() == [14]
    assert numbers(yard, "shop.b") == [100]


def test_what_it_made_goes_on_as_any_other_table(yard: lanceyard.Yard) -> None:
    with yard.transaction() as tx:
        tx.table("shop.a").insert(rows(2))
        tx.create_table("shop.c", {"n": [5]}, properties={"owner": "me"})
    yard.table("shop.a").append({"n": [3]})
    yard.table("shop.c").append({"n": [6]})
    assert numbers(yard, "shop.a") == [1, 2, 3]
    assert numbers(yard, "shop.c") == [5, 6]
    assert yard.table("shop.c").properties == {"owner": "me"}
    assert yard.table("shop.a").version == 3


def change_both(tx: Transaction) -> list[int]:
    tx.table("shop.a").insert(rows(2))
    tx.create_table("shop.c", {"n": [5]})
    return []


def test_an_exception_aborts_it(yard: lanceyard.Yard, root: Path) -> None:
    tx = yard.transaction()
    with pytest.raises(ZeroDivisionError), tx:
        assert 1 / len(change_both(tx))
    assert tx.status == "Canceled"
    assert numbers(yard, "shop.a") == [1]
    assert yard.tables("shop") == ["a", "b"]
    assert not list((root / "_lanceyard" / "transactions" / tx.id).glob("tables/*"))
    yard.table("shop.a").append({"n": [3]})
    assert numbers(yard, "shop.a") == [1, 3]


def test_the_first_committer_wins_and_the_error_names_the_tables(yard: lanceyard.Yard) -> None:
    tx = yard.transaction()
    for name in ("shop.a", "shop.b"):
        tx.table(name).insert(rows(99))
        yard.table(name).append({"n": [2]})
    with pytest.raises(errors.ConcurrentModificationError, match=r"shop.a.*shop.b|shop.b.*shop.a"):
        tx.commit()
    assert tx.status == "Failed"
    assert numbers(yard, "shop.a") == [1, 2]
    assert numbers(yard, "shop.b") == [2, 10]


def test_a_refused_commit_leaves_no_file_behind(yard: lanceyard.Yard) -> None:
    tx = yard.transaction()
    tx.table("shop.a").insert(rows(99))
    yard.table("shop.a").append({"n": [2]})
    yard.close()
    location = Path(yard.table("shop.a").location)
    before = sorted(location.rglob("*"))
    with pytest.raises(errors.ConcurrentModificationError):
        tx.commit()
    assert sorted(location.rglob("*")) == before


def test_tables_that_only_one_of_two_transactions_writes_do_not_conflict(
    yard: lanceyard.Yard,
) -> None:
    with yard.transaction() as one, yard.transaction() as other:
        one.table("shop.a").insert(rows(2))
        other.table("shop.b").insert(rows(20))
        assert other.table("shop.a").count_rows() == 1
    assert numbers(yard, "shop.a") == [1, 2]
    assert numbers(yard, "shop.b") == [10, 20]


def test_all_tables_are_as_they_were_when_it_began(yard: lanceyard.Yard) -> None:
    tx = yard.transaction()
    yard.table("shop.a").append({"n": [2]})
    yard.create_table("shop.later", {"n": [1]})
    assert tx.table("shop.a").count_rows() == 1
    with pytest.raises(errors.TableNotFoundError):
        tx.table("shop.later")
    tx.abort()


def test_a_table_that_is_only_read_can_be_required_not_to_change(yard: lanceyard.Yard) -> None:
    tx = yard.transaction()
    tx.require("shop.b")
    tx.table("shop.a").insert(rows(2))
    yard.table("shop.b").append({"n": [20]})
    with pytest.raises(errors.ConcurrentModificationError, match=r"shop\$b"):
        tx.commit()
    assert numbers(yard, "shop.a") == [1]


def test_a_requirement_that_holds_lets_it_land(yard: lanceyard.Yard) -> None:
    with yard.transaction() as tx:
        tx.require("shop.b")
        tx.table("shop.a").insert(rows(2))
    assert numbers(yard, "shop.a") == [1, 2]


@pytest.mark.parametrize("change", ["drop", "rename"])
def test_a_table_that_is_gone_is_a_conflict(yard: lanceyard.Yard, change: str) -> None:
    tx = yard.transaction()
    tx.table("shop.a").insert(rows(2))
    if change == "drop":
        yard.drop("shop.a")
    else:
        yard.rename("shop.a", "z")
    with pytest.raises(errors.ConcurrentModificationError, match=r"shop\$a"):
        tx.commit()


def test_a_name_that_was_taken_meanwhile_is_refused(yard: lanceyard.Yard) -> None:
    tx = yard.transaction()
    tx.create_table("shop.c", {"n": [5]})
    yard.create_table("shop.c", {"n": [6]})
    with pytest.raises(errors.TableAlreadyExistsError):
        tx.commit()
    assert numbers(yard, "shop.c") == [6]


def test_a_new_table_needs_a_free_name_and_a_namespace(yard: lanceyard.Yard) -> None:
    with yard.transaction() as tx:
        tx.create_table("shop.c", {"n": [5]})
        for name in ("shop.a", "shop.c"):
            with pytest.raises(errors.TableAlreadyExistsError):
                tx.create_table(name, {"n": [5]})
        with pytest.raises(errors.NamespaceNotFoundError):
            tx.create_table("nowhere.c", {"n": [5]})
        with pytest.raises(errors.NamespaceNotFoundError):
            tx.table("nowhere.c")


def test_a_declared_table_is_filled(yard: lanceyard.Yard) -> None:
    yard.namespace.declare_table({"id": ["shop", "declared"], "properties": {"k": "v"}})
    with yard.transaction() as tx:
        with pytest.raises(errors.InvalidTableStateError, match="no data"):
            tx.table("shop.declared")
        tx.write("shop.declared", rows(1))
        tx.write("shop.declared", rows(2))
        tx.write("shop.a", rows(7), mode="overwrite")
        assert tx.table("shop.declared").count_rows() == 2
    assert numbers(yard, "shop.declared") == [1, 2]
    assert yard.table("shop.declared").properties == {"k": "v"}
    assert numbers(yard, "shop.a") == [7]


def test_one_that_changed_nothing_commits_nothing(yard: lanceyard.Yard) -> None:
    yard.close()
    before = yard.states()[-1].version
    with yard.transaction() as tx:
        tx.table("shop.a").count_rows()
    assert tx.status == "Succeeded"
    assert yard.states()[-1].version == before


def test_it_ends_once(yard: lanceyard.Yard) -> None:
    tx = yard.transaction()
    tx.abort()
    tx.abort()
    for call in (lambda: tx.table("shop.a"), tx.commit, lambda: tx.require("shop.a")):
        with pytest.raises(errors.InvalidInputError, match="Canceled"):
            call()


def test_an_old_handle_writes_nowhere(yard: lanceyard.Yard) -> None:
    tx = yard.transaction()
    handle = tx.table("shop.a")
    tx.abort()
    with contextlib.suppress(OSError, ValueError):
        handle.insert(rows(2))
    assert numbers(yard, "shop.a") == [1]


def test_other_processes_take_part(yard: lanceyard.Yard, root: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    with yard.transaction() as tx:
        tx.table("shop.a").insert(rows(2))
        helpers = [spawn.Process(target=add, args=(str(root), tx.id, n)) for n in (3, 4)]
        for helper in helpers:
            helper.start()
        for helper in helpers:
            helper.join()
            assert helper.exitcode == 0
        assert tx.table("shop.a").count_rows() == 4
        assert numbers(yard, "shop.a") == [1]
    assert numbers(yard, "shop.a") == [1, 2, 3, 4]
    assert numbers(yard, "shop.b") == [3, 4, 10]


def test_what_a_dead_process_left_is_swept_after_the_window(
    yard: lanceyard.Yard, root: Path
) -> None:
    dead = multiprocessing.get_context("spawn").Process(target=die, args=(str(root),))
    dead.start()
    dead.join()
    alive = yard.transaction()
    alive.table("shop.b").insert(rows(20))
    (left,) = set(os.listdir(root / "_lanceyard" / "transactions")) - {alive.id}
    then = time.time() - 3_600
    for path in (root / "_lanceyard" / "transactions").rglob("*"):
        os.utime(path, (then, then))
    for mark in (left, alive.id):
        os.utime(root / "_lanceyard" / "transactions" / mark, (then, then))
    yard.table("shop.a").append({"n": [2]})
    yard.close()
    assert os.listdir(root / "_lanceyard" / "transactions") == [alive.id]
    alive.commit()
    assert numbers(yard, "shop.a") == [1, 2]
    assert numbers(yard, "shop.b") == [10, 20]
    assert yard.tables("shop") == ["a", "b"]


def test_operations_describe_and_end_a_transaction(yard: lanceyard.Yard) -> None:
    namespace = yard.namespace
    tx = yard.transaction()
    tx.table("shop.a").insert(rows(2))
    put = {"setPropertyAction": {"key": "job", "value": "nightly"}}
    answer = namespace.alter_transaction({"id": [tx.id], "actions": [put]})
    assert (answer.status, answer.properties) == ("Running", {"job": "nightly"})
    unset = {"unsetPropertyAction": {"key": "job"}}
    done = {"setStatusAction": {"status": "succeeded"}}
    answer = namespace.alter_transaction({"id": [tx.id], "actions": [unset, done]})
    assert (answer.status, answer.properties) == ("Succeeded", {})
    described = namespace.describe_transaction({"id": [tx.id]})
    assert (described.status, described.properties) == ("Succeeded", {})
    assert numbers(yard, "shop.a") == [1, 2]
    with pytest.raises(errors.InvalidInputError, match="has ended"):
        namespace.alter_transaction({"id": [tx.id], "actions": [done]})


def test_a_transaction_is_canceled_by_its_id(yard: lanceyard.Yard) -> None:
    tx = yard.transaction()
    tx.table("shop.a").insert(rows(2))
    cancel = {"setStatusAction": {"status": "Canceled"}}
    yard.namespace.alter_transaction({"id": [tx.id], "actions": [cancel]})
    with pytest.raises(errors.InvalidInputError, match="Canceled"):
        tx.commit()
    assert numbers(yard, "shop.a") == [1]


@pytest.mark.parametrize(
    "actions",
    [
        [{}],
        [{"setStatusAction": {"status": "Queued"}}],
        [{"setPropertyAction": {"key": "k"}}],
        [{"unsetPropertyAction": {"key": "k", "mode": "fail"}}],
        [{"setPropertyAction": {"key": "k", "value": "v"}, "unsetPropertyAction": {"key": "k"}}],
    ],
)
def test_bad_actions_are_refused_and_change_nothing(
    yard: lanceyard.Yard, actions: list[dict[str, object]]
) -> None:
    tx = yard.transaction()
    good = {"setPropertyAction": {"key": "a", "value": "b"}}
    with pytest.raises(errors.InvalidInputError):
        yard.namespace.alter_transaction({"id": [tx.id], "actions": [good, *actions]})
    assert yard.namespace.describe_transaction({"id": [tx.id]}).properties == {}
    tx.abort()


@pytest.mark.parametrize("mark", ["0" * 32, "../../etc", ""])
def test_an_unknown_transaction_answers_10(yard: lanceyard.Yard, mark: str) -> None:
    with pytest.raises(errors.TransactionNotFoundError):
        yard.transaction(mark)
    with pytest.raises(errors.TransactionNotFoundError) as told:
        yard.namespace.describe_transaction({"id": [mark]})
    assert told.value.code == 10


def test_a_catalog_that_does_not_manage_versions_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(errors.UnsupportedOperationError, match="manage_versions"):
        lanceyard.open(tmp_path).transaction()
    with pytest.raises(errors.UnsupportedOperationError):
        lanceyard.open({"impl": "memory"}).transaction()
