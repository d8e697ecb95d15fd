"""Delegation tokens. Brokers find a token by its HMAC; people name it by its id, so the HMAC is
looked up here and shown once, to its creator."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.refusals import refuse_error
from barnabas.console.errors import ClusterRefused, NotFound
from barnabas.model.errors import ErrorCode
from barnabas.security.principal import Principal
from barnabas.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from barnabas.wire.messages.describe_delegation_token import DescribeDelegationTokenRequest, DescribeDelegationTokenResponse
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse

# Kafka's numbers for "now" and for the broker's own period.
NOW: Final = -1
DEFAULT: Final = -1
_SENTENCES: Final = {
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "the brokers have no delegation.token.secret.key",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "this needs a login with SASL or a client certificate, and not with a token",
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: "only its owner and its renewers may do this",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "this user may not make tokens for other owners",
    ErrorCode.DELEGATION_TOKEN_EXPIRED: "it has expired",
    ErrorCode.INVALID_PRINCIPAL_TYPE: "renewers must be of the type User",
}
_NONE_HERE: Final = frozenset({ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED, ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED})


class NoTokens(ClusterRefused):
    """The cluster, or this login, has no delegation tokens."""


@dataclass(frozen=True, slots=True)
class Token:
    id: str
    owner: str
    requester: str
    renewers: list[str]
    issue_ms: int
    expiry_ms: int
    max_ms: int
    hmac: bytes = field(repr=False, metadata={"page_only": True})
    """Never in an answer."""

    @property
    def password(self) -> str:
        return base64.b64encode(self.hmac).decode("ascii")


async def list_tokens(client: ClusterClient) -> list[Token]:
    """Those that the principal may see. Raises :class:`NoTokens`."""
    response: DescribeDelegationTokenResponse = await client.ask_any(DescribeDelegationTokenRequest(owners=None))
    _refuse(response.error_code, "Cannot list the tokens")
    found = [
        Token(
            each.token_id,
            f"{each.principal_type}:{each.principal_name}",
            f"{each.token_requester_principal_type}:{each.token_requester_principal_name}",
            [f"{renewer.principal_type}:{renewer.principal_name}" for renewer in each.renewers],
            each.issue_timestamp,
            each.expiry_timestamp,
            each.max_timestamp,
            bytes(each.hmac),
        )
        for each in response.tokens
    ]
    return sorted(found, key=lambda each: (each.owner, each.issue_ms, each.id))


async def create_token(client: ClusterClient, owner: Principal | None, renewers: list[Principal], lifetime_ms: int) -> Token:
    request = CreateDelegationTokenRequest(
        owner_principal_type="" if owner is None else owner.type,
        owner_principal_name="" if owner is None else owner.name,
        renewers=[CreatableRenewers(principal_type=each.type, principal_name=each.name) for each in renewers],
        max_lifetime_ms=lifetime_ms,
    )
    made: CreateDelegationTokenResponse = await client.ask_any(request, is_change=True)
    _refuse(made.error_code, "Cannot create a token")
    return Token(
        made.token_id,
        f"{made.principal_type}:{made.principal_name}",
        f"{made.token_requester_principal_type}:{made.token_requester_principal_name}",
        [str(each) for each in renewers],
        made.issue_timestamp_ms,
        made.expiry_timestamp_ms,
        made.max_timestamp_ms,
        bytes(made.hmac),
    )


async def renew_token(client: ClusterClient, token_id: str, period_ms: int) -> int:
    """The new expiry."""
    request = RenewDelegationTokenRequest(hmac=(await _found(client, token_id)).hmac, renew_period_ms=period_ms)
    response: RenewDelegationTokenResponse = await client.ask_any(request, is_change=True)
    _refuse(response.error_code, f"Cannot renew the token {token_id}")
    return response.expiry_timestamp_ms


async def expire_token(client: ClusterClient, token_id: str, period_ms: int) -> int:
    """The new expiry; with the period ``NOW`` the token is removed."""
    request = ExpireDelegationTokenRequest(hmac=(await _found(client, token_id)).hmac, expiry_time_period_ms=period_ms)
    response: ExpireDelegationTokenResponse = await client.ask_any(request, is_change=True)
    _refuse(response.error_code, f"Cannot expire the token {token_id}")
    return response.expiry_timestamp_ms


async def _found(client: ClusterClient, token_id: str) -> Token:
    for each in await list_tokens(client):
        if each.id == token_id:
            return each
    raise NotFound(f"There is no token {token_id}, or this user may not see it.")


def _refuse(code: int, doing: str) -> None:
    sentence = _SENTENCES.get(ErrorCode(code)) if code in ErrorCode._value2member_map_ else None
    if code in _NONE_HERE:
        raise NoTokens(f"{doing}: {sentence}.")
    refuse_error(code, sentence, doing)
