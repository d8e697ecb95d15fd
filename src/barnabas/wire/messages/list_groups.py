"""ListGroups: the groups this broker coordinates, by state and by type."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String


@request(key=16, versions="0-5", flexible="3+")
class ListGroupsRequest:
    states_filter: list[String] = field("4+", default_factory=list)
    types_filter: list[String] = field("5+", default_factory=list)


@struct
class ListedGroup:
    group_id: String = field()
    protocol_type: String = field()
    group_state: String = field("4+", default="", ignorable=True)
    group_type: String = field("5+", default="", ignorable=True)


@response(key=16, versions="0-5", flexible="3+")
class ListGroupsResponse:
    throttle_time_ms: Int32 = field("1+", default=0, ignorable=True)
    error_code: Int16 = field()
    groups: list[ListedGroup] = field()
