"""RenewDelegationToken: extend the life of a delegation token."""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Bytes, Int16, Int32, Int64


@request(key=39, versions="1-2", flexible="2+")
class RenewDelegationTokenRequest:
    hmac: Bytes = field(secret=True)
    renew_period_ms: Int64 = field()


@response(key=39, versions="1-2", flexible="2+")
class RenewDelegationTokenResponse:
    error_code: Int16 = field()
    expiry_timestamp_ms: Int64 = field()
    throttle_time_ms: Int32 = field()
