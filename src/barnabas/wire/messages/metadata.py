"""Metadata: the brokers of the cluster, and the leader of each partition.

Version notes: an empty topic list means *all* in version 0, *none* later (null is *all*); 10 topic
ids; 12 lookup by id; 13 a top-level error that sends clients back to their bootstrap servers
(KIP-1102).
"""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int16, Int32, String, Uuid


@struct
class MetadataRequestTopic:
    topic_id: Uuid = field("10+", default=ZERO_UUID, ignorable=True)
    name: String | None = field(nullable="10+")


@request(key=3, versions="0-13", flexible="9+")
class MetadataRequest:
    topics: list[MetadataRequestTopic] | None = field(nullable="1+")
    allow_auto_topic_creation: Bool = field("4+", default=True)
    include_cluster_authorized_operations: Bool = field("8-10", default=False)
    include_topic_authorized_operations: Bool = field("8+", default=False)


@struct
class MetadataResponseBroker:
    node_id: Int32 = field()
    host: String = field()
    port: Int32 = field()
    rack: String | None = field("1+", nullable="1+", default=None, ignorable=True)


@struct
class MetadataResponsePartition:
    error_code: Int16 = field()
    partition_index: Int32 = field()
    leader_id: Int32 = field()
    leader_epoch: Int32 = field("7+", default=-1, ignorable=True)
    replica_nodes: list[Int32] = field()
    isr_nodes: list[Int32] = field()
    offline_replicas: list[Int32] = field("5+", default_factory=list, ignorable=True)


@struct
class MetadataResponseTopic:
    error_code: Int16 = field()
    name: String | None = field(nullable="12+")
    topic_id: Uuid = field("10+", default=ZERO_UUID, ignorable=True)
    is_internal: Bool = field("1+", default=False, ignorable=True)
    partitions: list[MetadataResponsePartition] = field(encodable=True)
    topic_authorized_operations: Int32 = field("8+", default=-2_147_483_648)


@response(key=3, versions="0-13", flexible="9+")
class MetadataResponse:
    throttle_time_ms: Int32 = field("3+", default=0, ignorable=True)
    brokers: list[MetadataResponseBroker] = field()
    cluster_id: String | None = field("2+", nullable="2+", default=None, ignorable=True)
    controller_id: Int32 = field("1+", default=-1, ignorable=True)
    topics: list[MetadataResponseTopic] = field(encodable=True)
    cluster_authorized_operations: Int32 = field("8-10", default=-2_147_483_648)
    error_code: Int16 = field("13+", default=0, ignorable=True)
