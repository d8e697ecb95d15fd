"""ListOffsets: the offset at a time, or at one of the special timestamps (-1 latest to -6)."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, Int64, String


@struct
class ListOffsetsPartition:
    partition_index: Int32 = field()
    current_leader_epoch: Int32 = field("4+", default=-1, ignorable=True)
    timestamp: Int64 = field()


@struct
class ListOffsetsTopic:
    name: String = field()
    partitions: list[ListOffsetsPartition] = field()


@request(key=2, versions="1-11", flexible="6+")
class ListOffsetsRequest:
    replica_id: Int32 = field()
    isolation_level: Int8 = field("2+", default=0)
    topics: list[ListOffsetsTopic] = field()
    timeout_ms: Int32 = field("10+", default=0, ignorable=True)


@struct
class ListOffsetsPartitionResponse:
    partition_index: Int32 = field()
    error_code: Int16 = field()
    timestamp: Int64 = field("1+", default=-1)
    offset: Int64 = field("1+", default=-1)
    leader_epoch: Int32 = field("4+", default=-1)


@struct
class ListOffsetsTopicResponse:
    name: String = field()
    partitions: list[ListOffsetsPartitionResponse] = field()


@response(key=2, versions="1-11", flexible="6+")
class ListOffsetsResponse:
    throttle_time_ms: Int32 = field("2+", default=0, ignorable=True)
    topics: list[ListOffsetsTopicResponse] = field()
