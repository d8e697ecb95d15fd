"""ReadShareGroupStateSummary: start offsets of share partitions without their batches."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, String, Uuid


@struct
class PartitionData:
    partition: Int32 = field()
    leader_epoch: Int32 = field()


@struct
class ReadStateSummaryData:
    topic_id: Uuid = field()
    partitions: list[PartitionData] = field()


@request(key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryRequest:
    group_id: String = field()
    topics: list[ReadStateSummaryData] = field()


@struct
class PartitionResult:
    partition: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)
    state_epoch: Int32 = field()
    leader_epoch: Int32 = field()
    start_offset: Int64 = field()
    delivery_complete_count: Int32 = field("1+", default=-1, ignorable=True)


@struct
class ReadStateSummaryResult:
    topic_id: Uuid = field()
    partitions: list[PartitionResult] = field()


@response(key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryResponse:
    results: list[ReadStateSummaryResult] = field()
