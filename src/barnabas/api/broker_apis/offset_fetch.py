"""OffsetFetch (key 9): the committed offsets of groups.

Behaviour:
- -1 and no error for a partition without an offset, and for every partition of a group that does
  not exist;
- null topics mean all topics with offsets of the group;
- UNSTABLE_OFFSET_COMMIT, for a client that requires stable offsets, for partitions with offsets in
  an open transaction;
- partitions that do not exist are not refused, because offsets may outlive them for a while.

Version notes: one group in 1 to 7, several from 8. In version 1 each partition carries the group's
error; later it is a field of its own. Null topics from 2. Stable offsets from 7. From 9 a member of
a consumer group sends its id and epoch, and may be fenced. Topics by id from 10, with
UNKNOWN_TOPIC_ID; a request for all topics leaves out deleted ones, which have no id.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.api.broker import Broker
from barnabas.api.coordinator_errors import client_error
from barnabas.api.needs import DESCRIBE_GROUP, DESCRIBE_TOPIC, checked
from barnabas.metadata.topics import TopicsImage
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise, all_of
from barnabas.network.caller import Caller
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)

NEEDS = checked(DESCRIBE_GROUP, DESCRIBE_TOPIC)

_GROUP_ERROR_VERSION_MIN = 2
_GROUPS_VERSION_MIN = 8
_TOPIC_ID_VERSION_MIN = 10
_NO_OFFSET = -1

# Older consumers give up on COORDINATOR_NOT_AVAILABLE here; NOT_COORDINATOR makes them look for the
# coordinator.
_ASK_ELSEWHERE = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.REQUEST_TIMED_OUT})


def handle(broker: Broker, caller: Caller, request: OffsetFetchRequest) -> Promise[OffsetFetchResponse]:
    version = caller.version
    groups = request.groups if version >= _GROUPS_VERSION_MIN else [_only_group(request)]
    by_id = version >= _TOPIC_ID_VERSION_MIN
    answers = all_of([_fetch(broker, caller, group, require_stable=request.require_stable, by_id=by_id) for group in groups])
    if version >= _GROUPS_VERSION_MIN:
        return answers.map(lambda groups: OffsetFetchResponse(groups=groups))
    return answers.map(lambda groups: _single(request, groups[0], version))


def _only_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    topics = None
    if request.topics is not None:
        topics = [OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes) for topic in request.topics]
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def _fetch(
    broker: Broker, caller: Caller, asked: OffsetFetchRequestGroup, *, require_stable: bool, by_id: bool
) -> Promise[OffsetFetchResponseGroup]:
    if not broker.access.may(caller, DESCRIBE_GROUP, asked.group_id):
        denied = OffsetFetchResponseGroup(group_id=asked.group_id, topics=[], error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
        return Promise.kept(denied)
    topics = broker.metadata.image.topics
    unknown = _name_topics(topics, asked.topics, by_id=by_id) if asked.topics is not None else []
    if unknown and asked.topics is not None:
        asked.topics = [topic for topic in asked.topics if topic.name]
    denied_topics = _take_denied(broker, caller, asked)
    outcome = broker.groups.run(asked.group_id, lambda machine, _: machine.offsets.fetch(asked, require_stable=require_stable))

    def answer(outcome: OffsetFetchResponseGroup | ErrorCode) -> OffsetFetchResponseGroup:
        if isinstance(outcome, ErrorCode):
            error = ErrorCode.NOT_COORDINATOR if outcome in _ASK_ELSEWHERE else client_error(outcome)
            return OffsetFetchResponseGroup(group_id=asked.group_id, topics=[], error_code=error)
        if asked.topics is None:
            names = [topic.name for topic in outcome.topics]
            may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, names, filters=True)
            outcome.topics = [topic for topic in outcome.topics if topic.name in may_describe]
            if by_id:
                outcome.topics = _with_ids(topics, outcome.topics)
        outcome.topics += [_refused(topic, ErrorCode.UNKNOWN_TOPIC_ID) for topic in unknown]
        outcome.topics += [_refused(topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for topic in denied_topics]
        return outcome

    return outcome.map(answer)


def _take_denied(broker: Broker, caller: Caller, asked: OffsetFetchRequestGroup) -> list[OffsetFetchRequestTopics]:
    """Remove from the request the topics that the caller may not describe, and return them."""
    if asked.topics is None or not broker.access.enabled:
        return []
    may_describe = broker.access.allowed(caller, DESCRIBE_TOPIC, (topic.name for topic in asked.topics))
    denied = [topic for topic in asked.topics if topic.name not in may_describe]
    asked.topics = [topic for topic in asked.topics if topic.name in may_describe]
    return denied


def _name_topics(topics: TopicsImage, asked: Sequence[OffsetFetchRequestTopics], *, by_id: bool) -> list[OffsetFetchRequestTopics]:
    """Fill in the missing name or id of every topic; return the topics whose id is unknown."""
    unknown = []
    for topic in asked:
        known = topics.by_id.get(topic.topic_id) if by_id else topics.by_name.get(topic.name)
        if known is not None:
            topic.name, topic.topic_id = known.name, known.topic_id
        elif by_id:
            unknown.append(topic)
    return unknown


def _with_ids(topics: TopicsImage, answered: Sequence[OffsetFetchResponseTopics]) -> list[OffsetFetchResponseTopics]:
    for topic in answered:
        known = topics.by_name.get(topic.name)
        if known is not None:
            topic.topic_id = known.topic_id
    return [topic for topic in answered if topic.name in topics.by_name]


def _refused(topic: OffsetFetchRequestTopics, error: ErrorCode) -> OffsetFetchResponseTopics:
    partitions = [
        OffsetFetchResponsePartitions(partition_index=index, committed_offset=_NO_OFFSET, metadata="", error_code=error)
        for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopics(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


def _single(request: OffsetFetchRequest, group: OffsetFetchResponseGroup, version: int) -> OffsetFetchResponse:
    if group.error_code and version < _GROUP_ERROR_VERSION_MIN:
        return OffsetFetchResponse(
            topics=[
                OffsetFetchResponseTopic(
                    name=topic.name,
                    partitions=[
                        OffsetFetchResponsePartition(
                            partition_index=index, committed_offset=_NO_OFFSET, metadata="", error_code=group.error_code
                        )
                        for index in topic.partition_indexes
                    ],
                )
                for topic in request.topics or ()
            ]
        )
    topics = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=each.partition_index,
                    committed_offset=each.committed_offset,
                    committed_leader_epoch=each.committed_leader_epoch,
                    metadata=each.metadata,
                    error_code=each.error_code,
                )
                for each in topic.partitions
            ],
        )
        for topic in group.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=group.error_code)
