"""DescribeUserScramCredentials: which users have SCRAM credentials; never the credentials."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, String


@struct
class UserName:
    name: String = field()


@request(key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsRequest:
    users: list[UserName] | None = field(nullable="0+")


@struct
class CredentialInfo:
    mechanism: Int8 = field()
    iterations: Int32 = field()


@struct
class DescribeUserScramCredentialsResult:
    user: String = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    credential_infos: list[CredentialInfo] = field()


@response(key=50, versions="0", flexible="0+")
class DescribeUserScramCredentialsResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    results: list[DescribeUserScramCredentialsResult] = field()
