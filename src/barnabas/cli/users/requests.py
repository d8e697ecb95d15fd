"""The requests of ``barnabas users``: SCRAM credentials listed, set and removed.

The password is salted here, so that it never leaves this process.
"""

from __future__ import annotations

import secrets
from typing import NamedTuple

from barnabas.cli.cluster.broker_requests import Brokers, refuse_error
from barnabas.model.errors import ErrorCode
from barnabas.security.sasl.scram_credentials import ScramMechanism
from barnabas.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from barnabas.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)

_SALT_BYTES = 24
_MECHANISMS = {each.number: each for each in ScramMechanism}


class Credential(NamedTuple):
    user: str
    mechanism: str
    iterations: int


def list_credentials(brokers: Brokers, user: str | None = None) -> list[Credential]:
    """All users, or the credentials of one, which has none when it does not exist."""
    asked = None if user is None else [UserName(name=user)]
    request = DescribeUserScramCredentialsRequest(users=asked)
    response: DescribeUserScramCredentialsResponse = brokers.ask_controller(request, codes=lambda response: [response.error_code])
    refuse_error(response.error_code, response.error_message, "Cannot list the users")
    found = []
    for result in response.results:
        if result.error_code == ErrorCode.RESOURCE_NOT_FOUND:
            continue
        refuse_error(result.error_code, result.error_message, f"Cannot describe {result.user}")
        for info in result.credential_infos:
            known = _MECHANISMS.get(info.mechanism)
            found.append(Credential(result.user, known.title if known else f"mechanism {info.mechanism}", info.iterations))
    return sorted(found)


def set_password(brokers: Brokers, user: str, password: str, mechanisms: list[ScramMechanism], iterations: int) -> None:
    # A request may name a user only once, so each mechanism has a request of its own.
    for mechanism in mechanisms:
        salt = secrets.token_bytes(_SALT_BYTES)
        upsertion = ScramCredentialUpsertion(
            name=user,
            mechanism=mechanism.number,
            iterations=iterations,
            salt=salt,
            salted_password=mechanism.salted(password, salt, iterations),
        )
        _alter(brokers, AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion]), f"Cannot set the password of {user}")


def remove(brokers: Brokers, user: str, mechanisms: list[ScramMechanism]) -> None:
    for mechanism in mechanisms:
        deletion = ScramCredentialDeletion(name=user, mechanism=mechanism.number)
        _alter(brokers, AlterUserScramCredentialsRequest(deletions=[deletion], upsertions=[]), f"Cannot remove {user}")


def _alter(brokers: Brokers, request: AlterUserScramCredentialsRequest, doing: str) -> None:
    response: AlterUserScramCredentialsResponse = brokers.ask_controller(
        request, codes=lambda response: [each.error_code for each in response.results]
    )
    for result in response.results:
        refuse_error(result.error_code, result.error_message, doing)
