"""The client: the calls of a metastore with our types, in the form that the server knows."""

from __future__ import annotations

import contextlib
import getpass
import os
import socket
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lanceyard.catalog.hive.metastore.connection import Connection
from lanceyard.catalog.hive.metastore.failures import (
    MetaError,
    MetastoreError,
    NoSuchLockError,
    UnknownMethodError,
)
from lanceyard.catalog.hive.metastore.generated import ttypes
from lanceyard.catalog.hive.metastore.pool import Pool
from lanceyard.catalog.hive.metastore.records import (
    DatabaseName,
    HiveCatalog,
    HiveDatabase,
    HiveTable,
    Lock,
)
from lanceyard.catalog.hive.metastore.settings import Address, MetastoreSettings

BATCH = 500
"""How many tables are asked for in one call."""
ALL = -1
DEFAULT_DATABASE = "default"
"""That every catalog has."""
EXCLUSIVE, TABLE_LEVEL, NO_TRANSACTION = 3, 2, 6
ACQUIRED, WAITING = 1, 2
INSERT_ONLY_TABLES = 2
"""Among the capabilities of clients: to know of these tables of Hive's, which are not ours."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call by its name, with what it takes and what to make of its answer."""

    method: str
    arguments: tuple[Any, ...]
    read: Callable[[Any], Any] = lambda answer: answer


