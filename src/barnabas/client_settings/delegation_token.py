"""Logins with a delegation token.

Java says so in the JAAS entry of SCRAM: ``tokenauth="true"``, with the token's id as the name and
its HMAC as the password. librdkafka has no setting for it, so the requests that go through it
cannot log in with a token; requests of our own can.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from barnabas.client_settings.errors import SettingsRefused

BY_TOKEN: Final = "sasl.scram.tokenauth"  # noqa: S105 - the name of a setting


def is_by_token(settings: Mapping[str, str]) -> bool:
    return settings.get(BY_TOKEN, "").lower() == "true"


def without_token_login(settings: Mapping[str, str]) -> dict[str, str]:
    """For librdkafka. Raises :class:`SettingsRefused` when the login is by token."""
    if is_by_token(settings):
        raise SettingsRefused("librdkafka cannot log in with a delegation token (tokenauth), so this needs another login.")
    return {name: value for name, value in settings.items() if name != BY_TOKEN}
