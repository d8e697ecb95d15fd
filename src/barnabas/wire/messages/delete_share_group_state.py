"""DeleteShareGroupState: delete the state of share partitions from the share coordinator."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String, Uuid


@struct
class PartitionData:
    partition: Int32 = field()


@struct
class DeleteStateData:
    topic_id: Uuid = field()
    partitions: list[PartitionData] = field()


@request(key=86, versions="0", flexible="0+")
class DeleteShareGroupStateRequest:
    group_id: String = field()
    topics: list[DeleteStateData] = field()


@struct
class PartitionResult:
    partition: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)


@struct
class DeleteStateResult:
    topic_id: Uuid = field()
    partitions: list[PartitionResult] = field()


@response(key=86, versions="0", flexible="0+")
class DeleteShareGroupStateResponse:
    results: list[DeleteStateResult] = field()
