"""What the credentials of a table reach."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from lanceyard.errors import InvalidInputError
from lanceyard.server.vending.scopes import LONGEST_POLICY, Scope

KEYS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=8), min_size=1).map(
    "/".join
)


def policy(location: str, **how: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is said of objects, and of their names."""
    objects, names = json.loads(Scope.of(location).policy(**{"write": False, **how}))["Statement"]
    return objects, names


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern of a policy means a text."""
    parts = {"*": ".*", "?": "."}
    return bool(re.fullmatch("".join(parts.get(c, re.escape(c)) for c in pattern), text, re.DOTALL))


def test_a_reader_gets_and_lists() -> None:
    objects, names = policy("s3://lake/root/t.lance")
    assert objects["Action"] == ["s3:GetObject"]
    assert objects["Resource"] == "arn:aws:s3:::lake/root/t.lance/*"
    assert (names["Action"], names["Resource"]) == ("s3:ListBucket", "arn:aws:s3:::lake")
    assert names["Condition"] == {"StringLike": {"s3:prefix": "root/t.lance/*"}}


def test_a_writer_also_puts_and_deletes() -> None:
    objects, _ = policy("s3://lake/t", write=True)
    assert {"s3:GetObject", "s3:PutObject", "s3:DeleteObject"} < {*objects["Action"]}
    assert {"s3:AbortMultipartUpload", "s3:ListMultipartUploadParts"} < {*objects["Action"]}


def test_the_partition_of_the_role_is_that_of_the_bucket() -> None:
    objects, names = policy("s3://lake/t", partition="aws-cn")
    assert objects["Resource"] == "arn:aws-cn:s3:::lake/t/*"
    assert names["Resource"] == "arn:aws-cn:s3:::lake"


@given(KEYS, KEYS)
def test_no_table_reaches_another(mine: str, other: str) -> None:
    try:
        objects, names = policy(f"s3://lake/{mine}")
    except InvalidInputError:
        assume(False)
    is_inside = f"{other}/x".startswith(mine.rstrip("/") + "/")
    assert matches(objects["Resource"], f"arn:aws:s3:::lake/{other}/x") == is_inside
    assert matches(names["Condition"]["StringLike"]["s3:prefix"], f"{other}/") == is_inside


@given(KEYS)
def test_a_policy_has_one_pattern_and_no_variable(key: str) -> None:
    try:
        text = Scope.of(f"s3://lake/{key}").policy(write=True)
    except InvalidInputError:
        assume(False)
    assert text.isascii()
    resource = json.loads(text)["Statement"][0]["Resource"]
    assert re.findall(r"[*?]|\$\{", resource) == ["*"]
    assert resource.endswith("/*")


def test_a_table_does_not_reach_one_whose_name_begins_alike() -> None:
    objects, names = policy("s3://lake/t1/")
    assert matches(objects["Resource"], "arn:aws:s3:::lake/t1/data/x")
    assert not matches(objects["Resource"], "arn:aws:s3:::lake/t10/data/x")
    assert not matches(names["Condition"]["StringLike"]["s3:prefix"], "t10/")


@pytest.mark.parametrize(
    "location",
    [
        *("s3://lake", "s3://lake/", "s3://lake//", "s3:///t", "s3://la*ke/t", "s3://${x}/t"),
        *("s3://lake/*", "s3://lake/t?", "s3://lake/a$*", "s3://lake/a${aws:username}"),
        *("s3://lake/a%2Fb", "s3://lake/a#b", "s3://lake/a\\b", "s3://lake/a\nb"),
        *("s3://lake/a/../b", "s3://lake/./a", "s3://lake/a//b", "s3://lake/.."),
    ],
)
def test_a_location_that_a_policy_could_misread_is_refused(location: str) -> None:
    with pytest.raises(InvalidInputError, match="cannot be limited"):
        Scope.of(location)


def test_a_policy_that_aws_would_not_take_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=f"{LONGEST_POLICY:,}"):
        Scope.of("s3://lake/" + "日" * 300).policy(write=True)
