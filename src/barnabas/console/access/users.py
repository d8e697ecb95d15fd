"""Users with SCRAM credentials. Passwords are salted here and never leave this process, and brokers
do not tell the keys of users."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.refusals import refuse_error
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
)

_SALT_BYTES: Final = 24
_MECHANISMS: Final = {each.number: each for each in ScramMechanism}


@dataclass(frozen=True, slots=True)
class Credential:
    mechanism: str
    iterations: int


@dataclass(frozen=True, slots=True)
class User:
    name: str
    credentials: list[Credential]


async def list_users(client: ClusterClient) -> list[User]:
    response: DescribeUserScramCredentialsResponse = await client.ask_any(DescribeUserScramCredentialsRequest(users=None))
    refuse_error(response.error_code, response.error_message, "Cannot list the users")
    found = [
        User(
            result.user,
            [
                Credential(_MECHANISMS[info.mechanism].title if info.mechanism in _MECHANISMS else str(info.mechanism), info.iterations)
                for info in sorted(result.credential_infos, key=lambda each: each.mechanism)
            ],
        )
        for result in response.results
    ]
    return sorted(found, key=lambda each: each.name)


async def set_password(client: ClusterClient, user: str, password: str, mechanism: ScramMechanism, iterations: int) -> None:
    salt = secrets.token_bytes(_SALT_BYTES)
    # Slow by intention, so it runs beside other requests.
    salted = await client.run(mechanism.salted, password, salt, iterations)
    upsertion = ScramCredentialUpsertion(name=user, mechanism=mechanism.number, iterations=iterations, salt=salt, salted_password=salted)
    request = AlterUserScramCredentialsRequest(deletions=[], upsertions=[upsertion])
    await _alter(client, request, f"Cannot set the password of {user}")


async def remove_credential(client: ClusterClient, user: str, mechanism: ScramMechanism) -> None:
    deletion = ScramCredentialDeletion(name=user, mechanism=mechanism.number)
    await _alter(client, AlterUserScramCredentialsRequest(deletions=[deletion], upsertions=[]), f"Cannot remove {user}")


async def _alter(client: ClusterClient, request: AlterUserScramCredentialsRequest, doing: str) -> None:
    response: AlterUserScramCredentialsResponse = await client.ask_any(request, is_change=True)
    for result in response.results:
        refuse_error(result.error_code, result.error_message, doing)
