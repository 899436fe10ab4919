"""S3: what all servers have in common that speak it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from obstore.store import S3Store

from tests.cloud.servers.server import BUCKET, Server
from tests.rest.vending.seaweed import KEY, SECRET

REGION = "us-east-1"


class S3Server(Server):
    """A server that speaks S3."""

    scheme = "s3"
    who = "access_key_id"
    secret = "secret_access_key"
    no_bucket = "NoSuchBucket"
    key: ClassVar[str] = KEY
    secret_key: ClassVar[str] = SECRET

    def options(self, address: str | None = None) -> dict[str, str]:
        return {
            "access_key_id": self.key,
            "secret_access_key": self.secret_key,
            "endpoint": address or self.address,
            "region": REGION,
        }

    def environment(self, address: str | None = None) -> Mapping[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_ENDPOINT": address or self.address,
            "AWS_REGION": REGION,
            "AWS_ALLOW_HTTP": "true",
        }

    def objects(self) -> S3Store:
        return S3Store(BUCKET, config=self.options(), client_options={"allow_http": True})
