"""CreateAcls: new access rules."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, String


@struct
class AclCreation:
    resource_type: Int8 = field()
    resource_name: String = field()
    resource_pattern_type: Int8 = field("1+", default=3)
    principal: String = field()
    host: String = field()
    operation: Int8 = field()
    permission_type: Int8 = field()


@request(key=30, versions="1-3", flexible="2+")
class CreateAclsRequest:
    creations: list[AclCreation] = field()


@struct
class AclCreationResult:
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")


@response(key=30, versions="1-3", flexible="2+")
class CreateAclsResponse:
    throttle_time_ms: Int32 = field()
    results: list[AclCreationResult] = field()
