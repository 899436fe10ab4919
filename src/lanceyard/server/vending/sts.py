"""Credentials of a role that the server assumes, limited to one table (AWS STS)."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from lanceyard import errors
from lanceyard.server.vending.credentials import UNAVAILABLE, Credentials, NoAnswerError
from lanceyard.server.vending.scopes import SCHEME, Scope
from lanceyard.server.vending.settings import VendingSettings

LOG = logging.getLogger("lanceyard.server")
ATTEMPTS = 2
KEYS = {
    "aws_access_key_id": "AccessKeyId",
    "aws_secret_access_key": "SecretAccessKey",
    "aws_session_token": "SessionToken",
}
"""Lance's names of what STS gives."""


class Sts:
    """A role that is assumed anew for each table, with a policy that ends at the table."""

    def __init__(self, settings: VendingSettings) -> None:
        """Take the role; nothing is asked yet. Raises `InvalidInputError`."""
        assert settings.role_arn is not None
        self._settings = settings
        self._partition = settings.role_arn.split(":")[1]
        self._client = _client(settings)

    def covers(self, location: str) -> bool:
        """STS knows S3 alone."""
        return location.startswith(SCHEME)

    def fetch(self, location: str, options: Mapping[str, str], *, write: bool) -> Credentials:
        """Assume the role. Raises `InvalidInputError` and `ServiceUnavailableError`."""
        policy = Scope.of(location).policy(write=write, partition=self._partition)
        try:
            found = self._assume(policy)
            keys = {option: found[name] for option, name in KEYS.items()}
            return Credentials(keys, found["Expiration"].timestamp())
        except (KeyError, ValueError):
            LOG.warning("STS gave an answer that is none")
            raise errors.ServiceUnavailableError(UNAVAILABLE) from None

    def _assume(self, policy: str) -> Mapping[str, Any]:
        """What STS gives. Raises `KeyError` or `ValueError` for what botocore cannot read."""
        from botocore import exceptions  # type: ignore[import-untyped]
        from botocore.parsers import ResponseParserError  # type: ignore[import-untyped]

        try:
            answer = self._client.assume_role(
                RoleArn=self._settings.role_arn,
                RoleSessionName=self._settings.session_name,
                DurationSeconds=self._settings.duration,
                Policy=policy,
            )
        except (exceptions.HTTPClientError, exceptions.ConnectionError) as cause:
            LOG.warning("STS does not answer: %s", type(cause).__name__)
            raise NoAnswerError(UNAVAILABLE) from None
        except exceptions.ClientError as cause:
            # What STS says beyond its code may quote the request.
            LOG.warning("STS refused to give credentials: %s", cause.response["Error"].get("Code"))
        except (exceptions.BotoCoreError, ResponseParserError) as cause:
            LOG.warning("STS gave no credentials: %s", type(cause).__name__)
        else:
            found: Mapping[str, Any] = answer["Credentials"]
            return found
        raise errors.ServiceUnavailableError(UNAVAILABLE)


def _client(settings: VendingSettings) -> Any:
    """A client of STS that gives up in time."""
    try:
        from botocore.config import Config  # type: ignore[import-untyped]
        from botocore.exceptions import BotoCoreError  # type: ignore[import-untyped]
        from botocore.session import Session  # type: ignore[import-untyped]
    except ImportError as cause:
        raise errors.InvalidInputError(
            "vending by sts needs botocore: pip install 'lanceyard[aws]'"
        ) from cause
    secret = settings.secret_access_key
    config = Config(
        connect_timeout=settings.timeout / ATTEMPTS,
        read_timeout=settings.timeout / ATTEMPTS,
        retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
    )
    try:
        client = Session().create_client(
            "sts",
            region_name=settings.region,
            endpoint_url=settings.endpoint,
            aws_access_key_id=settings.access_key_id,
            aws_secret_access_key=secret.get_secret_value() if secret else None,
            config=config,
        )
    except BotoCoreError as cause:
        raise errors.InvalidInputError(
            f"STS cannot be used as the settings say: {type(cause).__name__}"
        ) from cause
    if client.meta.region_name is None:
        raise errors.InvalidInputError("vending by sts at an endpoint of its own needs a region")
    return client