class Metastore:
    """A Hive Metastore, or several that keep the same names. Threads may share it.

    Calls that were added later are tried first, and older ones on servers that do not have them;
    Hive 2.3 lacks some of the former, Hive 4 some of the latter. Errors are those of `failures`,
    and `ServiceUnavailableError`.
    """

    def __init__(self, settings: MetastoreSettings) -> None:
        """Connect to nothing yet."""
        self._pool = Pool(settings)
        self._user = settings.user.name if settings.user else _user_of_process()
        self._missing: set[tuple[Address, str]] = set()
        self._has_catalogs: bool | None = None

    def close(self) -> None:
        """Close the connections. Using it again is allowed."""
        self._pool.close()

    def version(self) -> str:
        """What the server says its version is; that of Hive itself from Hive 4 on."""
        return str(self._ask(Call("getVersion", ())))

    def has_catalogs(self) -> bool:
        """Whether databases are in catalogs: in Hive 3 and newer. Asked once."""
        if self._has_catalogs is None:
            try:
                self.catalog_names()
            except UnknownMethodError:
                self._has_catalogs = False
            else:
                self._has_catalogs = True
        return self._has_catalogs

    def catalog_names(self) -> list[str]:
        """The names of the catalogs."""
        return list(self._ask(Call("get_catalogs", ())).names or ())

    def find_catalog(self, name: str) -> HiveCatalog:
        """Look a catalog up. Raises `NoSuchObjectError`."""
        call = Call("get_catalog", (ttypes.GetCatalogRequest(name),))
        return HiveCatalog.received(self._ask(call).catalog)

    def create_catalog(self, catalog: HiveCatalog) -> None:
        """Create a catalog. Raises `AlreadyExistsError`."""
        self._change(Call("create_catalog", (ttypes.CreateCatalogRequest(catalog.sent()),)))

    def alter_catalog(self, catalog: HiveCatalog) -> None:
        """Replace what is kept about a catalog. Raises `NoSuchObjectError`."""
        request = ttypes.AlterCatalogRequest(catalog.name, catalog.sent())
        self._change(Call("alter_catalog", (request,)))

    def drop_catalog(self, name: str) -> None:
        """Drop a catalog without databases, other than ``default``, which goes with it; files stay.

        Raises `NoSuchObjectError`, `InvalidOperationError`.
        """
        catalog = self.find_catalog(name)
        default = self.find_database(DatabaseName(DEFAULT_DATABASE, name))
        # The server deletes the folders of both with all that is in them: let it be another one.
        nowhere = f"{catalog.location.rstrip('/')}/_dropped_{uuid.uuid4().hex}"
        self.alter_catalog(replace(catalog, location=nowhere))
        self.alter_database(replace(default, location=nowhere))
        try:
            self._change(Call("drop_catalog", (ttypes.DropCatalogRequest(name),)))
        except MetastoreError:
            self.alter_database(default)
            self.alter_catalog(catalog)
            raise

    def database_names(self, catalog: str | None = None) -> list[str]:
        """The names of the databases, of one catalog where there are such."""
        return list(self._ask(Call("get_databases", (str(DatabaseName("*", catalog)),))))

    def find_database(self, where: DatabaseName) -> HiveDatabase:
        """Look a database up. Raises `NoSuchObjectError`."""
        request = ttypes.GetDatabaseRequest(where.name, where.catalog)
        found = self._ask(Call("get_database_req", (request,)), Call("get_database", (str(where),)))
        return HiveDatabase.received(found, where)

    def create_database(self, database: HiveDatabase) -> None:
        """Create a database. Raises `AlreadyExistsError`, `InvalidObjectError`."""
        self._change(Call("create_database", (database.sent(),)))

    def alter_database(self, database: HiveDatabase) -> None:
        """Replace what is kept about a database. Raises `NoSuchObjectError`, but not in Hive 2.

        Hive 2 keeps parameters and the owner, and ignores a new description or location.
        """
        self._change(Call("alter_database", (str(database.where), database.sent())))

    def drop_database(self, where: DatabaseName, *, cascade: bool = False) -> None:
        """Drop a database, with its tables if `cascade`; files stay where they are.

        Raises `InvalidOperationError` if it is not empty. One that is not there is
        `NoSuchObjectError` or, in Hive 2, a `MetaError` that does not say so: look first.
        """
        self._change(Call("drop_database", (str(where), False, cascade)))

    def table_names(self, where: DatabaseName) -> list[str]:
        """The names of all tables and views; none if the database is not there."""
        return list(self._ask(Call("get_all_tables", (str(where),))))

    def filtered_table_names(self, where: DatabaseName, expression: str) -> list[str]:
        """The names of the tables that a filter of Hive is true for, found by the server.

        Raises `NoSuchObjectError` where the server says so, and else finds none in a database that
        is not there.
        """
        return list(self._ask(Call("get_table_names_by_filter", (str(where), expression, ALL))))

    def find_table(self, where: DatabaseName, name: str) -> HiveTable:
        """Look a table up. Raises `NoSuchObjectError`, also if the database is not there."""
        request = ttypes.GetTableRequest(where.name, name, _capabilities(), where.catalog)
        found = self._ask(
            Call("get_table_req", (request,), lambda answer: answer.table),
            Call("get_table", (str(where), name)),
        )
        return HiveTable.received(found, where)

    def find_tables(self, where: DatabaseName, names: Sequence[str]) -> list[HiveTable]:
        """Look many tables up, in a few calls; those that are not there are left out."""
        found: list[HiveTable] = []
        for start in range(0, len(names), BATCH):
            batch = list(names[start : start + BATCH])
            request = ttypes.GetTablesRequest(where.name, batch, _capabilities(), where.catalog)
            answer = self._ask(
                Call("get_table_objects_by_name_req", (request,), lambda answer: answer.tables),
                Call("get_table_objects_by_name", (str(where), batch)),
            )
            found.extend(HiveTable.received(each, where) for each in answer)
        return found

    def create_table(self, table: HiveTable) -> None:
        """Create a table. Raises `AlreadyExistsError`.

        Raises `InvalidObjectError` if the database is not there or the name is not allowed.
        """
        made = table.sent()
        self._change(
            Call("create_table_req", (ttypes.CreateTableRequest(made),)),
            Call("create_table", (made,)),
        )

    def alter_table(
        self,
        where: DatabaseName,
        name: str,
        table: HiveTable,
        context: Mapping[str, str] | None = None,
    ) -> None:
        """Replace what is kept about a table; one with another name is renamed.

        `context` may carry ``expected_parameter_key`` and ``expected_parameter_value``, for a
        compare-and-swap that some servers know and others ignore. A table that is not there is
        `InvalidOperationError`; a swap that failed is `MetaError`, with a text about it.
        """
        made, told = table.sent(), ttypes.EnvironmentContext(dict(context or {}))
        request = ttypes.AlterTableRequest(where.catalog, where.name, name, made, told)
        self._change(
            Call("alter_table_req", (request,)),
            Call("alter_table_with_environment_context", (str(where), name, made, told)),
        )

    def drop_table(self, where: DatabaseName, name: str) -> None:
        """Forget a table; its files stay. Raises `NoSuchObjectError`."""
        told = ttypes.EnvironmentContext({})
        self._change(Call("drop_table_with_environment_context", (str(where), name, False, told)))

    def lock(self, where: DatabaseName, name: str) -> Lock:
        """Ask for the exclusive lock of a table; catalogs share the locks of equal names.

        A lock that is not held is waited for by `check_lock`. It expires unless `heartbeat` is
        called, every minute or so. Asking again after a `LostReplyError` leaves the first lock to
        expire.
        """
        component = ttypes.LockComponent(
            type=EXCLUSIVE,
            level=TABLE_LEVEL,
            dbname=where.name,
            tablename=name,
            operationType=NO_TRANSACTION,
        )
        request = ttypes.LockRequest(
            component=[component],
            user=self._user,
            hostname=socket.gethostname(),
            agentInfo="lanceyard",
        )
        return _lock(self._change(Call("lock", (request,))))

    def check_lock(self, lock: Lock) -> Lock:
        """Whether a lock is held by now. Raises `NoSuchLockError` if it has expired."""
        return _lock(self._ask(Call("check_lock", (ttypes.CheckLockRequest(lock.number),))))

    def heartbeat(self, lock: Lock) -> None:
        """Keep a lock. Raises `NoSuchLockError` if it has expired."""
        self._ask(Call("heartbeat", (ttypes.HeartbeatRequest(lock.number),)))

    def unlock(self, lock: Lock) -> None:
        """Give a lock back, or do without one that was asked for; one that is gone is no error."""
        with contextlib.suppress(NoSuchLockError):
            self._ask(Call("unlock", (ttypes.UnlockRequest(lock.number),)))

    def _ask(self, *forms: Call) -> Any:
        """The answer to a call that may be made twice, as those that change nothing may."""
        return self._pool.read(lambda connection: self._first_known(connection, forms))

    def _change(self, *forms: Call) -> Any:
        """The answer to a call that is made once at most."""
        return self._pool.change(lambda connection: self._first_known(connection, forms))

    def _first_known(self, connection: Connection, forms: Sequence[Call]) -> Any:
        """The answer to the first form of a call that the server has.

        Those that it lacks are remembered and tried last; not never, as it may be replaced.
        """
        lacked = [(connection.address, form.method) in self._missing for form in forms]
        *others, last = (
            form for _, form in sorted(zip(lacked, forms, strict=True), key=lambda pair: pair[0])
        )
        for form in others:
            try:
                return form.read(connection.call(form.method, *form.arguments))
            except UnknownMethodError:
                self._missing.add((connection.address, form.method))
        return last.read(connection.call(last.method, *last.arguments))


def _capabilities() -> Any:
    """Without them, Hive 3 does not even say what kind of table one of its own is."""
    return ttypes.ClientCapabilities([INSERT_ONLY_TABLES])


def _user_of_process() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # of a number without a name, as in containers
        return str(os.getuid())


def _lock(answer: Any) -> Lock:
    if answer.state not in (ACQUIRED, WAITING):
        raise MetaError(f"the metastore refuses the lock {answer.lockid}")
    return Lock(answer.lockid, answer.state == ACQUIRED)
