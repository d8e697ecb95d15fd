"""Changes of groups. Each raises a ``ConsoleError`` when the coordinator refuses it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import groupby
from typing import Any, Final

from barnabas.administration.offset_reset import Partition
from barnabas.console.access.cluster_client import ClusterClient, CoordinatorOf
from barnabas.console.access.groups import KEPT
from barnabas.console.access.refusals import error_words, refusal, refuse_error
from barnabas.console.core.group import GroupKind, Member
from barnabas.console.errors import BadValue, ClusterRefused, ConsoleError, NotFound
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from barnabas.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from barnabas.wire.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.wire.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from barnabas.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from barnabas.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from barnabas.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse

# The last version that names topics; a newer one has their ids.
_COMMIT_BY_NAME: Final = 9
# The epoch with which a member leaves.
_LEAVING: Final = -1
_REASON: Final = "removed by a person in the console"


async def set_offsets(client: ClusterClient, group: str, kind: str, offsets: Mapping[Partition, int]) -> None:
    """A coordinator takes offsets of a client that is no member only while the group is empty."""
    await (_alter_share_offsets if kind == GroupKind.SHARE else _commit)(client, group, offsets)
    client.forget(KEPT)


async def _commit(client: ClusterClient, group: str, offsets: Mapping[Partition, int]) -> None:
    topics = [
        OffsetCommitRequestTopic(
            name=topic,
            partitions=[
                OffsetCommitRequestPartition(partition_index=each.number, committed_offset=offsets[each], committed_metadata="")
                for each in those
            ],
        )
        for topic, those in _by_topic(offsets)
    ]
    request = OffsetCommitRequest(group_id=group, member_id="", topics=topics)
    response: OffsetCommitResponse = await _ask(client, group, request, _partition_codes, version_max=_COMMIT_BY_NAME)
    codes = {Partition(topic.name, each.partition_index): each.error_code for topic in response.topics for each in topic.partitions}
    if ErrorCode.UNKNOWN_MEMBER_ID in codes.values():
        raise BadValue(f"Group {group} has members now, and only they may set its offsets: stop them first.")
    _refuse_partitions(codes, f"Not all offsets of group {group} are set")


async def _alter_share_offsets(client: ClusterClient, group: str, offsets: Mapping[Partition, int]) -> None:
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            topic_name=topic,
            partitions=[AlterShareGroupOffsetsRequestPartition(partition_index=each.number, start_offset=offsets[each]) for each in those],
        )
        for topic, those in _by_topic(offsets)
    ]
    request = AlterShareGroupOffsetsRequest(group_id=group, topics=topics)
    response: AlterShareGroupOffsetsResponse = await _ask(client, group, request, lambda answer: [answer.error_code])
    if response.error_code == ErrorCode.NON_EMPTY_GROUP:
        raise BadValue(f"Share group {group} has members, so its offsets cannot be set: stop them first.")
    refuse_error(response.error_code, response.error_message, f"Cannot set the offsets of share group {group}")
    codes = {
        Partition(topic.topic_name, each.partition_index): each.error_code for topic in response.responses for each in topic.partitions
    }
    _refuse_partitions(codes, f"Not all offsets of share group {group} are set")


async def delete_offsets(client: ClusterClient, group: str, kind: str, partitions: Iterable[Partition]) -> None:
    """A share group forgets whole topics."""
    if kind == GroupKind.SHARE:
        await _delete_share_offsets(client, group, sorted({each.topic for each in partitions}))
        return
    request = OffsetDeleteRequest(
        group_id=group,
        topics=[
            OffsetDeleteRequestTopic(name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=each.number) for each in those])
            for topic, those in _by_topic(partitions)
        ],
    )
    response: OffsetDeleteResponse = await _ask(client, group, request, lambda answer: [answer.error_code, *_partition_codes(answer)])
    if response.error_code == ErrorCode.NON_EMPTY_GROUP:
        raise BadValue(f"Group {group} has members that are not consumers, so the coordinator cannot tell which offsets they need.")
    refuse_error(response.error_code, None, f"Cannot delete offsets of group {group}")
    for topic in response.topics:
        if any(each.error_code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC for each in topic.partitions):
            raise BadValue(f"Members of group {group} are subscribed to topic {topic.name}, so its offsets stay.")
    codes = {Partition(topic.name, each.partition_index): each.error_code for topic in response.topics for each in topic.partitions}
    _refuse_partitions(codes, f"Not all offsets of group {group} are deleted")


async def _delete_share_offsets(client: ClusterClient, group: str, topics: list[str]) -> None:
    request = DeleteShareGroupOffsetsRequest(
        group_id=group, topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=each) for each in topics]
    )
    response: DeleteShareGroupOffsetsResponse = await _ask(client, group, request, lambda answer: [answer.error_code])
    if response.error_code == ErrorCode.NON_EMPTY_GROUP:
        raise BadValue(f"Share group {group} has members, so its offsets stay: stop them first.")
    refuse_error(response.error_code, response.error_message, f"Cannot delete offsets of share group {group}")
    for each in response.responses:
        refuse_error(each.error_code, each.error_message, f"Cannot delete the offsets of share group {group} in topic {each.topic_name}")


async def delete_group(client: ClusterClient, group: str) -> None:
    request = DeleteGroupsRequest(groups_names=[group])
    response: DeleteGroupsResponse = await _ask(client, group, request, lambda answer: (each.error_code for each in answer.results))
    client.forget(KEPT)
    (result,) = response.results
    if result.error_code == ErrorCode.NON_EMPTY_GROUP:
        raise BadValue(f"Group {group} has members, so it stays: stop them first.")
    refuse_error(result.error_code, None, f"Cannot delete group {group}")


async def remove_member(client: ClusterClient, group: str, kind: GroupKind, member: Member) -> None:
    """The member leaves as if it had asked for that itself. It learns so with its next heartbeat,
    and a client that runs joins again then."""
    match kind:
        case GroupKind.SHARE:
            leave = ShareGroupHeartbeatRequest(group_id=group, member_id=member.id, member_epoch=_LEAVING)
            left: ShareGroupHeartbeatResponse = await _ask(client, group, leave, lambda answer: [answer.error_code])
            _refuse_member(left.error_code, group, member)
        case GroupKind.STREAMS:
            request = StreamsGroupHeartbeatRequest(
                group_id=group, member_id=member.id, member_epoch=_LEAVING, endpoint_information_epoch=0, instance_id=member.instance_id
            )
            answered: StreamsGroupHeartbeatResponse = await _ask(client, group, request, lambda answer: [answer.error_code])
            _refuse_member(answered.error_code, group, member)
        case GroupKind.CONSUMER:
            beat = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member.id, member_epoch=_LEAVING, instance_id=member.instance_id)
            gone: ConsumerGroupHeartbeatResponse = await _ask(client, group, beat, lambda answer: [answer.error_code])
            _refuse_member(gone.error_code, group, member)
        case GroupKind.CLASSIC:
            await _leave_group(client, group, member)
    client.forget(KEPT)


async def _leave_group(client: ClusterClient, group: str, member: Member) -> None:
    # Administrators name a static member by its instance alone.
    identity = MemberIdentity(
        member_id="" if member.instance_id is not None else member.id, group_instance_id=member.instance_id, reason=_REASON
    )
    response: LeaveGroupResponse = await _ask(
        client, group, LeaveGroupRequest(group_id=group, members=[identity]), lambda answer: [answer.error_code]
    )
    refuse_error(response.error_code, None, f"Cannot remove a member of group {group}")
    for each in response.members:
        _refuse_member(each.error_code, group, member)


def _refuse_member(code: int, group: str, member: Member) -> None:
    if code == ErrorCode.UNKNOWN_MEMBER_ID:
        raise NotFound(f"Group {group} has no member {member.id} any more.")
    refuse_error(code, None, f"Cannot remove the member {member.id} of group {group}")


def _refuse_partitions(codes: Mapping[Partition, int], doing: str) -> None:
    failed = {each: code for each, code in codes.items() if code != ErrorCode.NONE}
    if not failed:
        return
    place, code = next(iter(failed.items()))
    error: ConsoleError = refusal(code, f"{place}: {error_words(code)}", doing)
    if len(failed) > 1:
        raise ClusterRefused(f"{error.sentence} {len(failed)} of {len(codes)} partitions failed.")
    raise error


async def _ask(
    client: ClusterClient, group: str, request: Any, codes: Callable[[Any], Iterable[int]], *, version_max: int | None = None
) -> Any:
    return await client.ask_coordinator(CoordinatorOf.GROUP, group, request, codes=codes, version_max=version_max, is_change=True)


def _by_topic(partitions: Iterable[Partition]) -> list[tuple[str, list[Partition]]]:
    return [(topic, list(those)) for topic, those in groupby(sorted(partitions), key=lambda each: each.topic)]


def _partition_codes(response: Any) -> list[int]:
    return [each.error_code for topic in response.topics for each in topic.partitions]
