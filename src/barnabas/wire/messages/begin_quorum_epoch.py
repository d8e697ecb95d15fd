"""BeginQuorumEpoch: a new quorum leader announces itself to the voters."""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, String, Uint16, Uuid


@struct
class PartitionData:
    partition_index: Int32 = field()
    voter_directory_id: Uuid = field("1+", default=ZERO_UUID, ignorable=True)
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()


@struct
class TopicData:
    topic_name: String = field()
    partitions: list[PartitionData] = field()


@struct
class LeaderEndpoint:
    name: String = field("1+", default="")
    host: String = field("1+", default="")
    port: Uint16 = field("1+", default=0)


@request(key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochRequest:
    cluster_id: String | None = field(nullable="0+", default=None)
    voter_id: Int32 = field("1+", default=-1, ignorable=True)
    topics: list[TopicData] = field()
    leader_endpoints: list[LeaderEndpoint] = field("1+", default_factory=list, ignorable=True)


@struct
class ResponsePartitionData:
    partition_index: Int32 = field()
    error_code: Int16 = field()
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()


@struct
class ResponseTopicData:
    topic_name: String = field()
    partitions: list[ResponsePartitionData] = field()


@struct
class NodeEndpoint:
    node_id: Int32 = field("1+", default=0)
    host: String = field("1+", default="")
    port: Uint16 = field("1+", default=0)


@response(key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochResponse:
    error_code: Int16 = field()
    topics: list[ResponseTopicData] = field()
    node_endpoints: list[NodeEndpoint] = field("1+", tag=0, tagged="1+", default_factory=list)
