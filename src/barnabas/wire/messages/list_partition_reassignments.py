"""ListPartitionReassignments: the reassignments in progress."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String


@struct
class ListPartitionReassignmentsTopics:
    name: String = field()
    partition_indexes: list[Int32] = field()


@request(key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsRequest:
    timeout_ms: Int32 = field(default=60_000)
    topics: list[ListPartitionReassignmentsTopics] | None = field(nullable="0+", default=None)


@struct
class OngoingPartitionReassignment:
    partition_index: Int32 = field()
    replicas: list[Int32] = field()
    adding_replicas: list[Int32] = field()
    removing_replicas: list[Int32] = field()


@struct
class OngoingTopicReassignment:
    name: String = field()
    partitions: list[OngoingPartitionReassignment] = field()


@response(key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    topics: list[OngoingTopicReassignment] = field()
