"""FetchSnapshot: a piece of a metadata snapshot."""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, Records, String, Uint16, Uuid


@struct
class SnapshotId:
    end_offset: Int64 = field()
    epoch: Int32 = field()


@struct
class PartitionSnapshot:
    partition: Int32 = field()
    current_leader_epoch: Int32 = field()
    snapshot_id: SnapshotId = field()
    position: Int64 = field()
    replica_directory_id: Uuid = field("1+", tag=0, tagged="1+", default=ZERO_UUID, ignorable=True)


@struct
class TopicSnapshot:
    name: String = field()
    partitions: list[PartitionSnapshot] = field()


@request(key=59, versions="0-1", flexible="0+")
class FetchSnapshotRequest:
    cluster_id: String | None = field(nullable="0+", tag=0, tagged="0+", default=None)
    replica_id: Int32 = field(default=-1)
    max_bytes: Int32 = field(default=0x7FFF_FFFF)
    topics: list[TopicSnapshot] = field()


@struct
class ResponseSnapshotId:
    end_offset: Int64 = field()
    epoch: Int32 = field()


@struct
class LeaderIdAndEpoch:
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()


@struct
class ResponsePartitionSnapshot:
    index: Int32 = field()
    error_code: Int16 = field()
    snapshot_id: ResponseSnapshotId = field()
    current_leader: LeaderIdAndEpoch = field(tag=0, tagged="0+", default_factory=LeaderIdAndEpoch)
    size: Int64 = field()
    position: Int64 = field()
    unaligned_records: Records = field()


@struct
class ResponseTopicSnapshot:
    name: String = field()
    partitions: list[ResponsePartitionSnapshot] = field()


@struct
class NodeEndpoint:
    node_id: Int32 = field("1+", default=0)
    host: String = field("1+", default="")
    port: Uint16 = field("1+", default=0)


@response(key=59, versions="0-1", flexible="0+")
class FetchSnapshotResponse:
    throttle_time_ms: Int32 = field(ignorable=True)
    error_code: Int16 = field()
    topics: list[ResponseTopicSnapshot] = field()
    node_endpoints: list[NodeEndpoint] = field("1+", tag=0, tagged="1+", default_factory=list)
