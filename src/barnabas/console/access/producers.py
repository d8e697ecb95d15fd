"""Producers that a partition's leader knows: those with idempotence or transactions."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.core.topic import Topic
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_producers import DescribeProducersRequest, DescribeProducersResponse, TopicRequest


@dataclass(frozen=True, slots=True)
class ActiveProducer:
    partition: int
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    open_since_offset: int | None
    """The first offset of its open transaction."""


async def active_producers(client: ClusterClient, topic: Topic) -> list[ActiveProducer]:
    """Leaders that do not answer, and partitions that the principal may not read, are left out."""
    by_leader: dict[int, list[int]] = {}
    for each in topic.partitions:
        if each.leader >= 0:
            by_leader.setdefault(each.leader, []).append(each.id)
    answers = await client.ask_each_broker(
        lambda leader: DescribeProducersRequest(topics=[TopicRequest(name=topic.name, partition_indexes=by_leader[leader])]), by_leader
    )
    found = [
        ActiveProducer(
            partition.partition_index,
            each.producer_id,
            each.producer_epoch,
            each.last_sequence,
            each.last_timestamp,
            each.current_txn_start_offset if each.current_txn_start_offset >= 0 else None,
        )
        for answer in answers.values()
        if isinstance(answer, DescribeProducersResponse)
        for answered in answer.topics
        for partition in answered.partitions
        if partition.error_code == ErrorCode.NONE
        for each in partition.active_producers
    ]
    return sorted(found, key=lambda each: (each.partition, -each.last_timestamp))
