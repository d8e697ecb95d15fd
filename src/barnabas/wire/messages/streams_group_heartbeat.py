"""StreamsGroupHeartbeat: the one membership request of a streams group (KIP-1071)."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int8, Int16, Int32, Int64, String, Uint16


@struct
class KeyValue:
    key: String = field()
    value: String = field()


@struct
class TopicInfo:
    name: String = field()
    partitions: Int32 = field()
    replication_factor: Int16 = field()
    topic_configs: list[KeyValue] = field()


@struct
class CopartitionGroup:
    source_topics: list[Int16] = field()
    source_topic_regex: list[Int16] = field()
    repartition_source_topics: list[Int16] = field()


@struct
class Subtopology:
    subtopology_id: String = field()
    source_topics: list[String] = field()
    source_topic_regex: list[String] = field()
    state_changelog_topics: list[TopicInfo] = field()
    repartition_sink_topics: list[String] = field()
    repartition_source_topics: list[TopicInfo] = field()
    copartition_groups: list[CopartitionGroup] = field()


@struct
class Topology:
    epoch: Int32 = field()
    subtopologies: list[Subtopology] = field()


@struct
class TaskIds:
    subtopology_id: String = field()
    partitions: list[Int32] = field()


@struct
class Endpoint:
    host: String = field()
    port: Uint16 = field()


@struct
class TaskOffset:
    subtopology_id: String = field()
    partition: Int32 = field()
    offset: Int64 = field()


@request(key=88, versions="0", flexible="0+")
class StreamsGroupHeartbeatRequest:
    group_id: String = field()
    member_id: String = field()
    member_epoch: Int32 = field()
    endpoint_information_epoch: Int32 = field()
    instance_id: String | None = field(nullable="0+", default=None)
    rack_id: String | None = field(nullable="0+", default=None)
    rebalance_timeout_ms: Int32 = field(default=-1)
    topology: Topology | None = field(nullable="0+", default=None)
    active_tasks: list[TaskIds] | None = field(nullable="0+", default=None)
    standby_tasks: list[TaskIds] | None = field(nullable="0+", default=None)
    warmup_tasks: list[TaskIds] | None = field(nullable="0+", default=None)
    process_id: String | None = field(nullable="0+", default=None)
    user_endpoint: Endpoint | None = field(nullable="0+", default=None)
    client_tags: list[KeyValue] | None = field(nullable="0+", default=None)
    task_offsets: list[TaskOffset] | None = field(nullable="0+", default=None)
    task_end_offsets: list[TaskOffset] | None = field(nullable="0+", default=None)
    shutdown_application: Bool = field(default=False)


@struct
class Status:
    status_code: Int8 = field()
    status_detail: String = field()


@struct
class ResponseTaskIds:
    subtopology_id: String = field()
    partitions: list[Int32] = field()


@struct
class ResponseEndpoint:
    host: String = field()
    port: Uint16 = field()


@struct
class TopicPartition:
    topic: String = field()
    partitions: list[Int32] = field()


@struct
class EndpointToPartitions:
    user_endpoint: ResponseEndpoint = field()
    active_partitions: list[TopicPartition] = field()
    standby_partitions: list[TopicPartition] = field()


@response(key=88, versions="0", flexible="0+")
class StreamsGroupHeartbeatResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+", default=None)
    member_id: String = field()
    member_epoch: Int32 = field()
    heartbeat_interval_ms: Int32 = field()
    acceptable_recovery_lag: Int32 = field()
    task_offset_interval_ms: Int32 = field()
    status: list[Status] | None = field(nullable="0+")
    active_tasks: list[ResponseTaskIds] | None = field(nullable="0+", default=None)
    standby_tasks: list[ResponseTaskIds] | None = field(nullable="0+", default=None)
    warmup_tasks: list[ResponseTaskIds] | None = field(nullable="0+", default=None)
    endpoint_information_epoch: Int32 = field()
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = field(nullable="0+", default=None)
