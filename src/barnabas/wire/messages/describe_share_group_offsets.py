"""DescribeShareGroupOffsets: the start offsets of share groups."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, String, Uuid


@struct
class DescribeShareGroupOffsetsRequestTopic:
    topic_name: String = field()
    partitions: list[Int32] = field()


@struct
class DescribeShareGroupOffsetsRequestGroup:
    group_id: String = field()
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = field(nullable="0+")


@request(key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsRequest:
    groups: list[DescribeShareGroupOffsetsRequestGroup] = field()


@struct
class DescribeShareGroupOffsetsResponsePartition:
    partition_index: Int32 = field()
    start_offset: Int64 = field()
    leader_epoch: Int32 = field()
    lag: Int64 = field("1+", default=-1, ignorable=True)
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)


@struct
class DescribeShareGroupOffsetsResponseTopic:
    topic_name: String = field()
    topic_id: Uuid = field()
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = field()


@struct
class DescribeShareGroupOffsetsResponseGroup:
    group_id: String = field()
    topics: list[DescribeShareGroupOffsetsResponseTopic] = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)


@response(key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsResponse:
    throttle_time_ms: Int32 = field()
    groups: list[DescribeShareGroupOffsetsResponseGroup] = field()
