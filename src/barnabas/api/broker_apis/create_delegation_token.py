"""CreateDelegationToken (key 38): make a token with which other processes log in as its owner.

Behaviour:
- DELEGATION_TOKEN_REQUEST_NOT_ALLOWED for a client that logged in with a token, and on connections
  without authentication;
- DELEGATION_TOKEN_AUTHORIZATION_FAILED for a token of another owner, unless this is allowed;
- INVALID_PRINCIPAL_TYPE for a renewer that is not a User;
- the controller decides everything else; this broker forwards the request;
- DELEGATION_TOKEN_AUTH_DISABLED without delegation.token.secret.key.

Version notes: version 3 adds the owner, for a token in the name of another user, and the requester
in the response.
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
_WITH_REQUESTER = 3  # the first version that names the requester


def handle(
    broker: Broker, caller: Caller, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse | Promise[CreateDelegationTokenResponse]:
    error = None
    owner = token_owner(request, caller.principal)
    if not may_ask_for_tokens(broker, caller):
        error = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    elif str(owner) != str(caller.principal) and not broker.access.may(caller, CREATE_TOKENS_OF_USER, str(owner)):
        error = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    elif any(renewer.principal_type != "User" for renewer in request.renewers):
        error = ErrorCode.INVALID_PRINCIPAL_TYPE
    if error is not None:
        refusal = not_created(error, owner, caller.principal, _NO_TIME)
        return _in_version(refusal, caller.version)
    answer: Promise[CreateDelegationTokenResponse] = broker.controller.submit(request, caller)
    return answer.map(lambda response: _in_version(response, caller.version))


def _in_version(response: CreateDelegationTokenResponse, version: int) -> CreateDelegationTokenResponse:
    """The response without the requester, which older versions cannot carry."""
    if version < _WITH_REQUESTER:
        response.token_requester_principal_type = response.token_requester_principal_name = ""
    return response
