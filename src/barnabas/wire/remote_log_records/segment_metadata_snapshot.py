"""A remote segment in a snapshot of remote metadata."""

from barnabas.wire.declare import field, metadata_record, struct
from barnabas.wire.types import Bool, Bytes, Int8, Int32, Int64, Uuid


@struct
class SegmentLeaderEpochEntry:
    leader_epoch: Int32 = field()
    offset: Int64 = field()


@metadata_record(key=3, versions="0", flexible="0+")
class RemoteLogSegmentMetadataSnapshotRecord:
    segment_id: Uuid = field()
    start_offset: Int64 = field()
    end_offset: Int64 = field()
    broker_id: Int32 = field()
    max_timestamp_ms: Int64 = field()
    event_timestamp_ms: Int64 = field()
    segment_leader_epochs: list[SegmentLeaderEpochEntry] = field()
    segment_size_in_bytes: Int32 = field()
    custom_metadata: Bytes | None = field(nullable="0+", default=None)
    remote_log_segment_state: Int8 = field()
    txn_index_empty: Bool = field(tag=0, tagged="0+", default=False)
