"""Permission to commit offsets: the group decides. If there is no group, a client without a
generation may create one.

A member of a consumer group or a streams group that has not learned its new epoch yet may still
commit the partitions that it owned in the old epoch and still owns (KIP-1251). One other partition
refuses the whole request.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup
from barnabas.coordinators.group.group import Group
from barnabas.coordinators.group.streams.streams_group import StreamsGroup
from barnabas.metadata.topics import TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import ZERO_UUID, Uuid
from barnabas.wire.messages.offset_commit import OffsetCommitRequest
from barnabas.wire.messages.txn_offset_commit import TxnOffsetCommitRequest

# Older clients know neither GROUP_ID_NOT_FOUND nor member epochs.
_MEMBER_EPOCH_VERSION_MIN = 9
_BEHIND = frozenset({ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION})


def commit_error(group: Group | None, request: OffsetCommitRequest, version: int) -> ErrorCode:
    member_id = request.member_id
    epoch = request.generation_id_or_member_epoch
    if group is None:
        if epoch < 0:
            return ErrorCode.NONE
        return ErrorCode.GROUP_ID_NOT_FOUND if version >= _MEMBER_EPOCH_VERSION_MIN else ErrorCode.ILLEGAL_GENERATION
    if version < _MEMBER_EPOCH_VERSION_MIN and _has_member_epoch(group, member_id):
        return ErrorCode.UNSUPPORTED_VERSION
    refused = group.check_commit(member_id=member_id, instance_id=request.group_instance_id, epoch=epoch, transactional=False)
    if refused in _BEHIND and isinstance(group, (ConsumerGroup, StreamsGroup)):
        partitions = ((topic.name, topic.topic_id, each.partition_index) for topic in request.topics for each in topic.partitions)
        return _ownership_error(group, member_id, epoch, partitions)
    return refused


def transactional_commit_error(group: Group | None, request: TxnOffsetCommitRequest, topics: Mapping[str, TopicImage]) -> ErrorCode:
    member_id = request.member_id
    epoch = request.generation_id
    if group is None:
        return ErrorCode.NONE if epoch < 0 else ErrorCode.ILLEGAL_GENERATION
    refused = group.check_commit(member_id=member_id, instance_id=request.group_instance_id, epoch=epoch, transactional=True)
    if refused in _BEHIND and isinstance(group, (ConsumerGroup, StreamsGroup)):
        partitions = (
            (topic.name, _id_of(topics, topic.name), each.partition_index) for topic in request.topics for each in topic.partitions
        )
        refused = _ownership_error(group, member_id, epoch, partitions)
    # Producers only know generations.
    return ErrorCode.ILLEGAL_GENERATION if refused is ErrorCode.STALE_MEMBER_EPOCH else refused


def _has_member_epoch(group: Group, member_id: str) -> bool:
    if isinstance(group, StreamsGroup):
        return member_id in group.members
    member = group.members.get(member_id) if isinstance(group, ConsumerGroup) else None
    return member is not None and member.classic is None


def _ownership_error(
    group: ConsumerGroup | StreamsGroup, member_id: str, epoch: int, partitions: Iterable[tuple[str, Uuid, int]]
) -> ErrorCode:
    for topic, topic_id, partition in partitions:
        if isinstance(group, StreamsGroup):
            refused = group.check_partition_commit(member_id=member_id, epoch=epoch, topic=topic, partition=partition)
        else:
            refused = group.check_partition_commit(member_id=member_id, epoch=epoch, topic_id=topic_id, partition=partition)
        if refused:
            return refused
    return ErrorCode.NONE


def _id_of(topics: Mapping[str, TopicImage], name: str) -> Uuid:
    topic = topics.get(name)
    return topic.topic_id if topic is not None else ZERO_UUID
