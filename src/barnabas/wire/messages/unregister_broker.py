"""UnregisterBroker: remove the registration of a broker for good."""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Int16, Int32, String


@request(key=64, versions="0", flexible="0+")
class UnregisterBrokerRequest:
    broker_id: Int32 = field()


@response(key=64, versions="0", flexible="0+")
class UnregisterBrokerResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
