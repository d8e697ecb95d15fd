"""A streams group's epoch."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Int32, Int64, String


@coordinator_key(key=17, versions="0", flexible="none")
class StreamsGroupMetadataKey:
    group_id: String = field("0")


@struct
class LastAssignmentConfig:
    key: String = field()
    value: String = field()


@coordinator_value(key=17, versions="0", flexible="0+")
class StreamsGroupMetadataValue:
    epoch: Int32 = field()
    metadata_hash: Int64 = field()
    validated_topology_epoch: Int32 = field(tag=0, tagged="0+", default=-1)
    last_assignment_configs: list[LastAssignmentConfig] | None = field(nullable="0+", tag=1, tagged="0+", default_factory=list)
