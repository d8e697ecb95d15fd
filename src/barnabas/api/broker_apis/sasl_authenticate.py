"""SaslAuthenticate (key 36): a token of a mechanism, where none is expected.

Behaviour:
- the tokens of an authentication are served by :mod:`barnabas.api.authentication` before requests
  reach a handler;
- every other token gets ILLEGAL_SASL_STATE.

Version notes: the session's lifetime from 1.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import NOTHING
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.wire.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse

NEEDS = NOTHING

_MESSAGE = "SaslAuthenticate request received after successful authentication"


def handle(broker: Broker, caller: Caller, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, error_message=_MESSAGE, auth_bytes=b"")
