"""Produce: append record batches to partitions.

Version notes: 9 flexible; 10 leader hints (KIP-951); 12 adds partitions to a transaction implicitly
(KIP-890); 13 topic ids instead of names. Versions 0-2 are advertised and refused, see
``api/broker_apis/api_versions``.
"""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int16, Int32, Int64, Records, String, Uuid


@struct
class PartitionProduceData:
    index: Int32 = field()
    records: Records | None = field(nullable="0+")


@struct
class TopicProduceData:
    name: String = field("0-12", default="", ignorable=True)
    topic_id: Uuid = field("13+", default=ZERO_UUID, ignorable=True)
    partition_data: list[PartitionProduceData] = field()


@request(key=0, versions="3-13", flexible="9+")
class ProduceRequest:
    transactional_id: String | None = field("3+", nullable="3+", default=None)
    acks: Int16 = field()
    timeout_ms: Int32 = field()
    topic_data: list[TopicProduceData] = field()


@struct
class BatchIndexAndErrorMessage:
    batch_index: Int32 = field("8+", default=0)
    batch_index_error_message: String | None = field("8+", nullable="8+", default=None)


@struct
class LeaderIdAndEpoch:
    leader_id: Int32 = field("10+", default=-1)
    leader_epoch: Int32 = field("10+", default=-1)


@struct
class PartitionProduceResponse:
    index: Int32 = field()
    error_code: Int16 = field()
    base_offset: Int64 = field()
    log_append_time_ms: Int64 = field("2+", default=-1, ignorable=True)
    log_start_offset: Int64 = field("5+", default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = field("8+", default_factory=list, ignorable=True)
    error_message: String | None = field("8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = field("10+", tag=0, tagged="10+", default_factory=LeaderIdAndEpoch)


@struct
class TopicProduceResponse:
    name: String = field("0-12", default="", ignorable=True)
    topic_id: Uuid = field("13+", default=ZERO_UUID, ignorable=True)
    partition_responses: list[PartitionProduceResponse] = field()


@struct
class NodeEndpoint:
    node_id: Int32 = field("10+", default=0)
    host: String = field("10+", default="")
    port: Int32 = field("10+", default=0)
    rack: String | None = field("10+", nullable="10+", default=None)


@response(key=0, versions="3-13", flexible="9+")
class ProduceResponse:
    responses: list[TopicProduceResponse] = field()
    throttle_time_ms: Int32 = field("1+", default=0, ignorable=True)
    node_endpoints: list[NodeEndpoint] = field("10+", tag=0, tagged="10+", default_factory=list)
