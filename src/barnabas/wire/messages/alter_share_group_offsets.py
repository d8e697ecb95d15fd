"""AlterShareGroupOffsets: move the start offsets of a share group."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, String, Uuid


@struct
class AlterShareGroupOffsetsRequestPartition:
    partition_index: Int32 = field()
    start_offset: Int64 = field()


@struct
class AlterShareGroupOffsetsRequestTopic:
    topic_name: String = field()
    partitions: list[AlterShareGroupOffsetsRequestPartition] = field()


@request(key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsRequest:
    group_id: String = field()
    topics: list[AlterShareGroupOffsetsRequestTopic] = field()


@struct
class AlterShareGroupOffsetsResponsePartition:
    partition_index: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)


@struct
class AlterShareGroupOffsetsResponseTopic:
    topic_name: String = field()
    topic_id: Uuid = field()
    partitions: list[AlterShareGroupOffsetsResponsePartition] = field()


@response(key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic] = field()
