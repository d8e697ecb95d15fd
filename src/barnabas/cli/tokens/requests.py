"""The requests of ``barnabas tokens``.

Brokers find a token by its HMAC. Commands name it by its id, because arguments are visible to every
user of the machine, and look the HMAC up first.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

from barnabas.cli.cluster.broker_requests import Brokers, refuse_error
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.security.principal import Principal
from barnabas.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from barnabas.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse

NOW = -1
DEFAULT = -1
_SENTENCES = {
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "the brokers have no delegation.token.secret.key",
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "this needs a login with SASL or a client certificate, and not with a token",
    ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH: "only its owner and its renewers may do this",
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: "this user may not make tokens for other owners",
    ErrorCode.DELEGATION_TOKEN_EXPIRED: "it has expired",
    ErrorCode.INVALID_PRINCIPAL_TYPE: "renewers must be of the type User",
}


@dataclass(frozen=True, slots=True)
class Token:
    token_id: str
    owner: str
    requester: str
    renewers: list[str]
    issue_ms: int
    expiry_ms: int
    max_ms: int
    hmac: bytes = field(repr=False)

    @property
    def password(self) -> str:
        return base64.b64encode(self.hmac).decode("ascii")


def create_token(brokers: Brokers, owner: Principal | None, renewers: list[Principal], lifetime_ms: int) -> Token:
    request = CreateDelegationTokenRequest(
        owner_principal_type="" if owner is None else owner.type,
        owner_principal_name="" if owner is None else owner.name,
        renewers=[CreatableRenewers(principal_type=each.type, principal_name=each.name) for each in renewers],
        max_lifetime_ms=lifetime_ms,
    )
    made: CreateDelegationTokenResponse = brokers.ask_controller(request, codes=lambda response: [response.error_code])
    _refuse(made.error_code, "Cannot create a token")
    return Token(
        token_id=made.token_id,
        owner=f"{made.principal_type}:{made.principal_name}",
        requester=f"{made.token_requester_principal_type}:{made.token_requester_principal_name}",
        renewers=[str(each) for each in renewers],
        issue_ms=made.issue_timestamp_ms,
        expiry_ms=made.expiry_timestamp_ms,
        max_ms=made.max_timestamp_ms,
        hmac=bytes(made.hmac),
    )


def list_tokens(brokers: Brokers, owners: list[Principal] | None = None) -> list[Token]:
    asked = None
    if owners is not None:
        asked = [DescribeDelegationTokenOwner(principal_type=each.type, principal_name=each.name) for each in owners]
    request = DescribeDelegationTokenRequest(owners=asked)
    response: DescribeDelegationTokenResponse = brokers.ask_controller(request, codes=lambda response: [response.error_code])
    _refuse(response.error_code, "Cannot list the tokens")
    tokens = [
        Token(
            token_id=each.token_id,
            owner=f"{each.principal_type}:{each.principal_name}",
            requester=f"{each.token_requester_principal_type}:{each.token_requester_principal_name}",
            renewers=[f"{renewer.principal_type}:{renewer.principal_name}" for renewer in each.renewers],
            issue_ms=each.issue_timestamp,
            expiry_ms=each.expiry_timestamp,
            max_ms=each.max_timestamp,
            hmac=bytes(each.hmac),
        )
        for each in response.tokens
    ]
    return sorted(tokens, key=lambda token: (token.owner, token.issue_ms, token.token_id))


def find_token(brokers: Brokers, token_id: str) -> Token:
    for token in list_tokens(brokers):
        if token.token_id == token_id:
            return token
    raise Refused(f"There is no token {token_id}, or this user may not see it.")


def renew_token(brokers: Brokers, token: Token, period_ms: int) -> int:
    """The new expiry."""
    request = RenewDelegationTokenRequest(hmac=token.hmac, renew_period_ms=period_ms)
    response: RenewDelegationTokenResponse = brokers.ask_controller(request, codes=lambda response: [response.error_code])
    _refuse(response.error_code, f"Cannot renew the token {token.token_id}")
    return response.expiry_timestamp_ms


def expire_token(brokers: Brokers, token: Token, period_ms: int) -> int:
    """The new expiry; with the period ``NOW`` the token is removed."""
    request = ExpireDelegationTokenRequest(hmac=token.hmac, expiry_time_period_ms=period_ms)
    response: ExpireDelegationTokenResponse = brokers.ask_controller(request, codes=lambda response: [response.error_code])
    _refuse(response.error_code, f"Cannot expire the token {token.token_id}")
    return response.expiry_timestamp_ms


def _refuse(code: int, doing: str) -> None:
    sentence = _SENTENCES.get(ErrorCode(code)) if code in ErrorCode._value2member_map_ else None
    refuse_error(code, sentence, doing)
