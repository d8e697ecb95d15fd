"""Groups of every kind, and the offsets that they have committed.

A broker lists the groups that it coordinates, so a listing also tells the coordinator of each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.core.group_lag import GroupOffset
from barnabas.console.core.topic import Topic, TopicPartition
from barnabas.console.errors import ConsoleError, NotFound
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
    DescribeShareGroupOffsetsResponse,
)
from barnabas.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from barnabas.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

KEPT: Final = "groups"
# The last version that names topics; a newer one has their ids.
_BY_NAME: Final = 9
# Groups in one request, so that a response stays below a megabyte for topics of usual size.
_GROUPS_AT_ONCE: Final = 200


@dataclass(frozen=True, slots=True)
class GroupListing:
    id: str
    kind: str
    """classic, consumer, share or streams."""
    state: str
    protocol: str
    coordinator: int


async def all_groups(client: ClusterClient) -> dict[str, GroupListing]:
    """By id, in order. Groups that the principal may not describe are not among them."""
    return await client.kept(KEPT, lambda: _list(client))


async def group_named(client: ClusterClient, name: str) -> GroupListing:
    """Raises :class:`NotFound`."""
    found = (await all_groups(client)).get(name)
    if found is None:
        # It may be newer than the list.
        client.forget(KEPT)
        found = (await all_groups(client)).get(name)
    if found is None:
        raise NotFound(f"There is no group {name}.")
    return found


async def committed_offsets(
    client: ClusterClient, groups: Iterable[GroupListing], topics: Iterable[Topic] | None
) -> dict[str, dict[TopicPartition, int]]:
    """What each group has committed in ``topics``, or in all topics if None. For a share group the
    start offset: records before it are done. Groups without offsets there are left out."""
    found = await group_offsets(client, groups, topics)
    return {group: {place: each.offset for place, each in offsets.items()} for group, offsets in found.items()}


async def group_offsets(
    client: ClusterClient, groups: Iterable[GroupListing], topics: Iterable[Topic] | None = None
) -> dict[str, dict[TopicPartition, GroupOffset]]:
    """As :func:`committed_offsets`, with all that the coordinator knows about each offset."""
    chunks: list[tuple[int, list[GroupListing], bool]] = []
    by_coordinator: dict[tuple[int, bool], list[GroupListing]] = {}
    for each in groups:
        by_coordinator.setdefault((each.coordinator, each.kind == "share"), []).append(each)
    for (coordinator, is_share), members in by_coordinator.items():
        chunks += [(coordinator, members[at : at + _GROUPS_AT_ONCE], is_share) for at in range(0, len(members), _GROUPS_AT_ONCE)]
    wanted = None if topics is None else {each.name: [one.id for one in each.partitions] for each in topics}
    answers = await asyncio.gather(*(_committed(client, *chunk, wanted) for chunk in chunks))
    return {group: offsets for answer in answers for group, offsets in answer.items() if offsets}


async def _list(client: ClusterClient) -> dict[str, GroupListing]:
    brokers = [each.id for each in (await client.brokers()).brokers]
    answers = await client.ask_each_broker(lambda _: ListGroupsRequest(), brokers)
    found = [
        GroupListing(each.group_id, (each.group_type or "classic").lower(), each.group_state, each.protocol_type, broker)
        for broker, answer in answers.items()
        if isinstance(answer, ListGroupsResponse)
        for each in answer.groups
    ]
    return {each.id: each for each in sorted(found, key=lambda group: group.id)}


async def _committed(
    client: ClusterClient, coordinator: int, groups: list[GroupListing], is_share: bool, topics: Mapping[str, list[int]] | None
) -> dict[str, dict[TopicPartition, GroupOffset]]:
    try:
        if is_share:
            return await _share_starts(client, coordinator, groups, topics)
        asked = None if topics is None else [OffsetFetchRequestTopics(name=name, partition_indexes=each) for name, each in topics.items()]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=each.id, topics=asked) for each in groups])
        response: OffsetFetchResponse = await client.ask_broker(coordinator, request, version_max=_BY_NAME)
    except ConsoleError:
        # A coordinator that does not answer leaves its groups out; the others are shown.
        return {}
    return {
        group.group_id: {
            TopicPartition(topic.name, each.partition_index): GroupOffset(
                each.committed_offset, None, each.metadata or "", each.committed_leader_epoch
            )
            for topic in group.topics
            for each in topic.partitions
            if each.error_code == ErrorCode.NONE and each.committed_offset >= 0
        }
        for group in response.groups
        if group.error_code == ErrorCode.NONE
    }


async def _share_starts(
    client: ClusterClient, coordinator: int, groups: list[GroupListing], topics: Mapping[str, list[int]] | None
) -> dict[str, dict[TopicPartition, GroupOffset]]:
    asked = (
        None
        if topics is None
        else [DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=each) for name, each in topics.items()]
    )
    request = DescribeShareGroupOffsetsRequest(
        groups=[DescribeShareGroupOffsetsRequestGroup(group_id=each.id, topics=asked) for each in groups]
    )
    response: DescribeShareGroupOffsetsResponse = await client.ask_broker(coordinator, request)
    return {
        group.group_id: {
            TopicPartition(topic.topic_name, each.partition_index): GroupOffset(
                each.start_offset, each.lag if each.lag >= 0 else None, "", each.leader_epoch
            )
            for topic in group.topics
            for each in topic.partitions
            if each.error_code == ErrorCode.NONE and each.start_offset >= 0
        }
        for group in response.groups
        if group.error_code == ErrorCode.NONE
    }
