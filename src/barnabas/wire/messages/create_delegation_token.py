"""CreateDelegationToken: a short-lived credential that its owner can pass on."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bytes, Int16, Int32, Int64, String


@struct
class CreatableRenewers:
    principal_type: String = field()
    principal_name: String = field()


@request(key=38, versions="1-3", flexible="2+")
class CreateDelegationTokenRequest:
    owner_principal_type: String | None = field("3+", nullable="3+", default="")
    owner_principal_name: String | None = field("3+", nullable="3+", default="")
    renewers: list[CreatableRenewers] = field()
    max_lifetime_ms: Int64 = field()


@response(key=38, versions="1-3", flexible="2+")
class CreateDelegationTokenResponse:
    error_code: Int16 = field()
    principal_type: String = field()
    principal_name: String = field()
    token_requester_principal_type: String = field("3+", default="")
    token_requester_principal_name: String = field("3+", default="")
    issue_timestamp_ms: Int64 = field()
    expiry_timestamp_ms: Int64 = field()
    max_timestamp_ms: Int64 = field()
    token_id: String = field()
    hmac: Bytes = field(secret=True)
    throttle_time_ms: Int32 = field()
