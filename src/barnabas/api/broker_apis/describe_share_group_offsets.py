"""DescribeShareGroupOffsets (key 90): where share groups begin in their partitions, and their lag.

Behaviour:
- the start offset is the first offset that is not completely delivered. A partition without state
  has -1, which is no error, also in a group that does not exist;
- the lag counts the records that the group has not completely delivered: the high watermark minus
  the start offset minus the completely delivered records above the start. It is -1 while the start
  or that number is unknown;
- without topics the response has all topics of the group that the caller may describe. A topic that
  the caller names and may not describe is TOPIC_AUTHORIZATION_FAILED.

Version notes: the lag from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import DESCRIBE_GROUP, DESCRIBE_TOPIC, checked
from barnabas.api.share_protocol import share_groups_are_served
from barnabas.coordinators.end_offsets import EndOffsets, EndOffsetsOrErrors
from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.share.persister import NO_START_OFFSET, UNKNOWN_COUNT, ShareSummary
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, TopicPartition, Uuid
from barnabas.model.promise import Promise, all_of
from barnabas.network.caller import Caller
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)

NEEDS = checked(DESCRIBE_GROUP, DESCRIBE_TOPIC)

_NO_LAG = -1

Group = DescribeShareGroupOffsetsResponseGroup
Topic = DescribeShareGroupOffsetsResponseTopic
Partition = DescribeShareGroupOffsetsResponsePartition
Summaries = Mapping[IdPartition, ShareSummary | ErrorCode]


def handle(broker: Broker, caller: Caller, request: DescribeShareGroupOffsetsRequest) -> Promise[DescribeShareGroupOffsetsResponse]:
    served = share_groups_are_served(broker)
    may_describe = broker.access.allowed(caller, DESCRIBE_GROUP, (group.group_id for group in request.groups))

    def described(asked: DescribeShareGroupOffsetsRequestGroup) -> Promise[Group]:
        if not served:
            return Promise.kept(_refused(asked.group_id, ErrorCode.UNSUPPORTED_VERSION))
        if asked.group_id not in may_describe:
            return Promise.kept(_refused(asked.group_id, ErrorCode.GROUP_AUTHORIZATION_FAILED))
        if asked.topics is None:
            return _describe_all(broker, caller, asked.group_id)
        return _describe(broker, caller, asked.group_id, asked.topics)

    answers = all_of([described(group) for group in request.groups])
    return answers.map(lambda groups: DescribeShareGroupOffsetsResponse(throttle_time_ms=0, groups=groups))


def _describe_all(broker: Broker, caller: Caller, group_id: str) -> Promise[Group]:
    def describe(found: list[IdPartition] | ErrorCode) -> Promise[Group]:
        if isinstance(found, ErrorCode):
            return Promise.kept(_refused(group_id, client_error(found)))
        topics = broker.metadata.image.topics.by_id
        names = {topic_id: topics[topic_id].name for topic_id, _ in found if topic_id in topics}
        shown = broker.access.allowed(caller, DESCRIBE_TOPIC, names.values(), filters=True)
        kept = [slot for slot in found if names.get(slot[0]) in shown]
        return _read(broker, group_id, kept, names).map(lambda topics: Group(group_id=group_id, topics=topics, error_code=ErrorCode.NONE))

    return broker.groups.run(group_id, lambda machine, _: machine.share.initialized_partitions(group_id)).followed_by(describe)


def _describe(broker: Broker, caller: Caller, group_id: str, asked: Sequence[DescribeShareGroupOffsetsRequestTopic]) -> Promise[Group]:
    topics = broker.metadata.image.topics.by_name
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, (topic.topic_name for topic in asked))
    known = [topic for topic in asked if topic.topic_name in may_describe and topic.topic_name in topics]
    missing = [_without_state(topic, ErrorCode.NONE) for topic in asked if topic.topic_name in may_describe and topic not in known]
    denied = [_without_state(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for topic in asked if topic.topic_name not in may_describe]
    names = {topics[topic.topic_name].topic_id: topic.topic_name for topic in known}
    slots = [(topics[topic.topic_name].topic_id, number) for topic in known for number in topic.partitions]
    read = _read(broker, group_id, slots, names)
    return read.map(lambda topics: Group(group_id=group_id, topics=[*topics, *missing, *denied], error_code=ErrorCode.NONE))


def _read(broker: Broker, group_id: str, slots: Sequence[IdPartition], names: Mapping[Uuid, str]) -> Promise[list[Topic]]:
    def add_lags(summaries: Summaries) -> Promise[list[Topic]]:
        begun = [
            TopicPartition(names[topic_id], number)
            for (topic_id, number), summary in summaries.items()
            if isinstance(summary, ShareSummary) and _has_lag(summary)
        ]
        ends = EndOffsets(broker.node_id, broker.replicas, broker.others).of(begun)
        return ends.map(lambda ends: _topics(summaries, ends, names))

    return broker.share_group_states.summaries(group_id, slots).followed_by(add_lags)


def _has_lag(summary: ShareSummary) -> bool:
    return summary.start_offset != NO_START_OFFSET and summary.delivery_complete_count != UNKNOWN_COUNT


def _topics(summaries: Summaries, ends: EndOffsetsOrErrors, names: Mapping[Uuid, str]) -> list[Topic]:
    by_topic: dict[Uuid, list[Partition]] = {}
    for (topic_id, number), summary in summaries.items():
        end = ends.get(TopicPartition(names[topic_id], number))
        by_topic.setdefault(topic_id, []).append(_partition(number, summary, end))
    return [Topic(topic_name=names[topic_id], topic_id=topic_id, partitions=each) for topic_id, each in by_topic.items()]


def _partition(number: int, summary: ShareSummary | ErrorCode, end: int | ErrorCode | None) -> Partition:
    if isinstance(summary, ErrorCode):
        # As Kafka, show a partition whose state cannot be read like one without state.
        return _no_state(number, ErrorCode.NONE)
    if isinstance(end, ErrorCode):
        return Partition(partition_index=number, start_offset=0, leader_epoch=0, lag=_NO_LAG, error_code=end)
    return Partition(
        partition_index=number,
        start_offset=summary.start_offset,
        leader_epoch=summary.leader_epoch,
        lag=_NO_LAG if end is None else end - summary.start_offset - summary.delivery_complete_count,
        error_code=ErrorCode.NONE,
    )


def _without_state(topic: DescribeShareGroupOffsetsRequestTopic, error: ErrorCode) -> Topic:
    partitions = [_no_state(number, error) for number in topic.partitions]
    return Topic(topic_name=topic.topic_name, topic_id=ZERO_UUID, partitions=partitions)


def _no_state(number: int, error: ErrorCode) -> Partition:
    message = "Topic authorization failed." if error else None
    return Partition(
        partition_index=number, start_offset=NO_START_OFFSET, leader_epoch=0, lag=_NO_LAG, error_code=error, error_message=message
    )


def _refused(group_id: str, error: ErrorCode) -> Group:
    return Group(group_id=group_id, topics=[], error_code=error)
