"""WriteShareGroupState: changes to the delivery state of share partitions."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, Int64, String, Uuid


@struct
class StateBatch:
    first_offset: Int64 = field()
    last_offset: Int64 = field()
    delivery_state: Int8 = field()
    delivery_count: Int16 = field()


@struct
class PartitionData:
    partition: Int32 = field()
    state_epoch: Int32 = field()
    leader_epoch: Int32 = field()
    start_offset: Int64 = field()
    delivery_complete_count: Int32 = field("1+", default=-1, ignorable=True)
    state_batches: list[StateBatch] = field()


@struct
class WriteStateData:
    topic_id: Uuid = field()
    partitions: list[PartitionData] = field()


@request(key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateRequest:
    group_id: String = field()
    topics: list[WriteStateData] = field()


@struct
class PartitionResult:
    partition: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)


@struct
class WriteStateResult:
    topic_id: Uuid = field()
    partitions: list[PartitionResult] = field()


@response(key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateResponse:
    results: list[WriteStateResult] = field()
