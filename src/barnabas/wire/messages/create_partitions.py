"""CreatePartitions: give topics more partitions."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int16, Int32, String


@struct
class CreatePartitionsAssignment:
    broker_ids: list[Int32] = field()


@struct
class CreatePartitionsTopic:
    name: String = field()
    count: Int32 = field()
    assignments: list[CreatePartitionsAssignment] | None = field(nullable="0+")


@request(key=37, versions="0-3", flexible="2+")
class CreatePartitionsRequest:
    topics: list[CreatePartitionsTopic] = field()
    timeout_ms: Int32 = field()
    validate_only: Bool = field()


@struct
class CreatePartitionsTopicResult:
    name: String = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)


@response(key=37, versions="0-3", flexible="2+")
class CreatePartitionsResponse:
    throttle_time_ms: Int32 = field()
    results: list[CreatePartitionsTopicResult] = field()
