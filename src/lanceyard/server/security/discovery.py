"""Discovery: the keys of an issuer, fetched as OpenID Connect says."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

import urllib3

from lanceyard.server.security.settings import Issuer, is_trustworthy
from lanceyard.server.security.verification import VerificationKey, read_keys

CONFIGURATION = "/.well-known/openid-configuration"
TIMEOUT = urllib3.Timeout(connect=3.0, read=3.0)
PATIENCE = 10.0
"""Seconds that a document may take, however slowly it drips in."""
LIMIT = 512 * 1024
"""Bytes that a document may have."""

FAILURES = (urllib3.exceptions.HTTPError, OSError, ValueError, RecursionError)
"""What `fetch_keys` fails with."""


def fetch_keys(issuer: Issuer) -> tuple[VerificationKey, ...]:
    """The keys that an issuer signs with now. Raises one of `FAILURES`."""
    authorities = None if issuer.ca_file is None else str(issuer.ca_file)
    with urllib3.PoolManager(cert_reqs="CERT_REQUIRED", ca_certs=authorities) as pool:
        configuration = _fetch(pool, issuer.issuer.rstrip("/") + CONFIGURATION)
        return read_keys(_fetch(pool, _place_of_keys(issuer, configuration)))


def _place_of_keys(issuer: Issuer, configuration: Any) -> str:
    if not isinstance(configuration, Mapping):
        raise ValueError("its configuration is no JSON object")  # noqa: TRY004 - what was said
    if configuration.get("issuer") != issuer.issuer:
        raise ValueError("its configuration is that of another issuer")
    place = configuration.get("jwks_uri")
    if not isinstance(place, str) or not is_trustworthy(place):
        raise ValueError("the address of its keys is not https")
    return place


def _fetch(pool: urllib3.PoolManager, address: str) -> Any:
    """A JSON document. Redirects are not followed: they could lead to an address without TLS."""
    end = time.monotonic() + PATIENCE
    response = pool.request(
        "GET", address, timeout=TIMEOUT, retries=False, redirect=False, preload_content=False
    )
    try:
        if response.status != 200:  # noqa: PLR2004
            raise ValueError(f"{address} answered with status {response.status}")
        content = b""
        while part := response.read1(LIMIT, decode_content=False):
            content += part
            if len(content) > LIMIT or time.monotonic() > end:
                raise ValueError(f"{address} sends too much, or too slowly")
        return json.loads(content)
    finally:
        response.close()
