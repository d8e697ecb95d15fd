"""Fetch: read record batches, for consumers and for followers.

Version notes: 7 sessions (KIP-227); 9 leader epochs; 11 rack; 12 flexible, diverging epochs; 13
topic ids; 15 replica state is a tagged struct; 16 leader endpoints; 17 directory ids; 18 the
follower's high watermark.
"""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, Int64, Records, String, Uuid


@struct
class ReplicaState:
    replica_id: Int32 = field("15+", default=-1)
    replica_epoch: Int64 = field("15+", default=-1)


@struct
class FetchPartition:
    partition: Int32 = field()
    current_leader_epoch: Int32 = field("9+", default=-1, ignorable=True)
    fetch_offset: Int64 = field()
    last_fetched_epoch: Int32 = field("12+", default=-1)
    log_start_offset: Int64 = field("5+", default=-1, ignorable=True)
    partition_max_bytes: Int32 = field()
    replica_directory_id: Uuid = field("17+", tag=0, tagged="17+", default=ZERO_UUID, ignorable=True)
    high_watermark: Int64 = field("18+", tag=1, tagged="18+", default=0x7FFF_FFFF_FFFF_FFFF, ignorable=True)


@struct
class FetchTopic:
    topic: String = field("0-12", default="", ignorable=True)
    topic_id: Uuid = field("13+", default=ZERO_UUID, ignorable=True)
    partitions: list[FetchPartition] = field()


@struct
class ForgottenTopic:
    topic: String = field("7-12", default="", ignorable=True)
    topic_id: Uuid = field("13+", default=ZERO_UUID, ignorable=True)
    partitions: list[Int32] = field("7+", default_factory=list)


@request(key=1, versions="4-18", flexible="12+")
class FetchRequest:
    cluster_id: String | None = field("12+", nullable="12+", tag=0, tagged="12+", default=None, ignorable=True)
    replica_id: Int32 = field("0-14", default=-1)
    replica_state: ReplicaState = field("15+", tag=1, tagged="15+", default_factory=ReplicaState)
    max_wait_ms: Int32 = field()
    min_bytes: Int32 = field()
    max_bytes: Int32 = field("3+", default=0x7FFF_FFFF, ignorable=True)
    isolation_level: Int8 = field("4+", default=0, ignorable=True)
    session_id: Int32 = field("7+", default=0, ignorable=True)
    session_epoch: Int32 = field("7+", default=-1, ignorable=True)
    topics: list[FetchTopic] = field()
    forgotten_topics_data: list[ForgottenTopic] = field("7+", default_factory=list)
    rack_id: String = field("11+", default="", ignorable=True)


@struct
class EpochEndOffset:
    epoch: Int32 = field("12+", default=-1)
    end_offset: Int64 = field("12+", default=-1)


@struct
class LeaderIdAndEpoch:
    leader_id: Int32 = field("12+", default=-1)
    leader_epoch: Int32 = field("12+", default=-1)


@struct
class SnapshotId:
    end_offset: Int64 = field(default=-1)
    epoch: Int32 = field(default=-1)


@struct
class AbortedTransaction:
    producer_id: Int64 = field("4+")
    first_offset: Int64 = field("4+")


@struct
class PartitionData:
    partition_index: Int32 = field()
    error_code: Int16 = field()
    high_watermark: Int64 = field()
    last_stable_offset: Int64 = field("4+", default=-1, ignorable=True)
    log_start_offset: Int64 = field("5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = field("12+", tag=0, tagged="12+", default_factory=EpochEndOffset)
    current_leader: LeaderIdAndEpoch = field("12+", tag=1, tagged="12+", default_factory=LeaderIdAndEpoch)
    snapshot_id: SnapshotId = field("12+", tag=2, tagged="12+", default_factory=SnapshotId)
    aborted_transactions: list[AbortedTransaction] | None = field("4+", nullable="4+", ignorable=True)
    preferred_read_replica: Int32 = field("11+", default=-1)
    records: Records | None = field(nullable="0+")


@struct
class FetchableTopicResponse:
    topic: String = field("0-12", default="", ignorable=True)
    topic_id: Uuid = field("13+", default=ZERO_UUID, ignorable=True)
    partitions: list[PartitionData] = field()


@struct
class NodeEndpoint:
    node_id: Int32 = field("16+", default=0)
    host: String = field("16+", default="")
    port: Int32 = field("16+", default=0)
    rack: String | None = field("16+", nullable="16+", default=None)


@response(key=1, versions="4-18", flexible="12+")
class FetchResponse:
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field("7+", default=0, ignorable=True)
    session_id: Int32 = field("7+", default=0)
    responses: list[FetchableTopicResponse] = field()
    node_endpoints: list[NodeEndpoint] = field("16+", tag=0, tagged="16+", default_factory=list)
