"""OffsetDelete: delete a group's offsets in some partitions."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String


@struct
class OffsetDeleteRequestPartition:
    partition_index: Int32 = field()


@struct
class OffsetDeleteRequestTopic:
    name: String = field()
    partitions: list[OffsetDeleteRequestPartition] = field()


@request(key=47, versions="0", flexible="none")
class OffsetDeleteRequest:
    group_id: String = field()
    topics: list[OffsetDeleteRequestTopic] = field()


@struct
class OffsetDeleteResponsePartition:
    partition_index: Int32 = field()
    error_code: Int16 = field()


@struct
class OffsetDeleteResponseTopic:
    name: String = field()
    partitions: list[OffsetDeleteResponsePartition] = field()


@response(key=47, versions="0", flexible="none")
class OffsetDeleteResponse:
    error_code: Int16 = field()
    throttle_time_ms: Int32 = field(ignorable=True)
    topics: list[OffsetDeleteResponseTopic] = field()
