"""SaslHandshake: choose a SASL mechanism."""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Int16, String


@request(key=17, versions="0-1", flexible="none")
class SaslHandshakeRequest:
    mechanism: String = field()


@response(key=17, versions="0-1", flexible="none")
class SaslHandshakeResponse:
    error_code: Int16 = field()
    mechanisms: list[String] = field()
