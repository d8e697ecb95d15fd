"""The partition counts a group epoch was computed from. Legacy: 4.x only deletes these."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Int32, String, Uuid


@coordinator_key(key=4, versions="0", flexible="none")
class ConsumerGroupPartitionMetadataKey:
    group_id: String = field("0")


@struct
class PartitionMetadata:
    partition: Int32 = field()
    racks: list[String] = field()


@struct
class TopicMetadata:
    topic_id: Uuid = field()
    topic_name: String = field()
    num_partitions: Int32 = field()
    partition_metadata: list[PartitionMetadata] = field()


@coordinator_value(key=4, versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue:
    topics: list[TopicMetadata] = field()
