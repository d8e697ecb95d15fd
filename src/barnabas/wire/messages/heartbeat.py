"""Heartbeat: a classic group member reports that it is alive, and learns whether a rebalance is in
progress.
"""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Int16, Int32, String


@request(key=12, versions="0-4", flexible="4+")
class HeartbeatRequest:
    group_id: String = field()
    generation_id: Int32 = field()
    member_id: String = field()
    group_instance_id: String | None = field("3+", nullable="3+", default=None)


@response(key=12, versions="0-4", flexible="4+")
class HeartbeatResponse:
    throttle_time_ms: Int32 = field("1+", default=0, ignorable=True)
    error_code: Int16 = field()
