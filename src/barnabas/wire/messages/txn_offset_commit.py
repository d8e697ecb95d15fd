"""TxnOffsetCommit: store a group's offsets that take effect only if the transaction commits."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, String


@struct
class TxnOffsetCommitRequestPartition:
    partition_index: Int32 = field()
    committed_offset: Int64 = field()
    committed_leader_epoch: Int32 = field("2+", default=-1, ignorable=True)
    committed_metadata: String | None = field(nullable="0+")


@struct
class TxnOffsetCommitRequestTopic:
    name: String = field()
    partitions: list[TxnOffsetCommitRequestPartition] = field()


@request(key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitRequest:
    transactional_id: String = field()
    group_id: String = field()
    producer_id: Int64 = field()
    producer_epoch: Int16 = field()
    generation_id: Int32 = field("3+", default=-1)
    member_id: String = field("3+", default="")
    group_instance_id: String | None = field("3+", nullable="3+", default=None)
    topics: list[TxnOffsetCommitRequestTopic] = field()


@struct
class TxnOffsetCommitResponsePartition:
    partition_index: Int32 = field()
    error_code: Int16 = field()


@struct
class TxnOffsetCommitResponseTopic:
    name: String = field()
    partitions: list[TxnOffsetCommitResponsePartition] = field()


@response(key=28, versions="0-5", flexible="3+")
class TxnOffsetCommitResponse:
    throttle_time_ms: Int32 = field()
    topics: list[TxnOffsetCommitResponseTopic] = field()
