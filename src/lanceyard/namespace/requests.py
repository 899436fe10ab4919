"""Requests: from models, dicts and mode strings to what catalogs understand."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, TypeVar

from lance_namespace import (
    AlterTableAddColumnsRequest,
    CreateTableIndexRequest,
    DeleteFromTableResponse,
)
from lance_namespace_urllib3_client.models.add_columns_entry import AddColumnsEntry
from pydantic import BaseModel, Field, ValidationError

from lanceyard.catalog.base import Page
from lanceyard.errors import InvalidInputError
from lanceyard.identifier import Identifier

MOST = 2**31
"""A limit that no list reaches."""

_M = TypeVar("_M", bound=BaseModel)
_E = TypeVar("_E", bound=Enum)


class CreateMode(Enum):
    """What creating does when the object exists."""

    CREATE = "create"
    EXIST_OK = "existok"
    OVERWRITE = "overwrite"


class RegisterMode(Enum):
    """What registering does when the table exists."""

    CREATE = "create"
    OVERWRITE = "overwrite"


class InsertMode(Enum):
    """What inserting does with the rows that are there."""

    APPEND = "append"
    OVERWRITE = "overwrite"


class DropMode(Enum):
    """What dropping does when the namespace does not exist."""

    FAIL = "fail"
    SKIP = "skip"


class DropBehavior(Enum):
    """What dropping does when the namespace is not empty."""

    RESTRICT = "restrict"
    CASCADE = "cascade"


class AlterRequest(BaseModel):
    """Put and unset properties of a namespace or a table: an extension of the specification."""

    id: list[str] | None = None
    put: dict[str, str] = Field(default_factory=dict, alias="set")
    unset: list[str] = Field(default_factory=list)


class AlterResponse(BaseModel):
    """The properties after an alteration."""

    properties: dict[str, str]


class CreateIndexRequest(CreateTableIndexRequest):
    """Create an index, with an extension of the specification."""

    replace: bool | None = None
    """Put it in place of the index that has its name, on the same column."""


class NewColumn(AddColumnsEntry):
    """A column to add, with an extension of the specification: one without values."""

    data_type: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None


class AddColumnsRequest(AlterTableAddColumnsRequest):
    """Add columns, with the extensions that a column can have."""

    new_columns: list[NewColumn]  # type: ignore[assignment]


class DeletedRows(DeleteFromTableResponse):
    """What a deletion did, with an extension of the specification."""

    num_deleted_rows: int | None = None


class ListOperationsResponse(BaseModel):
    """The operations that a namespace carries out, by the names of the specification."""

    operations: list[str]


def read_request(model: type[_M], request: Any) -> _M:
    """A request as its model; a dict, or a model of another release, is validated."""
    if isinstance(request, model):
        return request
    data = request.model_dump(by_alias=True) if isinstance(request, BaseModel) else request
    if not isinstance(data, Mapping):
        raise InvalidInputError(f"a request is a {model.__name__} or a dict, not {type(request)}")
    try:
        return model.model_validate(dict(data))
    except ValidationError as cause:
        first = cause.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InvalidInputError(f"field {where!r} of {model.__name__}: {first['msg']}") from cause


def read_texts(model: type[_M], request: Any) -> _M:
    """A request whose texts go to Lance, which a NUL in the name of a column takes down."""
    found = read_request(model, request)
    if _has_nul(found):
        raise InvalidInputError(f"{model.__name__} contains the character NUL")
    return found


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, BaseModel):
        return any(map(_has_nul, value.__dict__.values()))
    if isinstance(value, Mapping):
        return any(map(_has_nul, (*value, *value.values())))
    if isinstance(value, list) and value and not isinstance(value[0], (int, float)):
        return any(map(_has_nul, value))
    return False


def read_choice(kind: type[_E], text: str | None, default: _E) -> _E:
    """A mode or behaviour, in any case and in PascalCase or snake_case."""
    if text is None:
        return default
    folded = text.replace("_", "").lower()
    for choice in kind:
        if choice.value == folded:
            return choice
    valid = ", ".join(choice.name.lower() for choice in kind)
    raise InvalidInputError(f"unknown {kind.__name__} {text!r}: valid are {valid}")


def read_table_id(names: list[str] | None) -> Identifier:
    """The identifier of a table, which is never the root."""
    identifier = Identifier.parse(names)
    if not identifier:
        raise InvalidInputError("a table needs an identifier with at least one name")
    return identifier


def read_page(page_token: str | None, limit: int | None) -> Page:
    """Where to start and how much to give; a token is the last name of the page before."""
    if limit is not None and limit < 1:
        raise InvalidInputError(f"limit must be at least 1, not {limit}")
    return Page(page_token or None, None if limit is None else min(limit, MOST))
