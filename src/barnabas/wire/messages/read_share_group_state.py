"""ReadShareGroupState: the delivery state of share partitions."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, Int64, String, Uuid


@struct
class PartitionData:
    partition: Int32 = field()
    leader_epoch: Int32 = field()


@struct
class ReadStateData:
    topic_id: Uuid = field()
    partitions: list[PartitionData] = field()


@request(key=84, versions="0", flexible="0+")
class ReadShareGroupStateRequest:
    group_id: String = field()
    topics: list[ReadStateData] = field()


@struct
class StateBatch:
    first_offset: Int64 = field()
    last_offset: Int64 = field()
    delivery_state: Int8 = field()
    delivery_count: Int16 = field()


@struct
class PartitionResult:
    partition: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)
    state_epoch: Int32 = field()
    start_offset: Int64 = field()
    state_batches: list[StateBatch] = field()


@struct
class ReadStateResult:
    topic_id: Uuid = field()
    partitions: list[PartitionResult] = field()


@response(key=84, versions="0", flexible="0+")
class ReadShareGroupStateResponse:
    results: list[ReadStateResult] = field()
