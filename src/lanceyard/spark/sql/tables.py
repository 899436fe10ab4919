"""Tables: what Spark's catalog wants to know of them, and does to them, beyond their rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from lanceyard import errors
from lanceyard.identifier import DELIMITER
from lanceyard.namespace import Namespace, datasets
from lanceyard.spark import planning
from lanceyard.spark.filters import is_plain_moment
from lanceyard.spark.options import COLUMN_OPTION, Options
from lanceyard.spark.reference import TableReference
from lanceyard.spark.scan import Scan
from lanceyard.spark.types import spark_schema
from lanceyard.spark.write import Write

COMMENT = "comment"
PROVIDERS = ("lance", "lanceyard")
FILE_FORMAT = "file_format_version"
SETTINGS = (FILE_FORMAT, "enable_stable_row_ids")
"""Properties that say how files are written, too."""
RESERVED = ("provider", "location", "owner", "is_managed_location", "external")
"""Properties that Spark makes up."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Request = Mapping[str, Any]
"""What the Java side sends, as JSON."""


@dataclass(frozen=True)
class Tables:
    """The tables of a catalog, as Spark sees them."""

    namespace: Namespace
    catalog: Mapping[str, str] = field(repr=False)
    """Its properties, by which Python workers find it themselves."""

    def load(self, request: Request) -> dict[str, Any]:
        """One version of a table: where it is, its columns, how large it is.

        `version` is a number or a tag; `timestamp` is in microseconds since 1970.
        """
        scan = Scan.open(Options(reference=self.reference(request["id"]), **_moment(request)))
        if not isinstance(scan.version, int):
            raise errors.UnsupportedOperationError(
                f"tag {request['version']!r} is on branch {scan.version[0]!r}: read it with "
                f"spark.read.option('branch', {scan.version[0]!r}).table(…)"
            )
        described = self.namespace.describe_table({"id": list(request["id"])})  # type: ignore[arg-type]
        found = planning.extents(scan.dataset)
        schema = datasets.schema(scan.dataset)
        return {
            "version": scan.version,
            "schema": json.loads(_with_comments(spark_schema(schema), schema).json()),
            "rows": sum(each.rows for each in found),
            "bytes": sum(each.size for each in found),
            "kinds": {name: kind for name in schema.names if (kind := _kind(schema, name))},
            "options": self.options(request["id"]),
            "properties": {
                **(described.properties or {}),
                "provider": "lanceyard",
                "location": scan.place.location,
            },
        }

    def create(self, request: Request) -> dict[str, Any]:
        """Make a table without rows, or replace one by such; `mode` says which is allowed."""
        if FILE_FORMAT in request["properties"]:
            raise errors.UnsupportedOperationError(
                f"files have a format, and a new table has none yet: set {FILE_FORMAT} in CREATE "
                "TABLE … AS SELECT, or leave it out"
            )
        staged = self.stage(request)
        schema = StructType.fromJson(json.loads(request["schema"]))
        try:
            Write.begin(schema, Options.parse(staged["options"]), overwrite=True).commit([])
        except errors.LanceNamespaceError:
            if staged["declared"]:
                self.unstage(request)
            raise
        return self.settle(request)

    def stage(self, request: Request) -> dict[str, Any]:
        """Reserve the name of a table to be; the answer has the options of its writer.

        It also says whether the name was `declared` now, and is to be given up if nothing comes.

        Raises
        ------
        TableAlreadyExistsError
            There is one, and the mode is ``create``.
        TableNotFoundError
            There is none, and the mode is ``replace``.
        """
        place = self.reference(request["id"]).find()
        exists = place is not None and not place.is_empty
        if exists and request["mode"] == "create":
            raise errors.TableAlreadyExistsError(f"table {_name(request)} exists")
        if not exists and request["mode"] == "replace":
            raise errors.TableNotFoundError(f"table {_name(request)} was not found")
        properties = _own_properties(request["properties"])
        if place is None:
            wanted = {"id": list(request["id"]), "properties": properties or None}
            self.namespace.declare_table(wanted)  # type: ignore[arg-type]
        return {"options": self._staged(request), "declared": place is None}

    def settle(self, request: Request) -> dict[str, Any]:
        """Give a table that has got its content the properties that go with it, and no others."""
        wanted = _own_properties(request["properties"])
        described = self.namespace.describe_table({"id": list(request["id"])})  # type: ignore[arg-type]
        before = described.properties or {}
        unset = sorted(set(before) - set(wanted)) if request["mode"] != "create" else []
        if unset or not wanted.items() <= before.items():
            self.namespace.alter_table(
                {"id": list(request["id"]), "set": wanted, "unset": unset}  # type: ignore[arg-type]
            )
        columns = StructType.fromJson(json.loads(request["schema"]))
        comments = {
            each.name: each.metadata[COMMENT] for each in columns if COMMENT in each.metadata
        }
        if comments:
            self.comment(request["id"], comments)
        return {}

    def unstage(self, request: Request) -> dict[str, Any]:
        """Give up a name that was reserved, unless somebody has filled it."""
        place = self.reference(request["id"]).find()
        if place is not None and place.is_empty:
            self.namespace.drop_table({"id": list(request["id"])})  # type: ignore[arg-type]
        return {}

    def comment(self, table: Sequence[str], comments: Mapping[str, str]) -> None:
        """Say something about columns, in one commit."""
        updates = [
            {"path": column, "metadata": {COMMENT: text}} for column, text in comments.items()
        ]
        self.namespace.update_field_metadata({"id": list(table), "updates": updates})  # type: ignore[arg-type]

    def reference(self, table: Sequence[str]) -> TableReference:
        """A table of this catalog."""
        return TableReference(table=tuple(table), catalog=dict(self.catalog))

    def options(self, table: Sequence[str]) -> dict[str, str]:
        """The options by which the data source finds a table."""
        if len(table) == 1 and "." in table[0]:
            raise errors.UnsupportedOperationError(
                f"table {table[0]!r} of the root has a dot in its name: move it into a namespace"
            )
        named = {f"catalog.{key}": value for key, value in self.catalog.items()}
        return {**named, "table": DELIMITER.join(table)}

    def _staged(self, request: Request) -> dict[str, str]:
        """The options of the writer of a table to be."""
        given: Mapping[str, str] = request["properties"]
        said = {
            key: value
            for key, value in given.items()
            if key in SETTINGS or COLUMN_OPTION.fullmatch(key)
        }
        exists = "fail" if request["mode"] == "create" else "overwrite"
        return {**self.options(request["id"]), **said, "if_exists": exists}


