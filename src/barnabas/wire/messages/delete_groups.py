"""DeleteGroups: delete empty groups and their offsets."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String


@request(key=42, versions="0-2", flexible="2+")
class DeleteGroupsRequest:
    groups_names: list[String] = field()


@struct
class DeletableGroupResult:
    group_id: String = field()
    error_code: Int16 = field()


@response(key=42, versions="0-2", flexible="2+")
class DeleteGroupsResponse:
    throttle_time_ms: Int32 = field()
    results: list[DeletableGroupResult] = field(encodable=True)
