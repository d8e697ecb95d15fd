"""SaslHandshake (key 17): choosing a mechanism, where that is not expected.

Behaviour:
- the handshake of a new connection, and that of one that authenticates again, is served by
  :mod:`barnabas.api.authentication` before requests reach a handler;
- every other handshake gets ILLEGAL_SASL_STATE: the listener has no SASL, the connection is
  authenticated for good, or it authenticated less than a second ago.

Version notes: 0 and 1 differ only in what follows them.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import NOTHING
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.wire.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

NEEDS = NOTHING


def handle(broker: Broker, caller: Caller, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE, mechanisms=[])
