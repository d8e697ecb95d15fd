"""DescribeAcls: the access rules that match a filter."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, String


@request(key=29, versions="1-3", flexible="2+")
class DescribeAclsRequest:
    resource_type_filter: Int8 = field()
    resource_name_filter: String | None = field(nullable="0+")
    pattern_type_filter: Int8 = field("1+", default=3)
    principal_filter: String | None = field(nullable="0+")
    host_filter: String | None = field(nullable="0+")
    operation: Int8 = field()
    permission_type: Int8 = field()


@struct
class AclDescription:
    principal: String = field()
    host: String = field()
    operation: Int8 = field()
    permission_type: Int8 = field()


@struct
class DescribeAclsResource:
    resource_type: Int8 = field()
    resource_name: String = field()
    pattern_type: Int8 = field("1+", default=3)
    acls: list[AclDescription] = field()


@response(key=29, versions="1-3", flexible="2+")
class DescribeAclsResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    resources: list[DescribeAclsResource] = field()
