"""The service of a catalog: who may ask it, and how long it runs; and the jar that asks."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lanceyard.namespace import properties_of
from lanceyard.spark.sql import jar as jars
from lanceyard.spark.sql import plans
from lanceyard.spark.sql.catalogs import attach, catalog_conf
from lanceyard.spark.sql.jar import CACHE, CompilerError, find_javac, jar
from lanceyard.spark.sql.service import Service
from tests.spark.sql.conftest import Sql


def ask(service: Service, path: str, token: str | None) -> int:
    """The status that a request gets."""
    headers = {} if token is None else {"x-api-key": token}
    url = f"{service.address}{path}"
    body = None if path.endswith("/list") else json.dumps({"id": []}).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers)) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as refusal:
        return int(refusal.code)


@pytest.mark.parametrize("path", ["/v1/namespace/$/list", "/spark/procedures"])
def test_only_who_knows_the_token_is_answered(tmp_path: Path, path: str):
    service = Service({"impl": "dir", "root": str(tmp_path)})
    assert service.address.startswith("http://127.0.0.1:")
    assert [ask(service, path, token) for token in (service.token, None, "ly_guess")] == [
        200,
        401,
        401,
    ]
    service.stop()


def test_a_service_ends_once_it_is_not_needed(tmp_path: Path):
    over: list[bool] = []
    service = Service({"impl": "dir", "root": str(tmp_path)}, is_over=lambda: bool(over))
    assert service.runs
    over.append(True)
    deadline = time.monotonic() + 20
    while service.runs:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_name_stands_for_one_catalog_of_a_session(sql: Sql):
    address = sql.spark.conf.get(f"spark.sql.catalog.{sql.name}.uri")
    attach(sql.spark, {sql.name: str(sql.root)})
    assert sql.spark.conf.get(f"spark.sql.catalog.{sql.name}.uri") == address
    with pytest.raises(Exception, match="has another catalog"):
        attach(sql.spark, {sql.name: "/elsewhere"})


def test_catalogs_are_named_by_directory_address_or_properties(tmp_path: Path):
    assert properties_of("x")["root"] == os.path.abspath("x")
    assert properties_of("http://h:1") == {"impl": "rest", "uri": "http://h:1"}
    assert properties_of({"root": "s3://b/c"}) == {"impl": "dir", "root": "s3://b/c"}
    with pytest.raises(Exception, match="cannot have the name"):
        catalog_conf("my yard", "", "")


def test_a_catalog_behind_another_server_is_used_like_any(sql: Sql, tmp_path: Path):
    behind = Service(properties_of(str(tmp_path / "behind")))
    named = {"impl": "rest", "uri": behind.address, "headers.x-api-key": behind.token}
    attach(sql.spark, {"served": named})
    sql.spark.sql("CREATE NAMESPACE served.a")
    sql.spark.sql("CREATE TABLE served.a.t AS SELECT id FROM range(5)")
    sql.spark.sql("UPDATE served.a.t SET id = id + 10 WHERE id = 1 OR id % 5 = 4")
    assert sorted(row.id for row in sql.spark.table("served.a.t").collect()) == [0, 2, 3, 11, 14]
    behind.stop()


@pytest.mark.parametrize(("python", "pyspark"), [(("3", "9", "1"), None), (None, "4.0.0")])
def test_another_python_than_that_of_the_workers_leaves_plans_to_spark(
    sql: Sql,
    monkeypatch: pytest.MonkeyPatch,
    python: tuple[str, str, str] | None,
    pyspark: str | None,
):
    sql("CREATE TABLE yard.a.t AS SELECT id FROM range(5)")
    if python:
        monkeypatch.setattr("platform.python_version_tuple", lambda: python)
    if pyspark:
        monkeypatch.setattr("pyspark.__version__", pyspark)
    monkeypatch.setattr(plans, "LanceReader", lambda *_: pytest.fail("planned"))
    assert sorted(sql("SELECT id FROM yard.a.t")) == [(0,), (1,), (2,), (3,), (4,)]


def test_the_jar_is_compiled_once_though_many_want_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    compiled = jar()
    monkeypatch.setenv(CACHE, str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "_compile", lambda javac, place: compiled)
    with ThreadPoolExecutor(4) as pool:
        paths = {future.result() for future in [pool.submit(jar) for _ in range(8)]}
    assert [*paths] == [*(tmp_path / "cache").iterdir()]
    monkeypatch.setattr(jars, "_compile", lambda javac, place: pytest.fail("compiled again"))
    assert jar() in paths


def test_the_jar_goes_elsewhere_where_the_cache_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    compiled = jar()
    (tmp_path / "file").touch()
    monkeypatch.delenv(CACHE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(jars, "_compile", lambda javac, place: compiled)
    assert jar().parent == tmp_path / f"lanceyard-{os.getuid()}"


def test_without_a_compiler_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    java.write_text("#!/bin/sh\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CompilerError, match=r"no javac .* openjdk-17-jdk-headless.* Everything"):
        find_javac()


def test_a_jar_that_anybody_could_have_put_there_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    compiled, open_folder = jar(), tmp_path / f"lanceyard-{os.getuid()}"
    open_folder.mkdir()
    (open_folder / compiled.name).write_bytes(b"planted")
    open_folder.chmod(0o777)
    monkeypatch.delenv(CACHE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    assert jar().read_bytes() != b"planted"
