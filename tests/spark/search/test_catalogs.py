"""Names of tables in searches."""

from __future__ import annotations

import pytest

from lanceyard import errors
from lanceyard.spark.search.catalogs import Catalogs

KNOWN = Catalogs.read("/default", {"yard": "/yard", "far": "https://host/api"})


@pytest.mark.parametrize(
    ("name", "root", "table"),
    [
        ("yard.a.t", "/yard", ("a", "t")),
        ("yard.t", "/yard", ("t",)),
        ("yard.`a.b`.`t``x`", "/yard", ("a.b", "t`x")),
        ("yard$a.b$t", "/yard", ("a.b", "t")),
        ("a.t", "/default", ("a", "t")),
        ("yard", "/default", ("yard",)),
    ],
)
def test_a_name_begins_with_its_catalog_or_means_the_default_one(name, root, table):
    found = KNOWN.table(name)
    assert (found.catalog["root"], found.table) == (root, table)


def test_a_catalog_is_a_server_too():
    assert KNOWN.table("far.a.t").catalog == {"impl": "rest", "uri": "https://host/api"}


@pytest.mark.parametrize("name", ["", "`a", "a``", "yard.`a`b", "``.t"])
def test_what_is_no_name_is_refused(name):
    with pytest.raises(errors.InvalidInputError, match="is not the name of a table"):
        KNOWN.table(name)
