"""DescribeDelegationToken (key 41): the tokens that the client may see, with their HMACs.

Behaviour:
- DELEGATION_TOKEN_REQUEST_NOT_ALLOWED for a client that logged in with a token, and on connections
  without authentication; DELEGATION_TOKEN_AUTH_DISABLED without delegation.token.secret.key;
- a client sees the tokens that it owns, requested or may renew, and those of others if that is
  allowed. Other tokens are left out;
- with a list of owners the answer has only the tokens of these principals, as owners, requesters
  or renewers; an empty list gives no tokens, and null gives all.

Version notes: version 3 adds the requester.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.api.broker import Broker
from barnabas.api.needs import DESCRIBE_TOKEN, DESCRIBE_TOKENS_OF_USER, checked
from barnabas.api.token_requests import may_ask_for_tokens
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.security.delegation_tokens import concerns, recorded_principal, token_hmac
from barnabas.security.principal import Principal
from barnabas.wire.messages.describe_delegation_token import (
    DescribedDelegationToken,
    DescribedDelegationTokenRenewer,
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from barnabas.wire.metadata_records import DelegationTokenRecord

NEEDS = checked(DESCRIBE_TOKEN, DESCRIBE_TOKENS_OF_USER)

_WITH_REQUESTER = 3  # the first version that names the requester


def handle(broker: Broker, caller: Caller, request: DescribeDelegationTokenRequest) -> DescribeDelegationTokenResponse:
    if not may_ask_for_tokens(broker, caller):
        return _answer(ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
    secret_key = broker.settings.text_or_none("delegation.token.secret.key")
    if secret_key is None:
        return _answer(ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED)
    owners = None if request.owners is None else [Principal(each.principal_type, each.principal_name) for each in request.owners]

    def may_describe(token: DelegationTokenRecord) -> bool:
        access = broker.access
        return access.may(caller, DESCRIBE_TOKEN, token.token_id) or access.may(caller, DESCRIBE_TOKENS_OF_USER, token.owner)

    tokens = visible_tokens(broker.metadata.image.delegation_tokens.by_id.values(), owners, caller.principal, may_describe)
    return _answer(ErrorCode.NONE, [_described(token, secret_key, caller.version) for token in tokens])


def visible_tokens(
    tokens: Iterable[DelegationTokenRecord],
    owners: Iterable[Principal] | None,
    asker: Principal,
    may_describe: Callable[[DelegationTokenRecord], bool],
) -> list[DelegationTokenRecord]:
    """``may_describe`` is asked for tokens of other principals only."""
    wanted = None if owners is None else list(owners)
    return [
        token
        for token in tokens
        if (wanted is None or any(concerns(token, owner) for owner in wanted)) and (concerns(token, asker) or may_describe(token))
    ]


def _described(token: DelegationTokenRecord, secret_key: str, version: int) -> DescribedDelegationToken:
    owner = recorded_principal(token.owner)
    requester = recorded_principal(token.requester) if version >= _WITH_REQUESTER else Principal("", "")
    return DescribedDelegationToken(
        principal_type=owner.type,
        principal_name=owner.name,
        token_requester_principal_type=requester.type,
        token_requester_principal_name=requester.name,
        issue_timestamp=token.issue_timestamp,
        expiry_timestamp=token.expiration_timestamp,
        max_timestamp=token.max_timestamp,
        token_id=token.token_id,
        hmac=token_hmac(secret_key, token.token_id),
        renewers=[
            DescribedDelegationTokenRenewer(principal_type=renewer.type, principal_name=renewer.name)
            for renewer in map(recorded_principal, token.renewers)
        ],
    )


def _answer(error: ErrorCode, tokens: list[DescribedDelegationToken] | None = None) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=error, tokens=tokens or [], throttle_time_ms=0)
