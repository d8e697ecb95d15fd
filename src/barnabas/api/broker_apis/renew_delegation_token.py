"""RenewDelegationToken (key 39): extend the life of a token, up to its maximum.

Behaviour:
- DELEGATION_TOKEN_REQUEST_NOT_ALLOWED for a client that logged in with a token, and on connections
  without authentication;
- the controller decides everything else; this broker forwards the request;
- the token is named by its HMAC: DELEGATION_TOKEN_NOT_FOUND for any other bytes;
- DELEGATION_TOKEN_EXPIRED for one that has expired, DELEGATION_TOKEN_OWNER_MISMATCH for a client
  that is neither its owner nor a renewer.

Version notes: the versions differ only in their encoding.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import NOTHING
from barnabas.api.token_requests import may_ask_for_tokens
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse

NEEDS = NOTHING

_NO_TIME = -1


def handle(
    broker: Broker, caller: Caller, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse | Promise[RenewDelegationTokenResponse]:
    if not may_ask_for_tokens(broker, caller):
        error = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
        return RenewDelegationTokenResponse(error_code=error, expiry_timestamp_ms=_NO_TIME, throttle_time_ms=0)
    return broker.controller.submit(request, caller)
