"""SaslAuthenticate: one step of a SASL exchange."""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Bytes, Int16, Int64, String


@request(key=36, versions="0-2", flexible="2+")
class SaslAuthenticateRequest:
    auth_bytes: Bytes = field(secret=True)


@response(key=36, versions="0-2", flexible="2+")
class SaslAuthenticateResponse:
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    auth_bytes: Bytes = field(secret=True)
    session_lifetime_ms: Int64 = field("1+", default=0, ignorable=True)
