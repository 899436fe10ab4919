"""Full-text queries: from the forms that requests give them to those of Lance."""

from __future__ import annotations

from enum import Enum
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from lance_namespace_urllib3_client.models.boolean_query import BooleanQuery
from lance_namespace_urllib3_client.models.boost_query import BoostQuery
from lance_namespace_urllib3_client.models.fts_query import FtsQuery
from lance_namespace_urllib3_client.models.match_query import MatchQuery
from lance_namespace_urllib3_client.models.multi_match_query import MultiMatchQuery
from lance_namespace_urllib3_client.models.phrase_query import PhraseQuery
from lance_namespace_urllib3_client.models.query_table_request_full_text_query import (
    QueryTableRequestFullTextQuery,
)

from lanceyard.errors import InvalidInputError
from lanceyard.namespace.requests import read_choice

if TYPE_CHECKING:
    from lance import LanceDataset
    from lance.query import FullTextOperator, FullTextQuery

FORMS = ("match", "phrase", "boost", "multi_match", "boolean")
CLAUSES = ("must", "should", "must_not")
DEPTH = 32
"""How deep queries may be nested: Lance overflows its stack at some hundreds."""


class TermOperator(Enum):
    """How many terms of a match query a text must have."""

    AND = "and"
    OR = "or"


def read_text_query(
    given: QueryTableRequestFullTextQuery, dataset: LanceDataset
) -> FullTextQuery | dict[str, Any]:
    """What a scan of a table takes as its full-text query.

    A query that names no columns searches all that have a full-text index. Inside a structured
    query, what is absent or null has the default of pylance: boosts of 1, a negative boost of 0.5,
    50 expansions, and no fuzziness. (Pylance documents a fuzziness of `None` as one that depends on
    the lengths of terms, but takes it for 0; so does the reference.)
    """
    if (given.string_query is None) == (given.structured_query is None):
        raise InvalidInputError("full_text_query has a string_query or a structured_query")
    if given.structured_query is not None:
        _check_depth(given.structured_query.query)
        return _Translation(dataset).query(given.structured_query.query)
    assert given.string_query
    return {"query": given.string_query.query, "columns": given.string_query.columns or None}


def too_deep() -> InvalidInputError:
    """The error for queries inside queries inside queries."""
    return InvalidInputError(f"full-text queries may be nested {DEPTH} deep")


def _check_depth(query: FtsQuery) -> None:
    level = [query]
    for _ in range(DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
    if level:
        raise too_deep()


def _inside(query: FtsQuery) -> list[FtsQuery]:
    """The queries of which another one is made."""
    boost = [query.boost.positive, query.boost.negative] if query.boost else []
    clauses = [getattr(query.boolean, clause) for clause in CLAUSES] if query.boolean else []
    return [*boost, *chain.from_iterable(clauses)]


class _Translation:
    """Structured queries of one table, as Lance has them."""

    def __init__(self, dataset: LanceDataset) -> None:
        self._dataset = dataset

    def query(self, query: FtsQuery) -> FullTextQuery:
        given = [form for form in FORMS if getattr(query, form) is not None]
        if len(given) != 1:
            found = " and ".join(given) or "none"
            raise InvalidInputError(f"a full-text query is one of {', '.join(FORMS)}, not {found}")
        translated: FullTextQuery = getattr(self, f"_{given[0]}")(getattr(query, given[0]))
        return translated

    def _match(self, query: MatchQuery) -> FullTextQuery:
        return _any_match([(column, query) for column in self._columns(query)])

    def _multi_match(self, query: MultiMatchQuery) -> FullTextQuery:
        if not query.match_queries:
            raise InvalidInputError("multi_match needs at least one match query")
        return _any_match(
            [(column, each) for each in query.match_queries for column in self._columns(each)]
        )

    def _phrase(self, query: PhraseQuery) -> FullTextQuery:
        from lance.query import PhraseQuery as LancePhrase

        slop = query.slop or 0
        return _any([LancePhrase(query.terms, each, slop=slop) for each in self._columns(query)])

    def _boost(self, query: BoostQuery) -> FullTextQuery:
        from lance.query import BoostQuery as LanceBoost

        factor = 0.5 if query.negative_boost is None else query.negative_boost
        positive, negative = self.query(query.positive), self.query(query.negative)
        return LanceBoost(positive, negative, negative_boost=factor)

    def _boolean(self, query: BooleanQuery) -> FullTextQuery:
        from lance.query import BooleanQuery as LanceBoolean
        from lance.query import Occur

        clauses = [
            (Occur[clause.upper()], self.query(each))
            for clause in CLAUSES
            for each in getattr(query, clause)
        ]
        return LanceBoolean(clauses)

    def _columns(self, query: MatchQuery | PhraseQuery) -> list[str]:
        return self._indexed if query.column is None else [query.column]

    @cached_property
    def _indexed(self) -> list[str]:
        """The columns with a full-text index."""
        indexes = self._dataset.describe_indices()
        texts = [each for each in indexes if each.index_type == "Inverted"]
        columns = {name for each in texts for name in each.field_names}
        if not columns:
            raise InvalidInputError(
                "no column has a full-text index: name the column to search, or create one"
            )
        return sorted(columns)


def _any_match(matches: list[tuple[str, MatchQuery]]) -> FullTextQuery:
    """Rows of which at least one column matches its query.

    The score is that of the best column. Where Lance has no such query, because terms or operators
    differ or it is fuzzy, it is the sum: the same rows, in another order.
    """
    from lance.query import MultiMatchQuery as LanceMultiMatch

    same = {(query.terms, _operator(query)) for _, query in matches}
    if len(matches) == 1 or len(same) > 1 or any(query.fuzziness for _, query in matches):
        return _any([_lance_match(column, query) for column, query in matches])
    ((terms, operator),) = same
    boosts = [_weight(query) for _, query in matches]
    return LanceMultiMatch(
        terms, [column for column, _ in matches], boosts=boosts, operator=operator
    )


def _lance_match(column: str, query: MatchQuery) -> FullTextQuery:
    from lance.query import MatchQuery as LanceMatch

    return LanceMatch(
        query.terms,
        column,
        boost=_weight(query),
        fuzziness=query.fuzziness or 0,
        max_expansions=50 if query.max_expansions is None else query.max_expansions,
        operator=_operator(query),
        prefix_length=query.prefix_length or 0,
    )


def _any(queries: list[FullTextQuery]) -> FullTextQuery:
    from lance.query import BooleanQuery as LanceBoolean
    from lance.query import Occur

    if len(queries) == 1:
        return queries[0]
    return LanceBoolean([(Occur.SHOULD, each) for each in queries])


def _operator(query: MatchQuery) -> FullTextOperator:
    from lance.query import FullTextOperator

    return FullTextOperator[read_choice(TermOperator, query.operator, TermOperator.OR).name]


def _weight(query: MatchQuery) -> float:
    return 1.0 if query.boost is None else float(query.boost)
