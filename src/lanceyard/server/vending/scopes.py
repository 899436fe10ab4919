"""Scopes: the part of a bucket that belongs to one table, and the policy that ends there."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Self

from lanceyard.errors import InvalidInputError

SCHEME = "s3://"
BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
READING = ("s3:GetObject",)
WRITING = (
    "s3:PutObject",
    "s3:DeleteObject",
    "s3:AbortMultipartUpload",
    "s3:ListMultipartUploadParts",
)
LONGEST_POLICY = 2_048
"""Characters that AWS takes."""
# Policies read * and ? as patterns and ${ as a variable, and not every object store knows how AWS
# escapes them. Lance reads %, ? and # in a location as parts of a URI, so it opens another place.
UNCLEAR = re.compile(r"[*?#%\\\x00-\x1f\x7f]|\$\{|(^|/)\.{0,2}(/|$)")


@dataclass(frozen=True)
class Scope:
    """All objects of a bucket whose keys begin with a prefix, which ends with a slash."""

    bucket: str
    prefix: str

    @classmethod
    def of(cls, location: str) -> Self:
        """The scope of a table at a location on S3.

        Raises `InvalidInputError` if a policy could not be held to it: it has no prefix at all, or
        characters that mean something in a policy or in a URI.
        """
        bucket, _, key = location.removeprefix(SCHEME).partition("/")
        key = key.rstrip("/")
        if not BUCKET.fullmatch(bucket) or UNCLEAR.search(key):
            raise InvalidInputError(
                f"credentials cannot be limited to {location!r}: the key of a table is not empty "
                "and has none of * ? # % \\ ${ in it"
            )
        return cls(bucket, f"{key}/")

    def policy(self, *, write: bool, partition: str = "aws") -> str:
        """The session policy, as JSON, that allows to read the scope, or also to write it.

        Raises `InvalidInputError` if it is longer than AWS takes.
        """
        bucket = f"arn:{partition}:s3:::{self.bucket}"
        inside = f"{self.prefix}*"
        objects = {
            "Effect": "Allow",
            "Action": [*READING, *(WRITING if write else ())],
            "Resource": f"{bucket}/{inside}",
        }
        names = {
            "Effect": "Allow",
            "Action": "s3:ListBucket",
            "Resource": bucket,
            "Condition": {"StringLike": {"s3:prefix": inside}},
        }
        policy = {"Version": "2012-10-17", "Statement": [objects, names]}
        text = json.dumps(policy, separators=(",", ":"))  # AWS takes no characters beyond Latin-1
        if len(text) > LONGEST_POLICY:
            raise InvalidInputError(
                f"credentials cannot be limited to {SCHEME}{self.bucket}/{self.prefix}: "
                f"its policy is longer than {LONGEST_POLICY:,} characters"
            )
        return text
