"""SeaweedFS: a real object store with an STS of its own, for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import obstore
from obstore.exceptions import BaseError
from obstore.store import S3Store

from tests.rest.seaweed import SeaweedFS

KEY, SECRET = "SERVERKEY", "a-secret-of-the-server"
ROLE = "arn:aws:iam::000000000000:role/Vended"
BUCKET = "lake"
ANYTHING = {"Effect": "Allow", "Action": "*", "Resource": "*"}
ASSUME = {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}


def policy(statement: object) -> dict[str, object]:
    return {"Version": "2012-10-17", "Statement": [statement]}


# The server has keys for everything; so has the role, which nobody gets without a session policy.
ACCESS = {
    "identities": [
        {
            "name": "server",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "List", "Tagging", "Write"],
        }
    ],
    "sts": {
        "tokenDuration": "1h",
        "maxSessionLength": "12h",
        "issuer": "seaweedfs-sts",
        "signingKey": "YSBrZXkgdGhhdCBpcyBvbmx5IGZvciB0ZXN0cywgMzI=",
    },
    "roles": [
        {
            "roleName": "Vended",
            "roleArn": ROLE,
            "trustPolicy": policy(ASSUME),
            "attachedPolicies": ["Everything"],
        }
    ],
    "policies": [{"name": "Everything", "document": policy(ANYTHING)}],
}


class GuardedStore(SeaweedFS):
    """One with keys, an STS and one bucket."""

    def __init__(self, folder: Path) -> None:
        """Start it, and wait until the bucket is there."""
        access = folder / "access.json"
        access.write_text(json.dumps(ACCESS))
        told = {"s3.config": str(access), "s3.iam.config": str(access), "volume.max": "20"}
        super().__init__(folder, told)

    def is_ready(self) -> bool:
        try:
            obstore.put(open_store(BUCKET, self.storage), "ready", b"")  # makes the bucket too
        except BaseError:
            return False
        return True

    @property
    def storage(self) -> dict[str, str]:
        """The storage options of the server."""
        return {
            "aws_access_key_id": KEY,
            "aws_secret_access_key": SECRET,
            "aws_endpoint": self.endpoint,
            "aws_region": "us-east-1",
            "allow_http": "true",
            "client_max_retries": "0",
        }

    @property
    def sts(self) -> dict[str, str]:
        """Settings of vending by its STS."""
        return {
            "kind": "sts",
            "role_arn": ROLE,
            "endpoint": self.endpoint,
            "region": "us-east-1",
            "access_key_id": KEY,
            "secret_access_key": SECRET,
        }


def open_store(bucket: str, options: Mapping[str, str], prefix: str | None = None) -> S3Store:
    """What lies in a bucket, or below a prefix of it, by what somebody was given."""
    token = {k: v for k, v in options.items() if k == "aws_session_token"}
    return S3Store(
        bucket,
        prefix=prefix,
        endpoint=options["aws_endpoint"],
        region=options["aws_region"],
        access_key_id=options["aws_access_key_id"],
        secret_access_key=options["aws_secret_access_key"],
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
        config=token,
    )
