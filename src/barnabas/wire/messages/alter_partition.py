"""AlterPartition: a partition's leader asks the controller to change the in-sync replicas."""

from barnabas.wire.declare import field, request, response, struct
from barnabas.wire.types import Int8, Int16, Int32, Int64, Uuid


@struct
class BrokerState:
    broker_id: Int32 = field("3+", default=0)
    broker_epoch: Int64 = field("3+", default=-1)


@struct
class PartitionData:
    partition_index: Int32 = field()
    leader_epoch: Int32 = field()
    new_isr: list[Int32] = field("0-2", default_factory=list)
    new_isr_with_epochs: list[BrokerState] = field("3+", default_factory=list)
    leader_recovery_state: Int8 = field("1+", default=0)
    partition_epoch: Int32 = field()


@struct
class TopicData:
    topic_id: Uuid = field("2+", ignorable=True)
    partitions: list[PartitionData] = field()


@request(key=56, versions="2-3", flexible="0+")
class AlterPartitionRequest:
    broker_id: Int32 = field()
    broker_epoch: Int64 = field(default=-1)
    topics: list[TopicData] = field()


@struct
class ResponsePartitionData:
    partition_index: Int32 = field()
    error_code: Int16 = field()
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()
    isr: list[Int32] = field()
    leader_recovery_state: Int8 = field("1+", default=0, ignorable=True)
    partition_epoch: Int32 = field()


@struct
class ResponseTopicData:
    topic_id: Uuid = field("2+", ignorable=True)
    partitions: list[ResponsePartitionData] = field()


@response(key=56, versions="2-3", flexible="0+")
class AlterPartitionResponse:
    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    topics: list[ResponseTopicData] = field()
