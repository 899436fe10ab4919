"""Full-text queries: texts, and structures of match, phrase, boost, multi-match and boolean."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance.query import BooleanQuery, BoostQuery, MatchQuery, MultiMatchQuery, Occur, PhraseQuery
from lance_namespace.errors import ErrorCode, InvalidInputError

from .books import COUNT, books, ids, index_texts, names, shelve, structure, words
from .kit import Catalog, applies, refused, stream

ours = applies(extensions=True)
pytestmark = applies(mode="v2", managed=False)


@pytest.fixture
def library(catalog: Catalog) -> list[str]:
    """Twelve books, of which titles and texts are indexed, texts with positions."""
    shelve(catalog)
    index_texts(catalog, ["books"], "title")
    index_texts(catalog, ["books"], "text", with_position=True)
    return ["books"]


def search(catalog: Catalog, query: dict[str, Any], **fields: Any) -> pa.Table:
    """The numbers of the books that match, with their scores."""
    wanted = {"columns": names("id"), "k": COUNT, **fields}
    return catalog.query(["books"], full_text_query=query, **wanted)


def expected(catalog: Catalog, query: Any, **scan: Any) -> pa.Table:
    """The same from pylance itself."""
    wanted = {"columns": ["id", "_score"], "limit": COUNT, **scan}
    return catalog.open(["books"]).to_table(full_text_query=query, **wanted)


def ranking(found: pa.Table) -> list[tuple[object, object]]:
    """Scores and numbers, best first; Lance leaves it open which of two equals is first."""
    rows = zip(found["_score"].to_pylist(), found["id"].to_pylist(), strict=True)
    return sorted(rows, key=lambda row: (-row[0], row[1]))


def match(terms: str, column: str | None = None, **parameters: Any) -> dict[str, Any]:
    """A match query inside a structure."""
    return {"match": {"terms": terms, "column": column, **parameters}}


@pytest.mark.usefixtures("library")
def test_a_text_is_searched_in_all_indexed_columns(catalog: Catalog) -> None:
    found = search(catalog, words("cat"))
    assert set(ids(found)) == set(range(COUNT))
    assert ranking(found) == ranking(expected(catalog, "cat"))


@pytest.mark.usefixtures("library")
def test_a_text_is_searched_in_the_columns_that_are_named(catalog: Catalog) -> None:
    assert set(ids(search(catalog, words("cat", "title")))) == {0, 4, 8}
    assert len(search(catalog, words("cat", "title", "text"))) == COUNT


@pytest.mark.usefixtures("library")
def test_a_text_is_searched_with_offset_and_limit(catalog: Catalog) -> None:
    everything = ids(search(catalog, words("dog", "text")))
    assert ids(search(catalog, words("dog", "text"), k=2, offset=3)) == everything[3:5]


@pytest.mark.usefixtures("library")
def test_a_filter_leaves_some_of_the_matches(catalog: Catalog) -> None:
    """It is applied to what was found, as pylance and the reference do without `prefilter`."""
    wanted = {"filter": "id > 6", "k": 3}
    best = ids(search(catalog, words("dog", "text"), k=3))
    assert ids(search(catalog, words("dog", "text"), **wanted)) == [i for i in best if i > 6]
    assert len(search(catalog, words("dog", "text"), **wanted, prefilter=True)) == 3


STRUCTURES: dict[str, tuple[dict[str, Any], Any]] = {
    "match": (match("dog", "text"), MatchQuery("dog", "text")),
    "boosted match": (match("dog", "text", boost=3), MatchQuery("dog", "text", boost=3.0)),
    "phrase": (
        {"phrase": {"terms": "cat dog", "column": "text"}},
        PhraseQuery("cat dog", "text"),
    ),
    "phrase with gaps": (
        {"phrase": {"terms": "cat end", "column": "text", "slop": 2}},
        PhraseQuery("cat end", "text", slop=2),
    ),
    "boost": (
        {"boost": {"positive": match("cat", "text"), "negative": match("dog", "text")}},
        BoostQuery(MatchQuery("cat", "text"), MatchQuery("dog", "text")),
    ),
    "boost by a factor": (
        {
            "boost": {
                "positive": match("cat", "text"),
                "negative": match("dog", "text"),
                "negative_boost": 0.1,
            }
        },
        BoostQuery(MatchQuery("cat", "text"), MatchQuery("dog", "text"), negative_boost=0.1),
    ),
    "multi-match": (
        {
            "multi_match": {
                "match_queries": [
                    {"terms": "cat", "column": "title", "boost": 2},
                    {"terms": "cat", "column": "text"},
                ]
            }
        },
        MultiMatchQuery("cat", ["title", "text"], boosts=[2.0, 1.0]),
    ),
    "boolean": (
        {
            "boolean": {
                "must": [match("cat", "text")],
                "should": [match("cat", "title"), match("end", "text")],
                "must_not": [match("dog dog", "text", operator="And")],
            }
        },
        BooleanQuery(
            [
                (Occur.MUST, MatchQuery("cat", "text")),
                (Occur.SHOULD, MatchQuery("cat", "title")),
                (Occur.SHOULD, MatchQuery("end", "text")),
                (Occur.MUST_NOT, MatchQuery("dog", "text")),
            ]
        ),
    ),
    "nested": (
        {
            "boolean": {
                "must": [
                    {
                        "boolean": {
                            "must": [],
                            "should": [match("cat", "text"), match("cat", "title")],
                            "must_not": [],
                        }
                    }
                ],
                "should": [],
                "must_not": [{"phrase": {"terms": "cat dog", "column": "text"}}],
            }
        },
        BooleanQuery(
            [
                (
                    Occur.MUST,
                    BooleanQuery(
                        [
                            (Occur.SHOULD, MatchQuery("cat", "text")),
                            (Occur.SHOULD, MatchQuery("cat", "title")),
                        ]
                    ),
                ),
                (Occur.MUST_NOT, PhraseQuery("cat dog", "text")),
            ]
        ),
    ),
}


@pytest.mark.parametrize("form", STRUCTURES)
@pytest.mark.usefixtures("library")
def test_a_structure_finds_what_pylance_finds(catalog: Catalog, form: str) -> None:
    query, same = STRUCTURES[form]
    found = search(catalog, structure(**query))
    assert ranking(found) == ranking(expected(catalog, same))
    assert 0 < len(found) < COUNT or form == "multi-match"


@pytest.mark.parametrize("name", ["and", "And", "AND"])
@pytest.mark.usefixtures("library")
def test_all_terms_must_match_with_the_operator_and(catalog: Catalog, name: str) -> None:
    both = {i for i in range(COUNT) if i % 4 and i % 3}
    assert set(ids(search(catalog, structure(**match("cat dog", "text", operator=name))))) == both


@pytest.mark.parametrize("name", ["or", "Or", None])
@pytest.mark.usefixtures("library")
def test_one_term_must_match_with_the_operator_or(catalog: Catalog, name: str | None) -> None:
    either = {i for i in range(COUNT) if i % 4 or i % 3}
    assert set(ids(search(catalog, structure(**match("cat dog", "text", operator=name))))) == either


@pytest.mark.parametrize(
    ("parameters", "found"),
    [
        ({}, 0),
        ({"fuzziness": None}, 0),
        ({"fuzziness": 1}, 9),
        ({"fuzziness": 1, "prefix_length": 1}, 9),
        ({"fuzziness": 1, "prefix_length": 2}, 0),
        ({"fuzziness": 1, "max_expansions": 1}, 9),
    ],
    ids=str,
)
@pytest.mark.usefixtures("library")
def test_a_match_is_exact_unless_it_is_to_be_fuzzy(
    catalog: Catalog, parameters: dict[str, Any], found: int
) -> None:
    assert len(search(catalog, structure(**match("cut", "text", **parameters)))) == found


@pytest.mark.usefixtures("library")
def test_a_match_without_a_column_searches_all_indexed_columns(catalog: Catalog) -> None:
    found = search(catalog, structure(**match("cat", boost=2)))
    same = MultiMatchQuery("cat", ["text", "title"], boosts=[2.0, 2.0])
    assert ranking(found) == ranking(expected(catalog, same))


@ours
@pytest.mark.usefixtures("library")
def test_a_fuzzy_match_without_a_column_searches_all_indexed_columns(catalog: Catalog) -> None:
    assert len(search(catalog, structure(**match("cut", fuzziness=1)))) == COUNT


@ours
def test_a_phrase_without_a_column_searches_all_indexed_columns(catalog: Catalog) -> None:
    shelve(catalog)
    index_texts(catalog, ["books"], "title", "text", "place.shelf", with_position=True)
    found = search(catalog, structure(phrase={"terms": "story4 cat"}))
    assert ids(found) == [4]
    assert ids(search(catalog, structure(phrase={"terms": "s5"}))) == [5]


@pytest.mark.usefixtures("library")
def test_a_multi_match_may_look_for_different_terms(catalog: Catalog) -> None:
    matches = [{"terms": "cat", "column": "title"}, {"terms": "dog", "column": "text"}]
    found = search(catalog, structure(multi_match={"match_queries": matches}))
    assert set(ids(found)) == {i for i in range(COUNT) if i % 4 == 0 or i % 3}


@pytest.mark.usefixtures("library")
def test_a_multi_match_may_have_different_operators(catalog: Catalog) -> None:
    matches = [
        {"terms": "cat dog", "column": "title"},
        {"terms": "cat dog", "column": "text", "operator": "And"},
    ]
    found = search(catalog, structure(multi_match={"match_queries": matches}))
    assert set(ids(found)) == {i for i in range(COUNT) if i % 4 == 0 or (i % 4 and i % 3)}


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ({}, ErrorCode.INVALID_INPUT),
        ({**words("cat"), **structure(**match("cat"))}, ErrorCode.INVALID_INPUT),
        (structure(), ErrorCode.INVALID_INPUT),
        (structure(**match("cat"), phrase={"terms": "cat"}), ErrorCode.INVALID_INPUT),
        (structure(**match("cat", operator="xor")), ErrorCode.INVALID_INPUT),
        (structure(**match("cat", "text", boost=-1)), ErrorCode.INVALID_INPUT),
        (structure(**match("cat", "text", fuzziness=2**40)), ErrorCode.INVALID_INPUT),
        (structure(multi_match={"match_queries": []}), ErrorCode.INVALID_INPUT),
        (structure(boolean={"must": [], "should": [], "must_not": []}), ErrorCode.INVALID_INPUT),
        (structure(**match("cat", "missing")), ErrorCode.TABLE_COLUMN_NOT_FOUND),
        (structure(**match("cat", "id")), ErrorCode.INVALID_INPUT),
        (words("cat", "missing"), ErrorCode.TABLE_COLUMN_NOT_FOUND),
    ],
    ids=str,
)
@pytest.mark.usefixtures("library")
def test_a_mistake_in_a_full_text_query_is_refused(
    catalog: Catalog, query: dict[str, Any], code: ErrorCode
) -> None:
    with refused(code):
        search(catalog, query)


def nested(query: dict[str, Any], levels: int) -> dict[str, Any]:
    """A query inside as many others."""
    for _ in range(levels):
        query = {"boolean": {"must": [query], "should": [], "must_not": []}}
    return query


@ours
@pytest.mark.usefixtures("library")
def test_queries_may_be_nested_but_not_without_end(catalog: Catalog) -> None:
    """Lance would overflow its stack, and end the process."""
    assert len(search(catalog, structure(**nested(match("dog", "text"), 31)))) == 8
    with refused(ErrorCode.INVALID_INPUT):
        search(catalog, structure(**nested(match("dog", "text"), 32)))
    with refused(ErrorCode.INVALID_INPUT):
        deep = {"query": nested(match("dog"), 5000)}
        catalog.plain.query_table({"id": ["books"], "k": 1, "full_text_query": deep})


@ours
@pytest.mark.usefixtures("library")
def test_a_phrase_needs_an_index_with_positions(catalog: Catalog) -> None:
    with pytest.raises(InvalidInputError, match="try recreating the index with position"):
        search(catalog, structure(phrase={"terms": "story4 cat", "column": "title"}))


@pytest.mark.parametrize(
    "query",
    [words("cat"), structure(**match("cat")), structure(phrase={"terms": "cat dog"})],
    ids=str,
)
def test_without_an_index_a_query_must_name_a_column(
    catalog: Catalog, query: dict[str, Any]
) -> None:
    shelve(catalog)
    with refused(ErrorCode.INVALID_INPUT):
        search(catalog, query)
    assert len(search(catalog, structure(**match("dog", "text")))) == 8


def test_a_fast_search_sees_only_what_is_indexed(catalog: Catalog, library: list[str]) -> None:
    catalog.do("insert_into_table", library, stream(books(COUNT + 1)))
    assert len(search(catalog, words("dog", "text"), k=99)) == 9
    assert len(search(catalog, words("dog", "text"), k=99, fast_search=True)) == 8


@ours
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("dog", 8),
        ({"query": "dog", "columns": ["text"]}, 8),
        ({"query": "dog", "columns": None}, 8),
        ({"string_query": {"query": "dog", "columns": []}, "structured_query": None}, 8),
        ({"query": match("dog", "text", operator=None)}, 8),
        ({"query": {"boolean": {"must": [match("dog")], "should": None}}}, 8),
        ({"structured_query": {"query": {"boolean": {"should": [match("dog")]}}}}, 8),
        ({"query": {"boost": {"positive": match("dog"), "negative": match("cat")}}}, 8),
        ({"query": {"multi_match": {"query": "dog", "columns": ["text", "title"]}}}, 8),
        ({"query": {"multi_match": {"query": "dog", "columns": ["text"], "boost": [2.0]}}}, 8),
    ],
    ids=str,
)
def test_a_plain_dict_may_have_the_query_as_clients_send_it(
    catalog: Catalog, library: list[str], query: Any, found: int
) -> None:
    answer = catalog.plain.query_table({"id": library, "k": 99, "full_text_query": query})
    assert len(pa.ipc.open_file(answer.data).read_all()) == found


@ours
@pytest.mark.parametrize(
    "query",
    [
        5,
        {},
        {"query": 5},
        {"query": {"match": 5}},
        {"query": {"boolean": {"must": 5}}},
        {"query": {"boolean": {"must": [5]}}},
        {"query": {"boost": {"positive": match("dog")}}},
        {"query": {"multi_match": {"query": "dog", "columns": 5}}},
        {"query": {"multi_match": {"query": "dog", "columns": ["text"], "boost": [1, 2]}}},
        {"query": {"multi_match": {"query": 5, "columns": ["text"], "boost": 1}}},
    ],
    ids=str,
)
def test_a_plain_dict_that_makes_no_sense_is_refused(
    catalog: Catalog, library: list[str], query: Any
) -> None:
    with refused(ErrorCode.INVALID_INPUT):
        catalog.plain.query_table({"id": library, "k": 1, "full_text_query": query})


DEFAULTS = "boost: 1.0, fuzziness: Some(0), max_expansions: 50, operator: Or, prefix_length: 0"
DOG = f'MatchQuery {{ column: Some("text"), terms: "dog", {DEFAULTS} }}'


@ours
@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"Match({DOG})", 8),
        (f'Match(MatchQuery {{ column: None, terms: "\\"dog\\"\\n", {DEFAULTS} }})', 8),
        ('Phrase(PhraseQuery { column: Some("text"), terms: "cat dog", slop: 0 })', 6),
        (f"MultiMatch(MultiMatchQuery {{ match_queries: [{DOG}, {DOG}] }})", 8),
        (f"Boolean(must=[Match({DOG})], should=[], must_not=[])", 8),
        (f"Boosting(positive=Match({DOG}), negative=Match({DOG}), negative_boost=0.5)", 8),
        ("Match(MatchQuery { dog", 8),
        ("Boolean(must=[[[ dog", 8),
    ],
)
def test_a_query_that_lancedb_sends_as_a_text_of_rust_is_understood(
    catalog: Catalog, library: list[str], text: str, found: int
) -> None:
    query = {"string_query": {"query": text, "columns": ["text"]}}
    answer = catalog.plain.query_table({"id": library, "k": 99, "full_text_query": query})
    assert len(pa.ipc.open_file(answer.data).read_all()) == found
