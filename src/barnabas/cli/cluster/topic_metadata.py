"""Topics as the brokers describe them.

Uses a request of our own where possible: librdkafka sends this request to one particular broker and
waits for it, but these commands must work while a broker is down.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, NamedTuple

from barnabas.cli.cluster.admin_request import ask
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid, uuid_text
from barnabas.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

# A partition without a leader and a replica without a broker are part of the description, not an
# error of the request.
_NOT_WRONG = frozenset({ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.REPLICA_NOT_AVAILABLE})


class NodeAddress(NamedTuple):
    id: int
    host: str  # empty when the broker is down
    port: int


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    id: int
    leader: NodeAddress | None
    replicas: list[NodeAddress]
    isr: list[NodeAddress]


@dataclass(frozen=True, slots=True)
class TopicDescription:
    name: str
    topic_id: str
    is_internal: bool
    partitions: list[PartitionDescription]


def ask_for_topics(
    address: str, properties: Any, names: list[str], *, seconds_max: float
) -> tuple[dict[str, TopicDescription], dict[str, ErrorCode | int]]:
    """The topics that exist, in the order of ``names``, and the error codes of the others."""
    found, errors = _ask(address, properties, [MetadataRequestTopic(name=name) for name in names], seconds_max)
    return {name: found[name] for name in names if name in found}, errors


def ask_for_all_topics(address: str, properties: Any, *, seconds_max: float) -> list[TopicDescription]:
    """All topics by name. A topic that is being deleted is left out."""
    found, _ = _ask(address, properties, None, seconds_max)
    return [found[name] for name in sorted(found)]


def _ask(
    address: str, properties: Any, topics: list[MetadataRequestTopic] | None, seconds_max: float
) -> tuple[dict[str, TopicDescription], dict[str, ErrorCode | int]]:
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    response: MetadataResponse = ask(address, properties, request, seconds_max=seconds_max)
    nodes = {each.node_id: NodeAddress(each.node_id, each.host, each.port) for each in response.brokers}

    def located(ids: list[int]) -> list[NodeAddress]:
        return [nodes.get(each, NodeAddress(each, "", -1)) for each in ids]

    found: dict[str, TopicDescription] = {}
    errors: dict[str, ErrorCode | int] = {}
    for topic in response.topics:
        name = topic.name or ""
        if topic.error_code not in _NOT_WRONG:
            errors[name] = topic.error_code
            continue
        partitions = [
            PartitionDescription(each.partition_index, nodes.get(each.leader_id), located(each.replica_nodes), located(each.isr_nodes))
            for each in sorted(topic.partitions, key=lambda each: each.partition_index)
        ]
        found[name] = TopicDescription(name, uuid_text(topic.topic_id), topic.is_internal, partitions)
    return found, errors


def from_librdkafka(given: Any) -> TopicDescription:
    """librdkafka writes a uuid in the base64 alphabet with slashes; Kafka and this tool use the one
    for URLs."""
    topic_id = Uuid(struct.pack(">qq", given.topic_id.get_most_significant_bits(), given.topic_id.get_least_significant_bits()))
    partitions = [
        PartitionDescription(
            each.id,
            _node(each.leader) if each.leader is not None and each.leader.id >= 0 else None,
            [_node(node) for node in each.replicas],
            [_node(node) for node in each.isr],
        )
        for each in given.partitions
    ]
    return TopicDescription(given.name, uuid_text(topic_id), given.is_internal, partitions)


def _node(given: Any) -> NodeAddress:
    return NodeAddress(given.id, given.host or "", given.port)
