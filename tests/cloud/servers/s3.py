"""S3: what all servers have in common that speak it."""

from __future__ import annotations

from collections.abc import Mapping

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

    def options(self, address: str | None = None) -> dict[str, str]:
        return {
            "access_key_id": KEY,
            "secret_access_key": SECRET,
            "endpoint": address or self.address,
            "region": REGION,
        }

    def environment(self, address: str | None = None) -> Mapping[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT": address or self.address,
            "AWS_REGION": REGION,
            "AWS_ALLOW_HTTP": "true",
        }

    def objects(self) -> S3Store:
        return S3Store(BUCKET, config=self.options(), client_options={"allow_http": True})
