"""Which storage options everybody may know."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanceyard.server.vending.options import ADDRESSES, HARMLESS, harmless

SECRETS = [
    *("aws_access_key_id", "access_key_id", "AWS_ACCESS_KEY_ID"),
    *("aws_secret_access_key", "secret_access_key", "AWS_Secret_Access_Key"),
    *("aws_session_token", "aws_token", "session_token", "token"),
    *("aws_sse_customer_key_base64", "aws_web_identity_token_file", "aws_role_arn"),
    *("aws_container_credentials_full_uri", "container_authorization_token_file"),
    *("azure_storage_account_key", "azure_storage_access_key", "account_key", "access_key"),
    *("azure_storage_sas_key", "azure_storage_sas_token", "sas_token", "sas_key"),
    *("azure_storage_client_secret", "client_secret", "azure_client_id", "bearer_token"),
    *("azure_storage_token", "azure_federated_token_file", "azure_encryption_key"),
    *("azure_identity_header", "azure_msi_endpoint", "fabric_session_token"),
    *("google_service_account", "google_service_account_key", "service_account_path"),
    *("google_storage_token", "google_application_credentials", "credential"),
    *("proxy_url", "default_headers", "expires_at_millis", "hf_token", "oss_access_key_secret"),
]


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_are_not_told(name: str) -> None:
    assert harmless({name: "x", "region": "eu-north-1"}) == {"region": "eu-north-1"}


@given(st.dictionaries(st.text() | st.sampled_from(sorted(HARMLESS)), st.text()))
def test_what_is_not_known_is_a_secret(options: dict[str, str]) -> None:
    assert {name.lower() for name in harmless(options)} <= HARMLESS | ADDRESSES


def test_what_a_client_needs_to_find_its_way_is_told() -> None:
    options = {
        "aws_region": "us-east-1",
        "AWS_ENDPOINT": "http://store:9000",
        "allow_http": "true",
        "virtual_hosted_style_request": "false",
        "azure_storage_account_name": "lake",
        "google_skip_signature": "true",
        "client_max_retries": "3",
    }
    assert harmless(options) == options


@pytest.mark.parametrize(
    "address",
    ["https://user:word@store", "https://user@store", "https://store/?sig=x", "https://[store"],
)
def test_an_address_with_a_secret_in_it_is_not_told(address: str) -> None:
    assert harmless({"endpoint": address, "aws_endpoint_url": address}) == {}
