"""Which partitions need an operator's attention.

=================  ==========================================================================
under-replicated   some replicas are out of sync; replicas that are being added do not count
unavailable        it has no leader, so clients can neither write nor read
under-min-isr      fewer replicas are in sync than ``min.insync.replicas``, or it has no
                   leader: acks=all is refused
at-min-isr         it would be under-min-isr if one more replica fell behind
=================  ==========================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

from barnabas.cli.cluster.admin_request import may_ask
from barnabas.cli.cluster.broker_requests import Brokers
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX
from barnabas.cli.cluster.topic_metadata import PartitionDescription, TopicDescription
from barnabas.cli.reassign.requests import ongoing_reassignments
from barnabas.reassignment.assignment import PartitionName

if TYPE_CHECKING:
    from barnabas.cli.cluster.client import Admin

_MIN_ISR = "min.insync.replicas"


class Trouble(StrEnum):
    UNDER_REPLICATED = "under-replicated"
    UNAVAILABLE = "unavailable"
    UNDER_MIN_ISR = "under-min-isr"
    AT_MIN_ISR = "at-min-isr"


def troubled_partitions(admin: Admin, topics: Iterable[TopicDescription], troubles: frozenset[Trouble]) -> dict[str, list[int]]:
    """The partitions that have one of ``troubles``, by topic. Healthy topics are left out."""
    described = list(topics)
    counts_isr = troubles & {Trouble.UNDER_MIN_ISR, Trouble.AT_MIN_ISR}
    min_isr = _min_isr(admin, [topic.name for topic in described]) if counts_isr else {}
    adding = _adding_replicas(admin, described) if Trouble.UNDER_REPLICATED in troubles else {}
    found = {
        topic.name: sorted(
            each.id
            for each in topic.partitions
            if troubles & _troubles(each, min_isr.get(topic.name, 1), adding.get(PartitionName(topic.name, each.id), frozenset()))
        )
        for topic in described
    }
    return {name: partitions for name, partitions in found.items() if partitions}


def _troubles(partition: PartitionDescription, min_isr: int, adding: frozenset[int]) -> set[Trouble]:
    replicas, isr = {node.id for node in partition.replicas}, {node.id for node in partition.isr}
    found = set()
    if replicas - isr - adding:
        found.add(Trouble.UNDER_REPLICATED)
    if partition.leader is None:
        found |= {Trouble.UNAVAILABLE, Trouble.UNDER_MIN_ISR}
    if len(isr) < min_isr:
        found.add(Trouble.UNDER_MIN_ISR)
    if len(isr) == min_isr:
        found.add(Trouble.AT_MIN_ISR)
    return found


def _min_isr(admin: Admin, topics: list[str]) -> Mapping[str, int]:
    if not topics:
        return {}
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import ConfigResource as RdkafkaResource, ResourceType  # type: ignore[attr-defined]

    futures = admin.client.describe_configs(
        [RdkafkaResource(ResourceType.TOPIC, name) for name in topics], request_timeout=ANSWER_SECONDS_MAX
    )
    found = {}
    for resource, future in futures.items():
        try:
            found[resource.name] = int(admin.answer_or_error(future)[_MIN_ISR].value)
        except KafkaException as error:
            raise admin.refusal(error, f"Cannot ask for {_MIN_ISR} of topic {resource.name}") from error
    return found


def _adding_replicas(admin: Admin, topics: list[TopicDescription]) -> dict[PartitionName, frozenset[int]]:
    """Requested only where it matters. It cannot be requested over an encrypted connection; then
    replicas that are being added count as missing."""
    behind = any(len(each.isr) < len(each.replicas) for topic in topics for each in topic.partitions)
    if not behind or not may_ask(admin.cluster.properties):
        return {}
    return {partition: frozenset(each.adding) for partition, each in ongoing_reassignments(Brokers(admin.cluster)).items()}
