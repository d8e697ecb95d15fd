"""ShareGroupHeartbeat: the one membership request of a share group (KIP-932)."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String, Uuid


@request(key=76, versions="1", flexible="0+")
class ShareGroupHeartbeatRequest:
    group_id: String = field()
    member_id: String = field()
    member_epoch: Int32 = field()
    rack_id: String | None = field(nullable="0+", default=None)
    subscribed_topic_names: list[String] | None = field(nullable="0+", default=None)


@struct
class TopicPartitions:
    topic_id: Uuid = field()
    partitions: list[Int32] = field()


@struct
class Assignment:
    topic_partitions: list[TopicPartitions] = field()


@response(key=76, versions="1", flexible="0+")
class ShareGroupHeartbeatResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)
    member_id: String | None = field(nullable="0+", default=None)
    member_epoch: Int32 = field()
    heartbeat_interval_ms: Int32 = field()
    assignment: Assignment | None = field(nullable="0+", default=None)
