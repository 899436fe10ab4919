"""Kinds of indexes: their names, and which parameters each of them takes."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from lance_namespace import CreateTableIndexRequest

from lanceyard.errors import InvalidInputError
from lanceyard.namespace.content.index_kinds import (
    KINDS,
    IndexKind,
    find_kind,
    read_kind,
    sub_vectors,
)

GIVEN: dict[str, Any] = {
    "distance_type": "l2",
    "num_partitions": 1,
    "num_sub_vectors": 1,
    "num_bits": 8,
    "sample_rate": 1,
    "max_iterations": 1,
    "target_partition_size": 1,
    "m": 4,
    "ef_construction": 4,
    "with_position": False,
    "base_tokenizer": "raw",
    "language": "English",
    "max_token_length": 0,
    "lower_case": False,
    "stem": False,
    "remove_stop_words": False,
    "ascii_folding": False,
}
"""A value of each parameter; those that are false are given as well."""

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def request(**fields: Any) -> CreateTableIndexRequest:
    return CreateTableIndexRequest(column="c", index_type="any", **fields)


def test_every_parameter_of_a_request_belongs_to_a_kind() -> None:
    others = {"identity", "context", "id", "branch", "column", "index_type", "name"}
    assert GIVEN.keys() == CreateTableIndexRequest.model_fields.keys() - others
    assert GIVEN.keys() == {name for kind in KINDS for name in kind.parameters}


@each_kind
def test_a_parameter_that_would_have_no_effect_is_refused(kind: IndexKind) -> None:
    for name in GIVEN.keys() - kind.parameters:
        with pytest.raises(InvalidInputError, match=name):
            kind.options(request(**{name: GIVEN[name]}))


@each_kind
def test_a_parameter_that_has_an_effect_is_kept(kind: IndexKind) -> None:
    for name in kind.parameters:
        assert [*kind.options(request(**{name: GIVEN[name]})).values()] == [GIVEN[name]]


@each_kind
def test_nothing_is_given_that_a_request_does_not_give(kind: IndexKind) -> None:
    assert kind.options(request()) == {}


@each_kind
def test_a_kind_has_a_name_in_any_case_with_any_separators(kind: IndexKind) -> None:
    for name in (kind.name.lower(), kind.name.replace("_", "-"), kind.name.replace("_", "")):
        assert find_kind(name) is kind


def test_an_inverted_index_is_one_for_full_texts() -> None:
    assert find_kind("Inverted") is find_kind("fts")


@pytest.mark.parametrize("text", ["VECTOR", "IVF", "", "HASH"])
def test_another_kind_is_refused_with_the_names_of_all(text: str) -> None:
    with pytest.raises(InvalidInputError, match=r"Making.*BTREE, .*FTS, .*IVF_HNSW_SQ"):
        read_kind(text, KINDS, "Making")


@pytest.mark.parametrize(
    ("size", "count"), [(1536, 96), (16, 1), (24, 3), (8, 1), (12, 4), (6, 2), (7, 1)]
)
def test_vectors_are_cut_into_parts_of_sixteen_or_eight_or_a_few(size: int, count: int) -> None:
    assert sub_vectors(pa.list_(pa.float32(), size), None) == count


@pytest.mark.parametrize(("size", "count"), [(1536, 96), (16, 2), (24, 4), (8, 4), (6, 2)])
def test_vectors_are_cut_into_an_even_number_of_parts_of_four_bits(size: int, count: int) -> None:
    assert sub_vectors(pa.list_(pa.float32(), size), 4) == count


def test_lists_of_vectors_and_tensors_are_cut_like_vectors() -> None:
    assert sub_vectors(pa.list_(pa.list_(pa.float32(), 32)), None) == 2
    assert sub_vectors(pa.fixed_shape_tensor(pa.float32(), [32]), None) == 2
    assert sub_vectors(pa.string(), None) is None
