"""The share partitions that have state in the share coordinator."""

from barnabas.wire.declare import coordinator_key, coordinator_value, field, struct
from barnabas.wire.types import Int32, String, Uuid


@coordinator_key(key=15, versions="0", flexible="none")
class ShareGroupStatePartitionMetadataKey:
    group_id: String = field("0")


@struct
class TopicPartitionsInfo:
    topic_id: Uuid = field()
    topic_name: String = field()
    partitions: list[Int32] = field()


@struct
class TopicInfo:
    topic_id: Uuid = field()
    topic_name: String = field()


@coordinator_value(key=15, versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue:
    initializing_topics: list[TopicPartitionsInfo] = field()
    initialized_topics: list[TopicPartitionsInfo] = field()
    deleting_topics: list[TopicInfo] = field()
