"""ExpireDelegationToken (key 40): end a token, now or earlier than it would.

Behaviour:
- DELEGATION_TOKEN_REQUEST_NOT_ALLOWED for a client that logged in with a token, and on connections
  without authentication;
- the controller decides everything else; this broker forwards the request;
- a negative period removes the token now, and any other sets its expiry, at most to its maximum;
- DELEGATION_TOKEN_NOT_FOUND for an unknown HMAC, DELEGATION_TOKEN_OWNER_MISMATCH for a client that
  is neither owner nor renewer, DELEGATION_TOKEN_EXPIRED for a new expiry of an expired token.

Version notes: the versions differ only in their encoding.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import NOTHING
from barnabas.api.token_requests import may_ask_for_tokens
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse

NEEDS = NOTHING

_NO_TIME = -1


def handle(
    broker: Broker, caller: Caller, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse | Promise[ExpireDelegationTokenResponse]:
    if not may_ask_for_tokens(broker, caller):
        error = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return ExpireDelegationTokenResponse(error_code=error, expiry_timestamp_ms=_NO_TIME, throttle_time_ms=0)
    return broker.controller.submit(request, caller)
