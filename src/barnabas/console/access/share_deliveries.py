"""Records of a share group between their first delivery and their end, as the share coordinator has
them.

A leader writes down the outcome of a delivery. A record that a member holds right now is not in the
state, so this shows what is left behind, and how often it was delivered. Only principals with the
permission for cluster actions may read it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.cluster_client import ClusterClient, CoordinatorOf
from barnabas.console.access.groups import GroupListing
from barnabas.console.access.refusals import refuse_error
from barnabas.console.errors import BadValue
from barnabas.model.ids import Uuid, uuid_text
from barnabas.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
)
from barnabas.wire.messages.read_share_group_state import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateData,
)

STATES: Final = {0: "available", 1: "acquired", 2: "acknowledged", 3: "archiving", 4: "archived"}
# Each partition is a request of its own, to the coordinator of that partition.
PARTITIONS_MAX: Final = 500


@dataclass(frozen=True, slots=True)
class DeliveredRange:
    topic: str
    partition: int
    first_offset: int
    last_offset: int
    state: str
    deliveries: int

    @property
    def records_max(self) -> int:
        return self.last_offset - self.first_offset + 1


async def delivered_ranges(client: ClusterClient, listing: GroupListing) -> list[DeliveredRange]:
    if listing.kind != "share":
        raise BadValue(f"Group {listing.id} is a {listing.kind} group: only share groups count deliveries.")
    request = DescribeShareGroupOffsetsRequest(groups=[DescribeShareGroupOffsetsRequestGroup(group_id=listing.id, topics=None)])
    response: DescribeShareGroupOffsetsResponse = await client.ask_coordinator(
        CoordinatorOf.GROUP, listing.id, request, codes=lambda answer: [answer.groups[0].error_code]
    )
    (group,) = response.groups
    refuse_error(group.error_code, group.error_message, f"Cannot read the offsets of share group {listing.id}")
    # A partition without a start offset has not been fetched from.
    asked = [
        (topic.topic_name, topic.topic_id, each.partition_index, each.leader_epoch)
        for topic in group.topics
        for each in topic.partitions
        if each.start_offset >= 0
    ]
    answers = await asyncio.gather(*(_read(client, listing.id, *each) for each in sorted(asked)[:PARTITIONS_MAX]))
    return [each for answer in answers for each in answer]


async def _read(client: ClusterClient, group: str, topic: str, topic_id: Uuid, partition: int, leader_epoch: int) -> list[DeliveredRange]:
    # A lower epoch is refused, and a higher one would fence the leader of the partition.
    asked = PartitionData(partition=partition, leader_epoch=leader_epoch)
    response: ReadShareGroupStateResponse = await client.ask_coordinator(
        CoordinatorOf.SHARE,
        f"{group}:{uuid_text(topic_id)}:{partition}",
        ReadShareGroupStateRequest(group_id=group, topics=[ReadStateData(topic_id=topic_id, partitions=[asked])]),
        codes=lambda answer: (each.error_code for one in answer.results for each in one.partitions),
    )
    result = response.results[0].partitions[0]
    refuse_error(result.error_code, result.error_message, f"Cannot read the deliveries of share group {group}")
    return [
        DeliveredRange(
            topic,
            partition,
            each.first_offset,
            each.last_offset,
            STATES.get(each.delivery_state, f"state {each.delivery_state}"),
            each.delivery_count,
        )
        for each in result.state_batches
    ]
