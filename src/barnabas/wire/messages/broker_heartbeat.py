"""BrokerHeartbeat: a broker reports that it is alive, and asks to be fenced, unfenced or shut
down.
"""

from barnabas.wire.declare import field, request, response
from barnabas.wire.types import Bool, Int16, Int32, Int64, Uuid


@request(key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatRequest:
    broker_id: Int32 = field()
    broker_epoch: Int64 = field(default=-1)
    current_metadata_offset: Int64 = field()
    want_fence: Bool = field()
    want_shut_down: Bool = field()
    offline_log_dirs: list[Uuid] = field("1+", tag=0, tagged="1+", default_factory=list)
    cordoned_log_dirs: list[Uuid] | None = field("2+", nullable="2+", tag=1, tagged="2+", default=None)


@response(key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    is_caught_up: Bool = field(default=False)
    is_fenced: Bool = field(default=True)
    should_shut_down: Bool = field()