def _name(request: Request) -> str:
    return ".".join(request["id"])


def _moment(request: Request) -> dict[str, Any]:
    """The version that is asked for, in the words of the data source."""
    if "timestamp" in request:
        moment = EPOCH + timedelta(microseconds=request["timestamp"])
        return {"timestamp": moment.isoformat()}
    version = str(request.get("version") or "")
    if version.isdecimal():
        return {"version": int(version)}
    return {"tag": version} if version else {}


def _own_properties(given: Mapping[str, str]) -> dict[str, str]:
    """The properties that a table is to have, without what Spark makes up."""
    provider = given.get("provider", PROVIDERS[0]).lower()
    if provider not in PROVIDERS:
        raise errors.InvalidInputError(
            f"tables of this catalog are Lance tables, not {provider}: say USING lance, or nothing"
            "; for a data frame or a stream, format('lance')"
        )
    if "location" in given and "is_managed_location" not in given:
        raise errors.InvalidInputError(
            "the catalog decides where its tables are: leave LOCATION out, or register the table "
            "with lanceyard.open(…)"
        )
    named = {key: value for key, value in given.items() if not key.startswith("option.")}
    return {key: value for key, value in named.items() if key not in RESERVED}


def _with_comments(columns: StructType, schema: pa.Schema) -> StructType:
    for column, found in zip(columns, schema, strict=True):
        comment = (found.metadata or {}).get(COMMENT.encode())
        if comment is not None:
            column.metadata[COMMENT] = comment.decode()
    return columns


def _kind(schema: pa.Schema, name: str) -> str | None:
    """How values of a column are compared, where Lance and Spark do it alike.

    They do not with floats (zero has a sign for Lance, and NaN an order) and dictionaries.
    """
    found = schema.field(name).type
    if pa.types.is_signed_integer(found):
        return "integer"
    if pa.types.is_unsigned_integer(found) and not pa.types.is_uint64(found):
        return f"unsigned{found.bit_width}"
    if is_plain_moment(found) and found.unit == "us":
        return "timestamp" if found.tz else "timestamp_ntz"
    if pa.types.is_decimal128(found) and 0 <= found.scale <= found.precision:
        return f"decimal({found.precision},{found.scale})"
    return _KINDS.get(found)


_KINDS = {
    pa.bool_(): "boolean",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.date32(): "date",
}
