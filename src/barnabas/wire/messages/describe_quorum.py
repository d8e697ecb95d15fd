"""DescribeQuorum: the voters and observers of the metadata log, with the log end offset of each."""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, String, Uint16, Uuid


@struct
class PartitionData:
    partition_index: Int32 = field()


@struct
class TopicData:
    topic_name: String = field()
    partitions: list[PartitionData] = field()


@request(key=55, versions="0-2", flexible="0+")
class DescribeQuorumRequest:
    topics: list[TopicData] = field()


@struct
class ReplicaState:
    replica_id: Int32 = field()
    replica_directory_id: Uuid = field("2+", default=ZERO_UUID)
    log_end_offset: Int64 = field()
    last_fetch_timestamp: Int64 = field("1+", default=-1, ignorable=True)
    last_caught_up_timestamp: Int64 = field("1+", default=-1, ignorable=True)


@struct
class ResponsePartitionData:
    partition_index: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field("2+", nullable="2+", default="", ignorable=True)
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()
    high_watermark: Int64 = field()
    current_voters: list[ReplicaState] = field()
    observers: list[ReplicaState] = field()


@struct
class ResponseTopicData:
    topic_name: String = field()
    partitions: list[ResponsePartitionData] = field()


@struct
class Listener:
    name: String = field("2+", default="")
    host: String = field("2+", default="")
    port: Uint16 = field("2+", default=0)


@struct
class Node:
    node_id: Int32 = field("2+", default=0)
    listeners: list[Listener] = field("2+", default_factory=list)


@response(key=55, versions="0-2", flexible="0+")
class DescribeQuorumResponse:
    error_code: Int16 = field()
    error_message: String | None = field("2+", nullable="2+", default="", ignorable=True)
    topics: list[ResponseTopicData] = field()
    nodes: list[Node] = field("2+", default_factory=list)
