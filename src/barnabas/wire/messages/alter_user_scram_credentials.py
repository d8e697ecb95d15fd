"""AlterUserScramCredentials: set and remove SCRAM credentials, salted by the client."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bytes, Int8, Int16, Int32, String


@struct
class ScramCredentialDeletion:
    name: String = field()
    mechanism: Int8 = field()


@struct
class ScramCredentialUpsertion:
    name: String = field()
    mechanism: Int8 = field()
    iterations: Int32 = field()
    salt: Bytes = field(secret=True)
    salted_password: Bytes = field(secret=True)


@request(key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsRequest:
    deletions: list[ScramCredentialDeletion] = field()
    upsertions: list[ScramCredentialUpsertion] = field()


@struct
class AlterUserScramCredentialsResult:
    user: String = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")


@response(key=51, versions="0", flexible="0+")
class AlterUserScramCredentialsResponse:
    throttle_time_ms: Int32 = field()
    results: list[AlterUserScramCredentialsResult] = field()
