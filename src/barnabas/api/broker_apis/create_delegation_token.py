"""CreateDelegationToken (key 38): make a token with which other processes log in as its owner.

Behaviour:
- DELEGATION_TOKEN_REQUEST_NOT_ALLOWED for a client that logged in with a token, and on connections
  without authentication;
- INVALID_PRINCIPAL_TYPE for a renewer that is not a User;
- the controller decides everything else; this broker forwards the request;
- DELEGATION_TOKEN_AUTH_DISABLED without delegation.token.secret.key.

Version notes: version 3 adds the owner, for a token in the name of another user.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import CREATE_TOKENS_OF_USER, checked
from barnabas.api.token_requests import may_ask_for_tokens
from barnabas.controller.core.delegation_tokens import not_created, token_owner
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.wire.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse

NEEDS = checked(CREATE_TOKENS_OF_USER)

_NO_TIME = -1


def handle(
    broker: Broker, caller: Caller, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse | Promise[CreateDelegationTokenResponse]:
    error = None
    if not may_ask_for_tokens(broker, caller):
        error = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    elif any(renewer.principal_type != "User" for renewer in request.renewers):
        error = ErrorCode.INVALID_PRINCIPAL_TYPE
    if error is not None:
        return not_created(error, token_owner(request, caller.principal), caller.principal, _NO_TIME)
    return broker.controller.submit(request, caller)
