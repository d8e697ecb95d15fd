"""DeleteAcls: remove the access rules that match filters."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, String


@struct
class DeleteAclsFilter:
    resource_type_filter: Int8 = field()
    resource_name_filter: String | None = field(nullable="0+")
    pattern_type_filter: Int8 = field("1+", default=3)
    principal_filter: String | None = field(nullable="0+")
    host_filter: String | None = field(nullable="0+")
    operation: Int8 = field()
    permission_type: Int8 = field()


@request(key=31, versions="1-3", flexible="2+")
class DeleteAclsRequest:
    filters: list[DeleteAclsFilter] = field()


@struct
class DeleteAclsMatchingAcl:
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    resource_type: Int8 = field()
    resource_name: String = field()
    pattern_type: Int8 = field("1+", default=3)
    principal: String = field()
    host: String = field()
    operation: Int8 = field()
    permission_type: Int8 = field()


@struct
class DeleteAclsFilterResult:
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    matching_acls: list[DeleteAclsMatchingAcl] = field()


@response(key=31, versions="1-3", flexible="2+")
class DeleteAclsResponse:
    throttle_time_ms: Int32 = field()
    filter_results: list[DeleteAclsFilterResult] = field()
