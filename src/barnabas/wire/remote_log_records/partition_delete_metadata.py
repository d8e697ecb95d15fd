"""The progress of deleting a partition's remote segments."""

from barnabas.wire.declare import field, metadata_record, struct
from barnabas.wire.types import Int8, Int32, Int64, String, Uuid


@struct
class TopicIdPartitionEntry:
    name: String = field()
    id: Uuid = field()
    partition: Int32 = field()


@metadata_record(key=2, versions="0", flexible="0+")
class RemotePartitionDeleteMetadataRecord:
    topic_id_partition: TopicIdPartitionEntry = field()
    broker_id: Int32 = field()
    event_timestamp_ms: Int64 = field()
    remote_partition_delete_state: Int8 = field()
