"""Requests about reassignments to the controller, and the settings that throttle them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from barnabas.cli.cluster.admin_request import error_words
from barnabas.cli.cluster.broker_requests import Broker, Brokers, refuse_error
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX
from barnabas.cli.configs.resources import Operation, ResourceKind
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.reassignment.assignment import Assignment, PartitionName
from barnabas.reassignment.throttles import FOLLOWER_RATE, FOLLOWER_REPLICAS, LEADER_RATE, LEADER_REPLICAS, Move
from barnabas.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

if TYPE_CHECKING:
    from barnabas.cli.cluster.client import Admin

DIRECTORY_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
_TIMEOUT_MS = int(ANSWER_SECONDS_MAX * 1000)


class Ongoing(NamedTuple):
    replicas: list[int]  # all of them: those that stay, are added and are removed
    adding: list[int]
    removing: list[int]

    @property
    def move(self) -> Move:
        return Move(frozenset(self.replicas) - frozenset(self.adding), frozenset(self.adding))


def ongoing_reassignments(brokers: Brokers) -> dict[PartitionName, Ongoing]:
    request = ListPartitionReassignmentsRequest(timeout_ms=_TIMEOUT_MS)
    response: ListPartitionReassignmentsResponse = brokers.ask_controller(request, codes=lambda response: [response.error_code])
    refuse_error(response.error_code, response.error_message, "Cannot list the reassignments")
    return {
        PartitionName(topic.name, each.partition_index): Ongoing(each.replicas, each.adding_replicas, each.removing_replicas)
        for topic in sorted(response.topics, key=lambda each: each.name)
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    }


def alter_reassignments(
    brokers: Brokers, targets: Mapping[PartitionName, list[int] | None], *, may_change_replication_factor: bool = True
) -> dict[PartitionName, str]:
    """None cancels. Returns the partitions that were refused, with the reason; the others are in
    progress when this returns."""
    by_topic: dict[str, list[ReassignablePartition]] = {}
    for partition, replicas in sorted(targets.items(), key=lambda each: each[0]):
        by_topic.setdefault(partition.topic, []).append(ReassignablePartition(partition_index=partition.number, replicas=replicas))
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=_TIMEOUT_MS,
        allow_replication_factor_change=may_change_replication_factor,
        topics=[ReassignableTopic(name=name, partitions=partitions) for name, partitions in by_topic.items()],
    )
    response: AlterPartitionReassignmentsResponse = brokers.ask_controller(request, codes=lambda response: [response.error_code])
    refuse_error(response.error_code, response.error_message, "Cannot reassign partitions")
    return {
        PartitionName(topic.name, each.partition_index): (each.error_message or error_words(each.error_code)).rstrip(".!")
        for topic in response.responses
        for each in topic.partitions
        if each.error_code != ErrorCode.NONE
    }


class Member(NamedTuple):
    """A registered broker."""

    rack: str | None
    broker: Broker | None  # None while it is down: it keeps its registration but cannot be asked


def members(brokers: Brokers) -> dict[int, Member]:
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True)
    response: DescribeClusterResponse = brokers.ask_controller(request, codes=lambda response: [response.error_code])
    refuse_error(response.error_code, response.error_message, "Cannot list the cluster's brokers")
    return {
        each.broker_id: Member(each.rack, None if each.is_fenced else Broker(each.broker_id, f"{each.host}:{each.port}"))
        for each in sorted(response.brokers, key=lambda each: each.broker_id)
    }


def current_assignment(admin: Admin, topics: Iterable[str]) -> Assignment:
    """Raises ``Refused`` when a topic does not exist."""
    return {
        PartitionName(topic.name, each.id): [node.id for node in each.replicas]
        for topic in admin.describe_topics(list(dict.fromkeys(topics))).values()
        for each in topic.partitions
    }


def set_throttles(brokers: Brokers, leaders: Mapping[str, str], followers: Mapping[str, str], rates: Mapping[Broker, int]) -> None:
    """Topics before brokers: a rate without throttled replicas has no effect."""
    for topic in sorted({*leaders, *followers}):
        _alter(brokers, topic, {LEADER_REPLICAS: leaders.get(topic), FOLLOWER_REPLICAS: followers.get(topic)})
    for broker, rate in rates.items():
        _alter(brokers, broker, {LEADER_RATE: str(rate), FOLLOWER_RATE: str(rate)})


def set_directory_throttles(brokers: Brokers, rates: Mapping[Broker, int]) -> None:
    for broker, rate in rates.items():
        _alter(brokers, broker, {DIRECTORY_RATE: str(rate)})


def clear_throttles(brokers: Brokers, *, topics: Iterable[str], of_brokers: Iterable[Broker]) -> None:
    for broker in of_brokers:
        _alter(brokers, broker, dict.fromkeys((LEADER_RATE, FOLLOWER_RATE, DIRECTORY_RATE)))
    for topic in sorted(set(topics)):
        _alter(brokers, topic, dict.fromkeys((LEADER_REPLICAS, FOLLOWER_REPLICAS)))


def _alter(brokers: Brokers, target: Broker | str, settings: Mapping[str, str | None]) -> None:
    """Any broker alters a topic's settings, but a broker's settings only that broker. A value of
    None removes the setting."""
    kind, name = (ResourceKind.BROKER, str(target.node_id)) if isinstance(target, Broker) else (ResourceKind.TOPIC, target)
    configs = [
        AlterableConfig(name=key, config_operation=Operation.DELETE if value is None else Operation.SET, value=value)
        for key, value in settings.items()
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    response: IncrementalAlterConfigsResponse
    if isinstance(target, Broker):
        response = brokers.ask(target, request)
    else:
        response = brokers.ask_controller(request, codes=lambda response: (each.error_code for each in response.responses))
    for each in response.responses:
        if each.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not any(settings.values()):
            continue  # deleted meanwhile, and its settings with it
        refuse_error(each.error_code, each.error_message, f"Cannot alter the throttle of {kind.name.lower()} {name}")


def refuse_unknown_brokers(named: Iterable[int], known: Iterable[int]) -> None:
    registered = sorted(known)
    for broker in sorted(set(named) - set(registered)):
        raise Refused(f"There is no broker {broker}; the cluster has {', '.join(map(str, registered))}.")
