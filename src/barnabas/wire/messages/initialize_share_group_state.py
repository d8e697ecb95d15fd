"""InitializeShareGroupState: create the state of share partitions in the share coordinator."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, String, Uuid


@struct
class PartitionData:
    partition: Int32 = field()
    state_epoch: Int32 = field()
    start_offset: Int64 = field()


@struct
class InitializeStateData:
    topic_id: Uuid = field()
    partitions: list[PartitionData] = field()


@request(key=83, versions="0", flexible="0+")
class InitializeShareGroupStateRequest:
    group_id: String = field()
    topics: list[InitializeStateData] = field()


@struct
class PartitionResult:
    partition: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)


@struct
class InitializeStateResult:
    topic_id: Uuid = field()
    partitions: list[PartitionResult] = field()


@response(key=83, versions="0", flexible="0+")
class InitializeShareGroupStateResponse:
    results: list[InitializeStateResult] = field()
