"""SyncGroup: the leader of a classic group sends the assignments, and each member receives its
own.
"""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bytes, Int16, Int32, String


@struct
class SyncGroupRequestAssignment:
    member_id: String = field()
    assignment: Bytes = field()


@request(key=14, versions="0-5", flexible="4+")
class SyncGroupRequest:
    group_id: String = field()
    generation_id: Int32 = field()
    member_id: String = field()
    group_instance_id: String | None = field("3+", nullable="3+", default=None)
    protocol_type: String | None = field("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: String | None = field("5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = field()


@response(key=14, versions="0-5", flexible="4+")
class SyncGroupResponse:
    throttle_time_ms: Int32 = field("1+", default=0, ignorable=True)
    error_code: Int16 = field()
    protocol_type: String | None = field("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: String | None = field("5+", nullable="5+", default=None, ignorable=True)
    assignment: Bytes = field()
