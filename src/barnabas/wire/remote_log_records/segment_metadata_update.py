"""A change of a remote segment: its copy finished, or its deletion began or finished."""

from barnabas.wire.declare import field, metadata_record, struct
from barnabas.wire.types import Bytes, Int8, Int32, Int64, String, Uuid


@struct
class TopicIdPartitionEntry:
    name: String = field()
    id: Uuid = field()
    partition: Int32 = field()


@struct
class RemoteLogSegmentIdEntry:
    topic_id_partition: TopicIdPartitionEntry = field()
    id: Uuid = field()


@metadata_record(key=1, versions="0", flexible="0+")
class RemoteLogSegmentMetadataUpdateRecord:
    remote_log_segment_id: RemoteLogSegmentIdEntry = field()
    broker_id: Int32 = field()
    event_timestamp_ms: Int64 = field()
    custom_metadata: Bytes | None = field(nullable="0+", default=None)
    remote_log_segment_state: Int8 = field()
