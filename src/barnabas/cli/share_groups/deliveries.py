"""The records of a share group between their first delivery and their end, as the share coordinator
has them.

A leader writes down the outcome of a delivery: accepted, rejected, or to be delivered again. A
record that a member holds right now is not in the state, so this shows what is left behind, and how
often it was delivered. Only clients with permission for cluster actions may read the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from barnabas.administration.offset_reset import Partition
from barnabas.cli.cluster.broker_requests import Brokers, CoordinatorOf, refuse_error
from barnabas.cli.share_groups.offsets import ShareOffset
from barnabas.coordinators.share.persister import SharePartitionKey
from barnabas.wire.messages.read_share_group_state import (
    PartitionData,
    PartitionResult,
    ReadShareGroupStateRequest,
    ReadShareGroupStateResponse,
    ReadStateData,
)

_STATES = {0: "Available", 1: "Acquired", 2: "Acknowledged", 4: "Archived"}


class DeliveredRange(NamedTuple):
    partition: Partition
    first_offset: int
    last_offset: int
    state: str
    deliveries: int


def delivered_ranges(brokers: Brokers, group_id: str, offsets: Mapping[Partition, ShareOffset]) -> Iterator[DeliveredRange]:
    for partition, offset in offsets.items():
        for batch in _read(brokers, group_id, partition, offset).state_batches:
            state = _STATES.get(batch.delivery_state, str(batch.delivery_state))
            yield DeliveredRange(partition, batch.first_offset, batch.last_offset, state, batch.delivery_count)


def _read(brokers: Brokers, group_id: str, partition: Partition, offset: ShareOffset) -> PartitionResult:
    # A lower epoch is refused, and a higher one would fence the leader of the partition.
    asked = PartitionData(partition=partition.number, leader_epoch=offset.leader_epoch)
    response: ReadShareGroupStateResponse = brokers.ask_coordinator(
        CoordinatorOf.SHARE,
        SharePartitionKey(group_id, offset.topic_id, partition.number).coordinator_key,
        ReadShareGroupStateRequest(group_id=group_id, topics=[ReadStateData(topic_id=offset.topic_id, partitions=[asked])]),
        codes=lambda response: (each.error_code for topic in response.results for each in topic.partitions),
    )
    result = response.results[0].partitions[0]
    refuse_error(result.error_code, result.error_message, f"Cannot read the deliveries of share group {group_id} in {partition}")
    return result
