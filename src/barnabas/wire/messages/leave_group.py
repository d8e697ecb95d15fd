"""LeaveGroup: members leave a classic group; from version 3 several at once."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String


@struct
class MemberIdentity:
    member_id: String = field("3+", default="")
    group_instance_id: String | None = field("3+", nullable="3+", default=None)
    reason: String | None = field("5+", nullable="5+", default=None, ignorable=True)


@request(key=13, versions="0-5", flexible="4+")
class LeaveGroupRequest:
    group_id: String = field()
    member_id: String = field("0-2", default="")
    members: list[MemberIdentity] = field("3+", default_factory=list)


@struct
class MemberResponse:
    member_id: String = field("3+", default="")
    group_instance_id: String | None = field("3+", nullable="3+", default="")
    error_code: Int16 = field("3+", default=0)


@response(key=13, versions="0-5", flexible="4+")
class LeaveGroupResponse:
    throttle_time_ms: Int32 = field("1+", default=0, ignorable=True)
    error_code: Int16 = field()
    members: list[MemberResponse] = field("3+", default_factory=list)
