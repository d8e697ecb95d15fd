"""CreateTopics: new topics, placed by the controller or by hand."""

from barnabas.model.ids import ZERO_UUID
from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Bool, Int8, Int16, Int32, String, Uuid


@struct
class CreatableReplicaAssignment:
    partition_index: Int32 = field()
    broker_ids: list[Int32] = field()


@struct
class CreatableTopicConfig:
    name: String = field()
    value: String | None = field(nullable="0+")


@struct
class CreatableTopic:
    name: String = field()
    num_partitions: Int32 = field()
    replication_factor: Int16 = field()
    assignments: list[CreatableReplicaAssignment] = field()
    configs: list[CreatableTopicConfig] = field()


@request(key=19, versions="2-7", flexible="5+")
class CreateTopicsRequest:
    topics: list[CreatableTopic] = field()
    timeout_ms: Int32 = field(default=60_000)
    validate_only: Bool = field("1+", default=False)


@struct
class CreatableTopicConfigs:
    name: String = field("5+", default="")
    value: String | None = field("5+", nullable="5+", default="")
    read_only: Bool = field("5+", default=False)
    config_source: Int8 = field("5+", default=-1, ignorable=True)
    is_sensitive: Bool = field("5+", default=False)


@struct
class CreatableTopicResult:
    name: String = field()
    topic_id: Uuid = field("7+", default=ZERO_UUID, ignorable=True)
    error_code: Int16 = field()
    error_message: String | None = field("1+", nullable="0+", ignorable=True)
    topic_config_error_code: Int16 = field("5+", tag=0, tagged="5+", default=0, ignorable=True)
    num_partitions: Int32 = field("5+", default=-1, ignorable=True)
    replication_factor: Int16 = field("5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = field("5+", nullable="5+", default_factory=list, ignorable=True)


@response(key=19, versions="2-7", flexible="5+")
class CreateTopicsResponse:
    throttle_time_ms: Int32 = field("2+", ignorable=True)
    topics: list[CreatableTopicResult] = field()
