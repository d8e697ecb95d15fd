"""Offsets of partitions, asked from their leaders: one request for each leader and question."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from enum import IntEnum

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.core.topic import Bounds, FoundOffset, Topic, TopicPartition
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic


class At(IntEnum):
    """The special timestamps of ListOffsets."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5


READ_UNCOMMITTED, READ_COMMITTED = 0, 1


async def list_offsets(
    client: ClusterClient,
    topics: Iterable[Topic],
    at: Mapping[TopicPartition, int] | int,
    *,
    isolation: int = READ_UNCOMMITTED,
) -> dict[TopicPartition, FoundOffset]:
    """``at`` is a question for all partitions, or a timestamp for each that is asked about. A
    partition whose leader does not answer is missing."""
    by_leader: dict[int, dict[str, list[ListOffsetsPartition]]] = {}
    for topic in topics:
        for each in topic.partitions:
            wanted = at if isinstance(at, int) else at.get(TopicPartition(topic.name, each.id))
            if each.leader >= 0 and wanted is not None:
                asked = ListOffsetsPartition(partition_index=each.id, timestamp=wanted)
                by_leader.setdefault(each.leader, {}).setdefault(topic.name, []).append(asked)

    def request(leader: int) -> ListOffsetsRequest:
        asked = [ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in by_leader[leader].items()]
        return ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=asked)

    found: dict[TopicPartition, FoundOffset] = {}
    for answer in (await client.ask_each_broker(request, by_leader)).values():
        if not isinstance(answer, ListOffsetsResponse):
            continue
        for answered in answer.topics:
            for partition in answered.partitions:
                if partition.error_code == ErrorCode.NONE:
                    found[TopicPartition(answered.name, partition.partition_index)] = FoundOffset(partition.offset, partition.timestamp)
    return found


async def bounds(client: ClusterClient, topics: Iterable[Topic]) -> dict[TopicPartition, Bounds]:
    """The first offset and the one behind the last of each partition."""
    asked = list(topics)
    starts, ends = await asyncio.gather(list_offsets(client, asked, At.EARLIEST), list_offsets(client, asked, At.LATEST))
    return {each: Bounds(starts[each].offset, end.offset) for each, end in ends.items() if each in starts}
