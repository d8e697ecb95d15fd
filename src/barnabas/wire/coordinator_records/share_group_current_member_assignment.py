"""The current assignment of one member of a share group."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Int8, Int32, String, Uuid


@coordinator_key(key=14, versions="0", flexible="none")
class ShareGroupCurrentMemberAssignmentKey:
    group_id: String = field("0")
    member_id: String = field("0")


@struct
class TopicPartitions:
    topic_id: Uuid = field()
    partitions: list[Int32] = field()


@coordinator_value(key=14, versions="0", flexible="0+")
class ShareGroupCurrentMemberAssignmentValue:
    member_epoch: Int32 = field()
    previous_member_epoch: Int32 = field()
    state: Int8 = field()
    assigned_partitions: list[TopicPartitions] = field()
