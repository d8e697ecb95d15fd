"""DescribeTopicPartitions: partitions of topics in pages, with eligible leader replicas
(KIP-966).
"""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int16, Int32, String, Uuid


@struct
class TopicRequest:
    name: String = field()


@struct
class Cursor:
    topic_name: String = field()
    partition_index: Int32 = field()


@request(key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsRequest:
    topics: list[TopicRequest] = field()
    response_partition_limit: Int32 = field(default=2_000)
    cursor: Cursor | None = field(nullable="0+", default=None)


@struct
class DescribeTopicPartitionsResponsePartition:
    error_code: Int16 = field()
    partition_index: Int32 = field()
    leader_id: Int32 = field()
    leader_epoch: Int32 = field(default=-1, ignorable=True)
    replica_nodes: list[Int32] = field()
    isr_nodes: list[Int32] = field()
    eligible_leader_replicas: list[Int32] | None = field(nullable="0+", default=None)
    last_known_elr: list[Int32] | None = field(nullable="0+", default=None)
    offline_replicas: list[Int32] = field(ignorable=True)


@struct
class DescribeTopicPartitionsResponseTopic:
    error_code: Int16 = field()
    name: String | None = field(nullable="0+")
    topic_id: Uuid = field(ignorable=True)
    is_internal: Bool = field(default=False, ignorable=True)
    partitions: list[DescribeTopicPartitionsResponsePartition] = field(encodable=True)
    topic_authorized_operations: Int32 = field(default=-2_147_483_648)


@struct
class ResponseCursor:
    topic_name: String = field()
    partition_index: Int32 = field()


@response(key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsResponse:
    throttle_time_ms: Int32 = field(ignorable=True)
    topics: list[DescribeTopicPartitionsResponseTopic] = field(encodable=True)
    next_cursor: ResponseCursor | None = field(nullable="0+", default=None)
