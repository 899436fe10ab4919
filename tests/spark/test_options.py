"""Options of the data source: what is understood, and what is told of what is not."""

from __future__ import annotations

import pytest

from lanceyard.errors import InvalidInputError
from lanceyard.spark.options import Options


def parse(**options: str) -> Options:
    return Options.parse({key.replace("__", "."): value for key, value in options.items()})


def test_a_path_names_a_table():
    assert str(parse(path="/data/t.lance").reference) == "/data/t.lance"


@pytest.mark.parametrize("uri", ["file:/data/a%20b", "file:///data/a%20b"])
def test_spark_writes_paths_as_file_uris(uri):
    assert parse(path=uri).reference.path == "/data/a b"


def test_an_object_store_is_left_as_it_is():
    assert parse(path="s3://bucket/t.lance").reference.path == "s3://bucket/t.lance"


@pytest.mark.parametrize("name", ["a.b.t", "a$b$t"])
def test_a_name_and_a_catalog_name_a_table(name):
    reference = parse(table=name, catalog__root="/data").reference
    assert (reference.table, reference.catalog) == (("a", "b", "t"), {"root": "/data"})


def test_storage_options_go_with_the_table():
    found = parse(path="s3://b/t", **{"storage.region": "eu-1"})
    assert found.reference.storage == {"region": "eu-1"}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "name the table"),
        ({"path": "/t", "table": "t"}, "name the table"),
        ({"table": "t"}, "needs a catalog"),
        ({"path": "/t", "catalog.root": "/"}, "needs option table"),
        ({"path": "/t", "verison": "3"}, "did you mean 'version'"),
        ({"path": "/t", "catalogroot": "/"}, "did you mean 'catalog.root'"),
        ({"path": "/t", "version": "three"}, "option version='three'"),
        ({"path": "/t", "version": "0"}, "at least 1"),
        ({"path": "/t", "with_row_id": "yes"}, "true or false"),
        ({"path": "/t", "nearest": "[1]"}, "JSON object"),
        ({"path": "/t", "nearest": "{"}, "option nearest="),
        ({"path": "/t", "if_exists": "merge"}, "one of append, overwrite, fail"),
        ({"path": "/t", "version": "1", "tag": "x"}, "tag and version cannot be combined"),
        ({"path": "/t", "branch": "b", "tag": "x"}, "branch and tag cannot be combined"),
        ({"path": "/t", "limit": "3"}, "DataFrame.limit"),
        ({"path": "/t", "nearest": "{}", "full_text_query": "x"}, "cannot be combined"),
    ],
)
def test_what_makes_no_sense_is_told(options, text):
    with pytest.raises(InvalidInputError, match=text):
        Options.parse(options)


def test_options_are_not_case_sensitive():
    assert Options.parse({"path": "/t", "With_Row_Id": "TRUE"}).with_row_id


def test_a_version_of_a_branch_can_be_asked_for():
    found = parse(path="/t", branch="b", version="3")
    assert (found.branch, found.version) == ("b", 3)


def test_options_of_columns_are_kept_for_the_writer():
    found = Options.parse({"path": "/t", "v.arrow.fixed-size-list.size": "128"})
    assert found.columns_as == {"v.arrow.fixed-size-list.size": "128"}


def test_what_spark_adds_is_not_ours_to_refuse():
    assert Options.parse({"path": "/t", "checkpointLocation": "/c"})
