"""Vote: ask for a vote, or with ``pre_vote`` whether the voter would grant one (KIP-996)."""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int16, Int32, Int64, String, Uint16, Uuid


@struct
class PartitionData:
    partition_index: Int32 = field()
    replica_epoch: Int32 = field()
    replica_id: Int32 = field()
    replica_directory_id: Uuid = field("1+", default=ZERO_UUID, ignorable=True)
    voter_directory_id: Uuid = field("1+", default=ZERO_UUID, ignorable=True)
    last_offset_epoch: Int32 = field()
    last_offset: Int64 = field()
    pre_vote: Bool = field("2+", default=False)


@struct
class TopicData:
    topic_name: String = field()
    partitions: list[PartitionData] = field()


@request(key=52, versions="0-2", flexible="0+")
class VoteRequest:
    cluster_id: String | None = field(nullable="0+", default=None)
    voter_id: Int32 = field("1+", default=-1, ignorable=True)
    topics: list[TopicData] = field()


@struct
class ResponsePartitionData:
    partition_index: Int32 = field()
    error_code: Int16 = field()
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()
    vote_granted: Bool = field()


@struct
class ResponseTopicData:
    topic_name: String = field()
    partitions: list[ResponsePartitionData] = field()


@struct
class NodeEndpoint:
    node_id: Int32 = field("1+", default=0)
    host: String = field("1+", default="")
    port: Uint16 = field("1+", default=0)


@response(key=52, versions="0-2", flexible="0+")
class VoteResponse:
    error_code: Int16 = field()
    topics: list[ResponseTopicData] = field()
    node_endpoints: list[NodeEndpoint] = field("1+", tag=0, tagged="1+", default_factory=list)
