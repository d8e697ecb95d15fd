"""The target assignment of one member."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Int32, String, Uuid


@coordinator_key(key=7, versions="0", flexible="none")
class ConsumerGroupTargetAssignmentMemberKey:
    group_id: String = field("0")
    member_id: String = field("0")


@struct
class TopicPartition:
    topic_id: Uuid = field()
    partitions: list[Int32] = field()


@coordinator_value(key=7, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue:
    topic_partitions: list[TopicPartition] = field()
