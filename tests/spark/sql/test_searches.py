"""Search functions in a session that has catalogs."""

from __future__ import annotations

from tests.spark.sql.conftest import Sql


def test_a_session_with_catalogs_can_search_them(sql: Sql):
    sql("CREATE TABLE yard.a.t AS SELECT id, concat('text ', id) s FROM range(5)")
    sql("CALL yard.system.index('a.t', 's', 'FTS')")
    assert sql("SELECT id FROM text_search('yard.a.t', '3')") == [(3,)]
