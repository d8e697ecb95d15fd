"""DescribeProducers: the producers with state in a partition."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, String


@struct
class TopicRequest:
    name: String = field()
    partition_indexes: list[Int32] = field()


@request(key=61, versions="0", flexible="0+")
class DescribeProducersRequest:
    topics: list[TopicRequest] = field()


@struct
class ProducerState:
    producer_id: Int64 = field()
    producer_epoch: Int32 = field()
    last_sequence: Int32 = field(default=-1)
    last_timestamp: Int64 = field(default=-1)
    coordinator_epoch: Int32 = field()
    current_txn_start_offset: Int64 = field(default=-1)


@struct
class PartitionResponse:
    partition_index: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)
    active_producers: list[ProducerState] = field()


@struct
class TopicResponse:
    name: String = field()
    partitions: list[PartitionResponse] = field()


@response(key=61, versions="0", flexible="0+")
class DescribeProducersResponse:
    throttle_time_ms: Int32 = field()
    topics: list[TopicResponse] = field()
