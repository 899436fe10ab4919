"""Needs: the role that each operation takes, and on which objects."""

from __future__ import annotations

from typing import NamedTuple

from lanceyard import errors
from lanceyard.identifier import Identifier
from lanceyard.rest.protocol import Operation
from lanceyard.server.security import objects
from lanceyard.server.security.grants import Rights
from lanceyard.server.security.objects import ROOT, Objects, Said
from lanceyard.server.security.roles import Role

READER, WRITER, OWNER = Role.READER, Role.WRITER, Role.OWNER


class Need(NamedTuple):
    """A role on every one of some objects."""

    role: Role | None
    """None for any role, on the object or on something in it: to find the way there."""
    objects: Objects


VISIT = (Need(None, objects.named),)
READ = (Need(READER, objects.named),)
PLAN = (Need(READER, objects.queried),)
WRITE = (Need(WRITER, objects.named),)
OWN = (Need(OWNER, objects.named),)
ADOPT = (Need(OWNER, objects.root),)
CREATE = Need(WRITER, objects.parent)

NEEDS: dict[str, tuple[Need, ...]] = {
    "ListOperations": (),
    # Namespaces
    "CreateNamespace": (CREATE, Need(OWNER, objects.overwritten)),  # which drops all below it
    "ListNamespaces": VISIT,
    "DescribeNamespace": READ,
    "NamespaceExists": VISIT,
    "DropNamespace": OWN,
    "AlterNamespace": OWN,
    # Tables
    "ListTables": VISIT,
    "ListAllTables": (Need(None, objects.root),),
    # A location of the caller's choice may hold what somebody else deregistered; options of the
    # caller's choice would send the server's own credentials to wherever they say.
    "DeclareTable": (CREATE, Need(OWNER, objects.root_if("location"))),
    "CreateTable": (
        CREATE,
        Need(WRITER, objects.overwritten),
        Need(OWNER, objects.root_if("storage_options")),
    ),
    "RegisterTable": ADOPT,
    "DescribeTable": READ,
    "TableExists": READ,
    "DropTable": OWN,
    "DeregisterTable": OWN,
    "AlterTable": OWN,
    # Also within a namespace: its answer tells whether the new name is taken.
    "RenameTable": (*OWN, Need(WRITER, objects.destination)),
    # Versions
    "ListTableVersions": READ,
    "DescribeTableVersion": READ,
    "CreateTableVersion": WRITE,
    "BatchDeleteTableVersions": WRITE,
    "BatchCreateTableVersions": (Need(WRITER, objects.entries),),
    "BatchCommitTables": (
        Need(WRITER, objects.declared_in),
        Need(OWNER, objects.adopting),
        Need(WRITER, objects.changed),
        Need(OWNER, objects.deregistered),
    ),
    "RestoreTable": WRITE,
    # Rows
    "QueryTable": READ,
    "CountTableRows": READ,
    "GetTableStats": READ,
    "ExplainTableQueryPlan": PLAN,
    "AnalyzeTableQueryPlan": PLAN,
    "InsertIntoTable": WRITE,
    "MergeInsertIntoTable": WRITE,
    "UpdateTable": WRITE,
    "DeleteFromTable": WRITE,
    # Columns and metadata
    "AlterTableAddColumns": WRITE,
    "AlterTableAlterColumns": WRITE,
    "AlterTableDropColumns": WRITE,
    "AlterTableBackfillColumns": WRITE,
    "UpdateFieldMetadata": WRITE,
    "UpdateTableSchemaMetadata": WRITE,
    # Views: who creates one lends its readers what they read of its bases
    "CreateMaterializedView": (CREATE, Need(READER, objects.bases)),
    "RefreshMaterializedView": WRITE,
    # Indexes, tags and branches
    "ListTableIndices": READ,
    "DescribeTableIndexStats": READ,
    "CreateTableIndex": WRITE,
    "CreateTableScalarIndex": WRITE,
    "DropTableIndex": WRITE,
    "ListTableTags": READ,
    "GetTableTagVersion": READ,
    "CreateTableTag": WRITE,
    "UpdateTableTag": WRITE,
    "DeleteTableTag": WRITE,
    "ListTableBranches": READ,
    "CreateTableBranch": WRITE,
    "DeleteTableBranch": WRITE,
    # Transactions, whose ids tell nothing of their tables: any may be among them
    "DescribeTransaction": (Need(READER, objects.root),),
    "AlterTransaction": (Need(WRITER, objects.root),),
}
"""What each operation takes. All of its needs must be met."""


def require(rights: Rights, operation: Operation, said: Said) -> None:
    """Raise `PermissionDeniedError` unless an operation is allowed.

    Looks at grants alone, so the answer is the same whether the objects exist or not. What is not
    named as the protocol has it is left to the namespace to refuse, for those whose role is on the
    root.
    """
    for role, find in NEEDS[operation.name]:
        try:
            for identifier in find(said):
                if role is None:
                    _check(operation, None, identifier, allowed=rights.reaches(identifier))
                else:
                    _check(operation, role, identifier, allowed=rights.has(role, identifier))
        except errors.InvalidInputError:
            least = role or READER
            _check(operation, least, ROOT, allowed=rights.has(least, ROOT))


def _check(
    operation: Operation, role: Role | None, identifier: Identifier, *, allowed: bool
) -> None:
    if allowed:
        return
    what = f"the role {role} on" if role is not None else "a role on, or in,"
    raise errors.PermissionDeniedError(f"{operation.name} needs {what} {identifier}")
