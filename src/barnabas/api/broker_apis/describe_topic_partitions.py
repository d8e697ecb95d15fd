"""DescribeTopicPartitions (key 75): partitions in pages, so that a huge topic does not need a huge
response (KIP-966).

Behaviour: topics come in the order of their names; an empty list means all topics. The cursor names
the partition to continue with, and its topic must be one of the request. A response holds at most
``response_partition_limit`` partitions, and never more than ``max.request.partition.size.limit``.

Version notes: one version.
"""

from __future__ import annotations

from barnabas.api.broker import Broker
from barnabas.api.needs import DESCRIBE_TOPIC, checked
from barnabas.metadata.topics import PartitionImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, ZERO_UUID
from barnabas.model.topic_names import INTERNAL_TOPICS, why_illegal
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import ResourceType
from barnabas.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)

NEEDS = checked(DESCRIBE_TOPIC)


def handle(broker: Broker, caller: Caller, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    image = broker.metadata.image
    every = not request.topics
    names = sorted(image.topics.by_name) if every else sorted({topic.name for topic in request.topics})
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, names, filters=every)
    denied = [] if every else [name for name in names if name not in may_describe]
    first_partition = 0
    if request.cursor is not None:
        if request.cursor.partition_index < 0 or not (every or request.cursor.topic_name in names):
            return _all_refused(request)
        names = [name for name in names if name >= request.cursor.topic_name]
        if names and names[0] == request.cursor.topic_name:
            first_partition = request.cursor.partition_index
    names = [name for name in names if name in may_describe]
    room = min(max(1, request.response_partition_limit), broker.settings.integer("max.request.partition.size.limit"))
    alive = {each.broker_id for each in image.cluster.brokers.values() if not each.fenced}
    topics = []
    next_cursor = None
    for name in names:
        if room <= 0:
            next_cursor = ResponseCursor(topic_name=name, partition_index=0)
            break
        topic = image.topics.by_name.get(name)
        if topic is None:
            error = ErrorCode.INVALID_TOPIC_EXCEPTION if why_illegal(name) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            topics.append(_topic(broker, caller, name, error))
            continue
        indexes = sorted(topic.partitions)[first_partition:]
        answer = _topic(broker, caller, name, ErrorCode.NONE)
        answer.topic_id = topic.topic_id
        answer.partitions = [_partition(index, topic.partitions[index], alive) for index in indexes[:room]]
        topics.append(answer)
        if len(indexes) > room:
            next_cursor = ResponseCursor(topic_name=name, partition_index=indexes[room])
            break
        room -= len(indexes)
        first_partition = 0
    topics += [_denied(name) for name in denied]
    return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=topics, next_cursor=next_cursor)


def _all_refused(request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    topics = [
        DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=topic.name, topic_id=ZERO_UUID, partitions=[])
        for topic in request.topics
    ]
    return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=topics)


def _denied(name: str) -> DescribeTopicPartitionsResponseTopic:
    """Nothing here may depend on whether the topic exists."""
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, name=name, topic_id=ZERO_UUID, partitions=[]
    )


def _topic(broker: Broker, caller: Caller, name: str, error: ErrorCode) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=error,
        name=name,
        topic_id=ZERO_UUID,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
        topic_authorized_operations=broker.access.operations(caller, ResourceType.TOPIC, name),
    )


def _partition(index: int, partition: PartitionImage, alive: set[int]) -> DescribeTopicPartitionsResponsePartition:
    leads = partition.leader in alive
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE if leads else ErrorCode.LEADER_NOT_AVAILABLE,
        partition_index=index,
        leader_id=partition.leader if leads else NO_NODE,
        leader_epoch=partition.leader_epoch,
        replica_nodes=list(partition.replicas),
        isr_nodes=list(partition.isr),
        eligible_leader_replicas=list(partition.eligible_leader_replicas),
        last_known_elr=list(partition.last_known_elr),
        offline_replicas=[replica for replica in partition.replicas if replica not in alive],
    )
