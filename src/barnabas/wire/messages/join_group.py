"""JoinGroup: join a classic group and its next generation."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Bytes, Int16, Int32, String


@struct
class JoinGroupRequestProtocol:
    name: String = field()
    metadata: Bytes = field()


@request(key=11, versions="0-9", flexible="6+")
class JoinGroupRequest:
    group_id: String = field()
    session_timeout_ms: Int32 = field()
    rebalance_timeout_ms: Int32 = field("1+", default=-1, ignorable=True)
    member_id: String = field()
    group_instance_id: String | None = field("5+", nullable="5+", default=None)
    protocol_type: String = field()
    protocols: list[JoinGroupRequestProtocol] = field()
    reason: String | None = field("8+", nullable="8+", default=None, ignorable=True)


@struct
class JoinGroupResponseMember:
    member_id: String = field()
    group_instance_id: String | None = field("5+", nullable="5+", default=None, ignorable=True)
    metadata: Bytes = field()


@response(key=11, versions="0-9", flexible="6+")
class JoinGroupResponse:
    throttle_time_ms: Int32 = field("2+", default=0, ignorable=True)
    error_code: Int16 = field()
    generation_id: Int32 = field(default=-1)
    protocol_type: String | None = field("7+", nullable="7+", default=None, ignorable=True)
    protocol_name: String | None = field(nullable="7+")
    leader: String = field()
    skip_assignment: Bool = field("9+", default=False)
    member_id: String = field()
    members: list[JoinGroupResponseMember] = field()
