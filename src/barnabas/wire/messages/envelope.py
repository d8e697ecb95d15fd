"""Envelope: a client's request that a broker forwards to the controller, with the client's
principal.
"""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Bytes, Int16


@request(key=58, versions="0", flexible="0+")
class EnvelopeRequest:
    request_data: Bytes = field()
    request_principal: Bytes | None = field(nullable="0+")
    client_host_address: Bytes = field()


@response(key=58, versions="0", flexible="0+")
class EnvelopeResponse:
    response_data: Bytes | None = field(nullable="0+", default=None)
    error_code: Int16 = field()
