"""ElectLeaders: run preferred or unclean elections on request."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, String


@struct
class TopicPartitions:
    topic: String = field()
    partitions: list[Int32] = field()


@request(key=43, versions="0-2", flexible="2+")
class ElectLeadersRequest:
    election_type: Int8 = field("1+", default=0)
    topic_partitions: list[TopicPartitions] | None = field(nullable="0+")
    timeout_ms: Int32 = field(default=60_000)


@struct
class PartitionResult:
    partition_id: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")


@struct
class ReplicaElectionResult:
    topic: String = field()
    partition_result: list[PartitionResult] = field()


@response(key=43, versions="0-2", flexible="2+")
class ElectLeadersResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field("1+", default=0)
    replica_election_results: list[ReplicaElectionResult] = field()
