"""DescribeProducers (key 61): the producers that a partition remembers, with their open
transactions.

Behaviour: each partition has its own result: NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION, or
INVALID_TOPIC_EXCEPTION for an illegal topic name.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import READ_TOPIC, checked
from barnabas.model.errors import ErrorCode
from barnabas.model.topic_names import why_illegal
from barnabas.network.caller import Caller
from barnabas.replication.reads import check_leader
from barnabas.storage.producer_state import Producer
from barnabas.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

NEEDS = checked(READ_TOPIC)

_NO_TRANSACTION = -1
_ANY_LEADER_EPOCH = -1


def handle(broker: Broker, caller: Caller, request: DescribeProducersRequest) -> DescribeProducersResponse:
    may_read = broker.access.allowed(caller, READ_TOPIC, (topic.name for topic in request.topics))

    def describe(topic: str, index: int) -> PartitionResponse:
        if topic not in may_read:
            return _refused(index, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.")
        return _describe(broker, topic, index)

    return DescribeProducersResponse(
        throttle_time_ms=0,
        topics=[
            TopicResponse(name=topic.name, partitions=[describe(topic.name, index) for index in topic.partition_indexes])
            for topic in request.topics
        ],
    )


def _describe(broker: Broker, topic: str, index: int) -> PartitionResponse:
    illegal = why_illegal(topic)
    if illegal is not None:
        return _refused(index, ErrorCode.INVALID_TOPIC_EXCEPTION, illegal)
    if topic not in broker.metadata.image.topics.by_name:
        return _refused(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Topic {topic} does not exist.")
    partition = broker.replicas.get(topic, index)
    error = check_leader(partition, _ANY_LEADER_EPOCH)
    if partition is None or error:
        return _refused(index, error)
    return PartitionResponse(
        partition_index=index, error_code=ErrorCode.NONE, active_producers=[_state(each) for each in partition.log.producers]
    )


def _refused(index: int, error: ErrorCode, why: str | None = None) -> PartitionResponse:
    return PartitionResponse(partition_index=index, error_code=error, error_message=why, active_producers=[])


def _state(producer: Producer) -> ProducerState:
    first_offset = producer.transaction_first_offset
    return ProducerState(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        last_sequence=producer.last_sequence,
        last_timestamp=producer.last_timestamp,
        coordinator_epoch=producer.coordinator_epoch,
        current_txn_start_offset=_NO_TRANSACTION if first_offset is None else first_offset,
    )
