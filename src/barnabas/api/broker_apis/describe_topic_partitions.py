"""DescribeTopicPartitions (key 75): partitions in pages, so that a huge topic does not need a huge
response (KIP-966).

Behaviour: topics come in the order of their names; an empty list means all topics. The cursor names
the partition to continue with, and its topic must be one of the request. A response holds at most
``response_partition_limit`` partitions, and never more than ``max.request.partition.size.limit``.

A page costs in proportion to its partitions, not to the topics of the cluster, and is made in
slices (:mod:`~barnabas.api.sliced_answers`).

Version notes: one version.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice
from typing import cast

from barnabas.api.access import DECISION_US
from barnabas.api.broker import Broker
from barnabas.api.described_topics import PARTITION_US, TOPIC_US
from barnabas.api.needs import DESCRIBE_TOPIC, checked
from barnabas.api.sliced_answers import Steps, of_one_version
from barnabas.metadata.topics import PartitionImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, ZERO_UUID
from barnabas.model.promise import Answer
from barnabas.model.topic_names import INTERNAL_TOPICS, why_illegal
from barnabas.network.caller import Caller
from barnabas.security.acls.acl import ResourceType
from barnabas.wire.compiler import part_encoder
from barnabas.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
    ResponseCursor,
)
from barnabas.wire.types import EncodedElements

NEEDS = checked(DESCRIBE_TOPIC)


def handle(broker: Broker, caller: Caller, request: DescribeTopicPartitionsRequest) -> Answer[DescribeTopicPartitionsResponse]:
    def begin() -> Steps[DescribeTopicPartitionsResponse]:
        return _describing(broker, caller, request)

    access = broker.access
    return broker.sliced_answers.make(broker, caller, of_one_version(lambda: access.version, begin) if access.enabled else begin())


def _describing(broker: Broker, caller: Caller, request: DescribeTopicPartitionsRequest) -> Steps[DescribeTopicPartitionsResponse]:
    image = broker.metadata.image
    every = not request.topics
    names = broker.topic_names.in_order(image.topics) if every else sorted({topic.name for topic in request.topics})
    if every:
        # A page must not cost decisions about the topics of all other pages.
        may_describe = broker.access.names_allowed(caller, DESCRIBE_TOPIC)
    else:
        may_describe = yield from broker.access.deciding(caller, DESCRIBE_TOPIC, names)
    denied = [] if every else [name for name in names if name not in may_describe]
    start = first_partition = 0
    if request.cursor is not None:
        cursor = request.cursor
        if cursor.partition_index < 0 or not (every or cursor.topic_name in names):
            return _all_refused(request)
        start = bisect_left(names, cursor.topic_name)
        if start < len(names) and names[start] == cursor.topic_name:
            first_partition = cursor.partition_index
    room = min(max(1, request.response_partition_limit), broker.settings.integer("max.request.partition.size.limit"))
    alive = {each.broker_id for each in image.cluster.brokers.values() if not each.fenced}
    page = _Page()
    next_cursor = None
    for name in islice(names, start, None):
        allowed = name in may_describe
        yield DECISION_US
        if not allowed:
            continue
        if room <= 0:
            next_cursor = ResponseCursor(topic_name=name, partition_index=0)
            break
        topic = image.topics.by_name.get(name)
        if topic is None:
            error = ErrorCode.INVALID_TOPIC_EXCEPTION if why_illegal(name) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            page.add(_topic(broker, caller, name, error))
            continue
        indexes = sorted(topic.partitions)[first_partition:]
        answer = _topic(broker, caller, name, ErrorCode.NONE)
        answer.topic_id = topic.topic_id
        yield from page.adding(answer, ((index, topic.partitions[index]) for index in indexes[:room]), alive)
        if len(indexes) > room:
            next_cursor = ResponseCursor(topic_name=name, partition_index=indexes[room])
            break
        room -= len(indexes)
        first_partition = 0
    for name in denied:
        page.add(_denied(name))
    return DescribeTopicPartitionsResponse(throttle_time_ms=0, topics=page.topics(), next_cursor=next_cursor)


class _Page:
    """The topics of a response, each encoded when it is added."""

    def __init__(self) -> None:
        self._count = 0
        self._data = bytearray()
        self._error_codes: list[int] = []

    def add(self, topic: DescribeTopicPartitionsResponseTopic) -> None:
        self._count += 1
        if topic.error_code:
            self._error_codes.append(topic.error_code)
        part_encoder(DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponseTopic, 0)(topic, self._data)

    def adding(
        self, topic: DescribeTopicPartitionsResponseTopic, partitions: Iterable[tuple[int, PartitionImage]], alive: set[int]
    ) -> Steps[None]:
        encode = part_encoder(DescribeTopicPartitionsResponse, DescribeTopicPartitionsResponsePartition, 0)
        data, count = bytearray(), 0
        for index, partition in partitions:
            described = _partition(index, partition, alive)
            if described.error_code:
                self._error_codes.append(described.error_code)
            encode(described, data)
            count += 1
            yield PARTITION_US
        topic.partitions = cast(list[DescribeTopicPartitionsResponsePartition], EncodedElements(count, data))
        self.add(topic)
        yield TOPIC_US

    def topics(self) -> list[DescribeTopicPartitionsResponseTopic]:
        return cast(list[DescribeTopicPartitionsResponseTopic], EncodedElements(self._count, self._data, self._error_codes))


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
