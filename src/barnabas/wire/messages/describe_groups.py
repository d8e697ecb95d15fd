"""DescribeGroups: the state and the members of classic groups."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Bytes, Int16, Int32, String


@request(key=15, versions="0-6", flexible="5+")
class DescribeGroupsRequest:
    groups: list[String] = field()
    include_authorized_operations: Bool = field("3+", default=False)


@struct
class DescribedGroupMember:
    member_id: String = field()
    group_instance_id: String | None = field("4+", nullable="4+", default=None, ignorable=True)
    client_id: String = field()
    client_host: String = field()
    member_metadata: Bytes = field()
    member_assignment: Bytes = field()


@struct
class DescribedGroup:
    error_code: Int16 = field()
    error_message: String | None = field("6+", nullable="6+", default=None)
    group_id: String = field()
    group_state: String = field()
    protocol_type: String = field()
    protocol_data: String = field()
    members: list[DescribedGroupMember] = field()
    authorized_operations: Int32 = field("3+", default=-2_147_483_648)


@response(key=15, versions="0-6", flexible="5+")
class DescribeGroupsResponse:
    throttle_time_ms: Int32 = field("1+", default=0, ignorable=True)
    groups: list[DescribedGroup] = field(encodable=True)
