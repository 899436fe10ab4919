"""Atomic publish: several tables of a job land together or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

import lanceyard
from lanceyard import errors
from lanceyard.spark import publish
from lanceyard.spark.publishing import CheckFailedError

VICTIM = """
import lance, os, pyarrow, signal, sys
from lanceyard.spark import publish

publication = publish(None, catalog=sys.argv[1])
for table in ("shop.orders", "shop.new"):
    rows = pyarrow.table({"id": [7]})
    lance.write_dataset(rows, publication.options(table)["path"], mode="append")
os.kill(os.getpid(), signal.SIGKILL)
"""
"""A driver that dies before its publication ends."""


@pytest.fixture
def root(tmp_path):
    """A catalog that manages versions, with one table."""
    place = str(tmp_path / "yard")
    with lanceyard.open(place, table_version_management="true") as yard:
        yard.create_namespace("shop")
        yard.create_table("shop.orders", {"id": [0]})
    return place


def contents(root):
    """The ids in all tables."""
    with lanceyard.open(root) as yard:
        return {
            name: sorted(yard.table(f"shop.{name}").read()["id"].to_pylist())
            for name in yard.tables("shop")
        }


def test_all_tables_land_at_once(spark, root):
    with publish(spark, catalog=root) as publication:
        publication.write(spark.range(1, 4), "shop.orders")
        spark.range(2).write.format("lance").mode("append").options(
            **publication.options("shop.new")
        ).save()
        publication.write(spark.range(5, 7), "shop.new", mode="overwrite")
        assert contents(root) == {"orders": [0]}
    assert contents(root) == {"orders": [0, 1, 2, 3], "new": [5, 6]}


def test_staged_tables_are_read_and_checked_before(spark, root):
    with publish(spark, catalog=root) as publication:
        publication.write(spark.range(1, 4), "shop.orders")
        joined = publication.read("shop.orders").crossJoin(spark.range(2))
        publication.check(lambda: joined.count() == 8)
        publication.check(lambda staged: staged.count() == 4, "shop.orders")
        assert publication.tables == ["shop.orders"]
    assert contents(root) == {"orders": [0, 1, 2, 3]}


def test_a_check_that_fails_publishes_nothing(spark, root):
    def job():
        with publish(spark, catalog=root) as publication:
            publication.write(spark.range(1, 4), "shop.orders")
            publication.write(spark.range(2), "shop.new")
            publication.check(has_many, "shop.orders", "shop.new", text="enough rows")

    def has_many(*tables):
        return all(table.count() > 2 for table in tables)

    with pytest.raises(CheckFailedError, match=r"enough rows of shop\.orders, shop\.new"):
        job()
    assert contents(root) == {"orders": [0]}
    with lanceyard.open(root) as yard:
        assert not yard.repair().findings


def test_a_job_that_fails_publishes_nothing(spark, root):
    def job():
        with publish(spark, catalog=root) as publication:
            publication.write(spark.range(1, 4), "shop.orders")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        job()
    assert contents(root) == {"orders": [0]}


@pytest.mark.parametrize("is_written", [True, False])
def test_nothing_is_published_beside_a_change_of_the_same_table(spark, root, is_written):
    def job():
        with publish(spark, catalog=root) as publication:
            publication.write(spark.range(2), "shop.new")
            if is_written:
                publication.write(spark.range(1, 4), "shop.orders")
            else:
                publication.require("shop.orders")
            with lanceyard.open(root) as yard:
                yard.table("shop.orders").append({"id": [9]})

    with pytest.raises(errors.ConcurrentModificationError, match="orders"):
        job()
    assert contents(root) == {"orders": [0, 9]}


def test_a_catalog_that_does_not_manage_versions_says_what_to_do(spark, tmp_path):
    lanceyard.open(tmp_path / "plain").create_table("t", {"id": [0]})
    with pytest.raises(errors.UnsupportedOperationError, match="manage_versions"):
        publish(spark, catalog=tmp_path / "plain")


def test_a_table_cannot_be_published_into_a_namespace_that_is_not_there(spark, root):
    def job():
        with publish(spark, catalog=root) as publication:
            publication.write(spark.range(1), "nowhere.t")

    with pytest.raises(errors.NamespaceNotFoundError):
        job()
    assert contents(root) == {"orders": [0]}


def test_a_driver_that_is_killed_publishes_nothing(root):
    done = subprocess.run([sys.executable, "-c", VICTIM, root], check=False)
    assert done.returncode == -signal.SIGKILL
    assert contents(root) == {"orders": [0]}
    later = {"root": root, "window": "1"}
    time.sleep(1.1)
    with lanceyard.open({"impl": "dir", **later}) as yard:
        findings = yard.repair().findings
        assert {finding.kind.name for finding in findings} == {"ABANDONED_TRANSACTION"}
        assert not yard.repair().findings
        yard.table("shop.orders").append({"id": [1]})
    assert contents(root) == {"orders": [0, 1]}


def test_what_somebody_else_has_cancelled_is_not_taken_for_published(spark, root):
    publication = publish(spark, catalog=root)
    publication.write(spark.range(1), "shop.new")
    lanceyard.open(root).transaction(publication.id).abort()
    with pytest.raises(errors.LanceNamespaceError), publication:
        pass
    assert contents(root) == {"orders": [0]}


def test_reading_a_table_that_is_not_there_makes_none(spark, root):
    with publish(spark, catalog=root) as publication:
        with pytest.raises(errors.TableNotFoundError):
            publication.read("shop.typo")
        publication.write(spark.range(1, 2), "shop.orders")
    assert contents(root) == {"orders": [0, 1]}
