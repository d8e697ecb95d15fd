"""ExpireDelegationToken: shorten the life of a delegation token."""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Bytes, Int16, Int32, Int64


@request(key=40, versions="1-2", flexible="2+")
class ExpireDelegationTokenRequest:
    hmac: Bytes = field(secret=True)
    expiry_time_period_ms: Int64 = field()


@response(key=40, versions="1-2", flexible="2+")
class ExpireDelegationTokenResponse:
    error_code: Int16 = field()
    expiry_timestamp_ms: Int64 = field()
    throttle_time_ms: Int32 = field()
