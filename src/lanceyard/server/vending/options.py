"""Storage options, and which of them everybody may know."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

EXPIRES = "expires_at_millis"
"""When the credentials among the options end; clients that know it ask again in time."""
ADDRESSES = frozenset(
    {
        "authority_host",
        "aws_endpoint",
        "aws_endpoint_url",
        "aws_endpoint_url_s3",
        "azure_authority_host",
        "azure_endpoint",
        "azure_storage_authority_host",
        "azure_storage_endpoint",
        "base_url",
        "endpoint",
        "endpoint_url",
        "google_base_url",
    }
)
"""Options that are addresses; a password or a signature in one makes it a secret."""
_S3 = (
    "allow_http",
    "checksum_algorithm",
    "conditional_put",
    "copy_if_not_exists",
    "default_region",
    "disable_bulk_delete",
    "disable_tagging",
    "region",
    "request_payer",
    "s3_express",
    "server_side_encryption",
    "skip_signature",
    "sse_bucket_key_enabled",
    "sse_kms_key_id",
    "unsigned_payload",
    "virtual_hosted_style_request",
)
_AZURE = (
    "account_name",
    "container_name",
    "disable_tagging",
    "skip_signature",
    "storage_account_name",
    "storage_use_emulator",
    "use_emulator",
    "use_fabric_endpoint",
)
_GOOGLE = ("bucket", "bucket_name", "skip_signature")
_CLIENT = (
    "allow_invalid_certificates",
    "client_max_retries",
    "client_retry_timeout",
    "connect_timeout",
    "default_content_type",
    "download_retry_count",
    "http1_only",
    "http2_keep_alive_interval",
    "http2_keep_alive_timeout",
    "http2_keep_alive_while_idle",
    "http2_only",
    "pool_idle_timeout",
    "pool_max_idle_per_host",
    "randomize_addresses",
    "read_timeout",
    "refresh_offset_millis",
    "timeout",
    "user_agent",
)
HARMLESS = (
    frozenset((*_S3, *_AZURE, *_GOOGLE, *_CLIENT))
    .union(f"aws_{name}" for name in _S3)
    .union(f"azure_{name}" for name in _AZURE)
    .union(f"google_{name}" for name in _GOOGLE)
)
"""Options that are no secrets, under all names that Lance's object store knows them by."""


def harmless(options: Mapping[str, str]) -> dict[str, str]:
    """The options that everybody may know. One that is not known here is a secret."""
    return {name: value for name, value in options.items() if _is_harmless(name.lower(), value)}


def _is_harmless(name: str, value: str) -> bool:
    return name in HARMLESS or (name in ADDRESSES and _is_plain(value))


def _is_plain(address: str) -> bool:
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return not (parts.username or parts.password or parts.query or parts.fragment)
