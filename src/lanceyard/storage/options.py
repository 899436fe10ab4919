"""Options of object stores: Lance's names, sorted by which of two libraries understands them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, NamedTuple

# obstore panics when it meets these inside its `config`: they belong to the HTTP client.
CLIENT_OPTIONS = {
    "allow_http": "allow_http",
    "allow_invalid_certificates": "allow_invalid_certificates",
    "aws_allow_http": "allow_http",
    "connect_timeout": "connect_timeout",
    "proxy_url": "proxy_url",
    "timeout": "timeout",
    "user_agent": "user_agent",
}
# Options that only Lance knows; obstore refuses them.
LANCE_OPTIONS = frozenset(
    {
        "client_max_retries",
        "client_retry_timeout",
        "download_retry_count",
        "expires_at_millis",
        "google_storage_token",
        "refresh_offset_millis",
    }
)
ENDPOINTS = ("endpoint", "endpoint_url", "endpoint_url_s3")
PROVIDERS = ("AWS", "AZURE", "AZURE_STORAGE", "GOOGLE")

# A catalog's own files are small. A store that is silent for this long is down, and whoever waits
# for an answer about a name should hear of it.
PATIENCE = {"timeout": "6s", "connect_timeout": "3s"}
# Deleting a thousand files by one request, or copying a large one, is another matter.
LONG_PATIENCE = {"timeout": "120s"}
RETRY = {"max_retries": 3, "retry_timeout": timedelta(seconds=5)}
LANCE_RETRY = {"client_max_retries": "3", "client_retry_timeout": "5"}


class Sorted(NamedTuple):
    """Options as obstore takes them."""

    config: dict[str, str]
    client: dict[str, Any]


def for_obstore(options: Mapping[str, str]) -> Sorted:
    """What obstore is told of options by Lance's names."""
    client = {CLIENT_OPTIONS[k]: _value(v) for k, v in options.items() if k in CLIENT_OPTIONS}
    others = CLIENT_OPTIONS.keys() | LANCE_OPTIONS
    return Sorted({k: v for k, v in options.items() if k not in others}, {**PATIENCE, **client})


def impatient(options: Mapping[str, str]) -> dict[str, str]:
    """Options with which pylance gives a silent store up as soon as we do."""
    return {**PATIENCE, **LANCE_RETRY, **options}


def with_plain_http(options: Mapping[str, str]) -> dict[str, str]:
    """Allow plain HTTP where the endpoint asks for it; Lance fails without, after retries."""
    plain = any(endpoint.lower().startswith("http://") for endpoint in _endpoints(options))
    said = any(k in options for k in ("allow_http", "aws_allow_http"))
    return {**({"allow_http": "true"} if plain and not said else {}), **options}


def _endpoints(options: Mapping[str, str]) -> Iterator[str]:
    """The endpoints that options name or, if they name none, the environment."""
    named = [value for key, value in options.items() if key.endswith(ENDPOINTS)]
    yield from named
    for provider in () if named else PROVIDERS:
        for kind in ENDPOINTS:
            yield os.environ.get(f"{provider}_{kind.upper()}", "")


def _value(text: str) -> str | bool:
    return {"true": True, "false": False}.get(text.lower(), text)
