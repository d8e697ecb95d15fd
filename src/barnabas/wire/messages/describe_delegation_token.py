"""DescribeDelegationToken: the delegation tokens of some owners."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bytes, Int16, Int32, Int64, String


@struct
class DescribeDelegationTokenOwner:
    principal_type: String = field()
    principal_name: String = field()


@request(key=41, versions="1-3", flexible="2+")
class DescribeDelegationTokenRequest:
    owners: list[DescribeDelegationTokenOwner] | None = field(nullable="0+")


@struct
class DescribedDelegationTokenRenewer:
    principal_type: String = field()
    principal_name: String = field()


@struct
class DescribedDelegationToken:
    principal_type: String = field()
    principal_name: String = field()
    token_requester_principal_type: String = field("3+", default="")
    token_requester_principal_name: String = field("3+", default="")
    issue_timestamp: Int64 = field()
    expiry_timestamp: Int64 = field()
    max_timestamp: Int64 = field()
    token_id: String = field()
    hmac: Bytes = field(secret=True)
    renewers: list[DescribedDelegationTokenRenewer] = field()


@response(key=41, versions="1-3", flexible="2+")
class DescribeDelegationTokenResponse:
    error_code: Int16 = field()
    tokens: list[DescribedDelegationToken] = field()
    throttle_time_ms: Int32 = field()
