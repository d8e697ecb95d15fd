"""Reassignments: those that run, new ones, throttles, and elections of preferred leaders."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from barnabas.console.access.catalog import KEPT
from barnabas.console.access.cluster_client import ClusterClient
from barnabas.console.access.configs import ConfigSource, ResourceType, alter_configs, describe_configs
from barnabas.console.access.refusals import error_words, refuse_error
from barnabas.console.errors import ConsoleError, NotFound
from barnabas.model.errors import ErrorCode
from barnabas.reassignment.assignment import PartitionName
from barnabas.reassignment.throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    Move,
    follower_throttles,
    leader_throttles,
)
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from barnabas.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest, ListPartitionReassignmentsResponse

# The controller answers by then; the request itself waits longer.
_TIMEOUT_MS: Final = 10_000
_PREFERRED: Final = 0


@dataclass(frozen=True, slots=True)
class Ongoing:
    replicas: list[int]
    """All of them: those that stay, come and go."""
    adding: list[int]
    removing: list[int]

    @property
    def move(self) -> Move:
        return Move(frozenset(self.replicas) - frozenset(self.adding), frozenset(self.adding))


async def ongoing_reassignments(client: ClusterClient) -> dict[PartitionName, Ongoing]:
    response: ListPartitionReassignmentsResponse = await client.ask_any(ListPartitionReassignmentsRequest(timeout_ms=_TIMEOUT_MS))
    refuse_error(response.error_code, response.error_message, "Cannot list the reassignments")
    return {
        PartitionName(topic.name, each.partition_index): Ongoing(each.replicas, each.adding_replicas, each.removing_replicas)
        for topic in sorted(response.topics, key=lambda each: each.name)
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    }


async def alter_reassignments(client: ClusterClient, targets: Mapping[PartitionName, list[int] | None]) -> dict[PartitionName, str]:
    """None cancels. Returns the partitions that the controller refused, with the reason; the others
    are in progress when this returns."""
    by_topic: dict[str, list[ReassignablePartition]] = {}
    for name, replicas in sorted(targets.items(), key=lambda each: each[0]):
        by_topic.setdefault(name.topic, []).append(ReassignablePartition(partition_index=name.number, replicas=replicas))
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=_TIMEOUT_MS, topics=[ReassignableTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()]
    )
    response: AlterPartitionReassignmentsResponse = await client.ask_any(request, is_change=True)
    client.forget(KEPT)
    refuse_error(response.error_code, response.error_message, "Cannot reassign partitions")
    return {
        PartitionName(topic.name, each.partition_index): (each.error_message or error_words(each.error_code)).rstrip(".!")
        for topic in response.responses
        for each in topic.partitions
        if each.error_code != ErrorCode.NONE
    }


async def set_throttles(client: ClusterClient, moves: Mapping[PartitionName, Move], bytes_per_second: int) -> None:
    """Topics before brokers: a rate without throttled replicas has no effect."""
    leaders, followers = leader_throttles(moves), follower_throttles(moves)
    for topic in sorted({*leaders, *followers}):
        values = {LEADER_REPLICAS: leaders.get(topic), FOLLOWER_REPLICAS: followers.get(topic)}
        await alter_configs(client, ResourceType.TOPIC, topic, values)
    alive = {each.id for each in (await client.brokers()).brokers}
    for broker in sorted({each for move in moves.values() for each in move.sources | move.targets} & alive):
        rates: dict[str, str | None] = {LEADER_RATE: str(bytes_per_second), FOLLOWER_RATE: str(bytes_per_second)}
        await alter_configs(client, ResourceType.BROKER, str(broker), rates)


async def throttle_rates(client: ClusterClient) -> dict[int, int]:
    """Bytes a second, by broker; brokers without a throttle are left out."""
    alive = [each.id for each in (await client.brokers()).brokers]
    answers = await asyncio.gather(*(_rate(client, each) for each in alive))
    return {broker: rate for broker, rate in zip(alive, answers, strict=True) if rate is not None}


async def _rate(client: ClusterClient, broker: int) -> int | None:
    try:
        values = await describe_configs(client, ResourceType.BROKER, str(broker))
    except ConsoleError:
        # A principal that may not read settings still sees the moves.
        return None
    dynamic = (ConfigSource.BROKER_DYNAMIC, ConfigSource.BROKERS_DYNAMIC)
    found = [each.value for each in values if each.name in (LEADER_RATE, FOLLOWER_RATE) and each.source in dynamic and each.value]
    return min((int(each) for each in found if each.isdecimal()), default=None)


async def clear_throttles(client: ClusterClient, topics: Iterable[str]) -> None:
    for broker in (await client.brokers()).brokers:
        await alter_configs(client, ResourceType.BROKER, str(broker.id), dict.fromkeys((LEADER_RATE, FOLLOWER_RATE)))
    for topic in sorted(set(topics)):
        try:
            await alter_configs(client, ResourceType.TOPIC, topic, dict.fromkeys((LEADER_REPLICAS, FOLLOWER_REPLICAS)))
        except NotFound:
            # Deleted meanwhile, and its settings with it.
            continue


async def elect_preferred(client: ClusterClient, partitions: Iterable[PartitionName]) -> tuple[int, dict[PartitionName, str]]:
    """How many partitions have their preferred leader now, and the reason for each that has not."""
    by_topic: dict[str, list[int]] = {}
    for each in partitions:
        by_topic.setdefault(each.topic, []).append(each.number)
    request = ElectLeadersRequest(
        election_type=_PREFERRED,
        topic_partitions=[TopicPartitions(topic=name, partitions=numbers) for name, numbers in by_topic.items()],
        timeout_ms=_TIMEOUT_MS,
    )
    response: ElectLeadersResponse = await client.ask_any(request, is_change=True)
    client.forget(KEPT)
    refuse_error(response.error_code, None, "Cannot elect leaders")
    done, failed = 0, {}
    for topic in response.replica_election_results:
        for result in topic.partition_result:
            if result.error_code in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED):
                done += 1
            else:
                reason = result.error_message or error_words(result.error_code)
                failed[PartitionName(topic.topic, result.partition_id)] = reason.rstrip(".!")
    return done, failed
