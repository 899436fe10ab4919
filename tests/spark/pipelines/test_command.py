"""The command line of pipelines, before anything starts."""

from __future__ import annotations

import pytest
from pyspark.sql.connect.proto import Relation

from lanceyard import errors
from lanceyard.spark.sql.flows import Flows
from lanceyard.spark.sql.pipelines import Pipelines, split
from lanceyard.spark.sql.spec import stored


def test_options_of_spark_and_of_pipelines_may_be_mixed():
    given = "--conf a=b run --spec x.yml --master local[2] --full-refresh-all --refresh a,b -v"
    options, own = split(given.split())
    assert options == ["--conf", "a=b", "--master", "local[2]", "-v"]
    assert own == ["run", "--spec", "x.yml", "--full-refresh-all", "--refresh", "a,b"]
    assert split(["--conf=a=b", "dry-run"]) == (["--conf=a=b"], ["dry-run"])


@pytest.mark.parametrize(
    ("storage", "found"),
    [
        ("yard:.spark", "file:///c/.spark"),
        ("far:x/y", "s3://b/far/x/y"),
        ("file:///elsewhere", "file:///elsewhere"),
        ("yard://host/x", "yard://host/x"),
        ("relative", "relative"),
    ],
)
def test_the_storage_may_lie_within_a_catalog(storage, found):
    assert stored(storage, {"yard": "/c", "far": "s3://b/far/"}) == found


def test_a_spark_elsewhere_is_refused(tmp_path):
    with pytest.raises(errors.InvalidInputError, match="name a cluster by --master"):
        Pipelines({"yard": tmp_path}, options=["--remote", "sc://elsewhere:15002"])


def reading(table):
    found = Relation()
    found.read.named_table.unparsed_identifier = table
    return found


def test_a_flow_that_spark_would_not_let_wait_is_refused():
    flows = Flows("yard", "a.b")
    flows.add_table("base")
    hasty = Relation()
    hasty.filter.input.with_columns.input.CopyFrom(reading("yard.a.b.`base`"))
    flows.add_flow("early", hasty)
    with pytest.raises(
        errors.InvalidInputError, match=r"early calls withColumn on yard\.a\.b\.base"
    ):
        flows.check()


def test_flows_that_wait_or_read_other_tables_are_not_refused():
    flows = Flows("yard", "a")
    flows.add_table("base")
    flows.add_flow("waits", reading("base"))
    other = Relation()
    other.with_columns.input.CopyFrom(reading("other.base"))
    flows.add_flow("foreign", other)
    flows.check()
