"""The epoch of a group's target assignment."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field
from barnabas.wire.types import Int32, Int64, String


@coordinator_key(key=6, versions="0", flexible="none")
class ConsumerGroupTargetAssignmentMetadataKey:
    group_id: String = field("0")


@coordinator_value(key=6, versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue:
    assignment_epoch: Int32 = field()
    assignment_timestamp: Int64 = field(tag=0, tagged="0+", default=0, ignorable=True)
