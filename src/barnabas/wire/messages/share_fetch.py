"""ShareFetch: acquire records for a limited time, and acknowledge earlier ones."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int8, Int16, Int32, Int64, Records, String, Uuid


@struct
class AcknowledgementBatch:
    first_offset: Int64 = field()
    last_offset: Int64 = field()
    acknowledge_types: list[Int8] = field()


@struct
class FetchPartition:
    partition_index: Int32 = field()
    partition_max_bytes: Int32 = field("0", default=0)
    acknowledgement_batches: list[AcknowledgementBatch] = field()


@struct
class FetchTopic:
    topic_id: Uuid = field()
    partitions: list[FetchPartition] = field()


@struct
class ForgottenTopic:
    topic_id: Uuid = field()
    partitions: list[Int32] = field()


@request(key=78, versions="1-2", flexible="0+")
class ShareFetchRequest:
    group_id: String | None = field(nullable="0+", default=None)
    member_id: String | None = field(nullable="0+")
    share_session_epoch: Int32 = field()
    max_wait_ms: Int32 = field()
    min_bytes: Int32 = field()
    max_bytes: Int32 = field(default=0x7FFF_FFFF)
    max_records: Int32 = field("1+")
    batch_size: Int32 = field("1+")
    share_acquire_mode: Int8 = field("2+", default=0, ignorable=True)
    is_renew_ack: Bool = field("2+", default=False)
    topics: list[FetchTopic] = field()
    forgotten_topics_data: list[ForgottenTopic] = field()


@struct
class LeaderIdAndEpoch:
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()


@struct
class AcquiredRecords:
    first_offset: Int64 = field()
    last_offset: Int64 = field()
    delivery_count: Int16 = field()


@struct
class PartitionData:
    partition_index: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)
    acknowledge_error_code: Int16 = field()
    acknowledge_error_message: String | None = field(nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = field()
    records: Records | None = field(nullable="0")
    acquired_records: list[AcquiredRecords] = field()


@struct
class ShareFetchableTopicResponse:
    topic_id: Uuid = field()
    partitions: list[PartitionData] = field()


@struct
class NodeEndpoint:
    node_id: Int32 = field()
    host: String = field()
    port: Int32 = field()
    rack: String | None = field(nullable="0+", default=None)


@response(key=78, versions="1-2", flexible="0+")
class ShareFetchResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)
    acquisition_lock_timeout_ms: Int32 = field("1+")
    responses: list[ShareFetchableTopicResponse] = field()
    node_endpoints: list[NodeEndpoint] = field()
