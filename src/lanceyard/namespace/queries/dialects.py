"""Dialects: queries in plain dicts as clients send them, completed to what the models ask for.

What makes no sense is left as it is, for the models to refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lanceyard.errors import InvalidInputError
from lanceyard.namespace.queries.fulltext import CLAUSES, DEPTH, too_deep
from lanceyard.namespace.queries.rust_texts import read_rust_text


def complete_query(query: Any) -> Any:
    """A query in the form of its model.

    A vector may be a list, or a list of lists, or absent; columns may be a list or a map. Null
    means absent.
    """
    if not isinstance(query, Mapping):
        return query
    given = {name: value for name, value in query.items() if value is not None}
    given["vector"] = _complete_vector(given.get("vector", {}))
    if "columns" in given:
        given["columns"] = _complete_columns(given["columns"])
    if "full_text_query" in given:
        given["full_text_query"] = _complete_text(given["full_text_query"])
    return given


def _complete_vector(vector: Any) -> Any:
    if not isinstance(vector, list):
        return vector
    several = bool(vector) and isinstance(vector[0], list)
    return {"multi_vector" if several else "single_vector": vector}


def _complete_columns(columns: Any) -> Any:
    if isinstance(columns, list):
        return {"column_names": columns}
    # The values of a map of aliases are texts; those of the model are lists and maps of texts.
    if isinstance(columns, Mapping) and any(isinstance(each, str) for each in columns.values()):
        return {"column_aliases": columns}
    return columns


def _complete_text(given: Any) -> Any:
    """A full-text query: a text, or `{"query": …, "columns": …}` with a text or a structure."""
    if isinstance(given, str):
        return _complete_text({"query": given})
    if not isinstance(given, Mapping):
        return given
    for name in ("string_query", "structured_query"):
        if isinstance(given.get(name), Mapping):
            return {**given, **_complete_text(given[name])}
    query = given.get("query")
    structure = read_rust_text(query) if isinstance(query, str) else query
    if isinstance(structure, Mapping):
        return {"string_query": None, "structured_query": {"query": _complete(structure, DEPTH)}}
    return {"string_query": dict(given)} if "query" in given else given


def _complete(query: Any, depth: int) -> Any:
    """A structured query: clauses of a boolean may be absent, a multi-match may have one text."""
    if not isinstance(query, Mapping):
        return query
    if depth == 0:
        raise too_deep()
    forms = dict(query)
    if isinstance(boolean := forms.get("boolean"), Mapping):
        clauses = {name: _complete_all(boolean.get(name), depth - 1) for name in CLAUSES}
        forms["boolean"] = {**boolean, **clauses}
    if isinstance(boost := forms.get("boost"), Mapping):
        parts = {name: _complete(boost.get(name), depth - 1) for name in ("positive", "negative")}
        forms["boost"] = {**boost, **parts}
    if isinstance(several := forms.get("multi_match"), Mapping) and "query" in several:
        forms["multi_match"] = {"match_queries": _match_each_column(several)}
    return forms


def _complete_all(queries: Any, depth: int) -> Any:
    if queries is None:
        return []
    return [_complete(each, depth) for each in queries] if isinstance(queries, list) else queries


def _match_each_column(several: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The match queries of a multi-match as Lance itself writes it: one text for all columns."""
    columns, boosts = several.get("columns") or [None], several.get("boost")
    if not isinstance(columns, list) or not isinstance(boosts, list | None):
        raise InvalidInputError("columns and boost of multi_match are lists")
    boosts = boosts or [None] * len(columns)
    if len(boosts) != len(columns):
        raise InvalidInputError(f"multi_match has {len(columns)} columns and {len(boosts)} boosts")
    shared = {"terms": several["query"], "operator": several.get("operator")}
    return [
        {**shared, "column": column, "boost": boost}
        for column, boost in zip(columns, boosts, strict=True)
    ]
