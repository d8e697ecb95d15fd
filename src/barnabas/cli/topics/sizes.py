"""The sizes of a topic's replicas, and the range of offsets that is remote, as the brokers report
them.

Sizes come from DescribeLogDirs, from every broker that holds a replica; a broker that is down
reports none. No API returns the number of segments of a log: ``barnabas log info`` counts them in
the files. Nor does any API return the size of the remote part; ListOffsets returns its last offset
for a special timestamp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from barnabas.cli.cluster.admin_request import ask, may_ask
from barnabas.cli.cluster.reach import ANSWER_SECONDS_MAX
from barnabas.cli.cluster.topic_metadata import NodeAddress, TopicDescription
from barnabas.cli.errors import Refused
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest, DescribeLogDirsResponse
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic

EARLIEST_LOCAL = -4
LATEST_TIERED = -5
_CONSUMER = -1
NOTHING_TIERED = -1

Place = tuple[str, int]  # topic and partition


@dataclass(frozen=True, slots=True)
class ReplicaSize:
    broker: int
    directory: str
    size_bytes: int
    # Behind the high watermark; a future replica counts from the replica it will replace.
    offset_lag: int
    future: bool  # a copy that is being moved there


@dataclass(frozen=True, slots=True)
class TopicSizes:
    replicas: Mapping[Place, list[ReplicaSize]] = field(default_factory=dict)

    def of(self, topic: str, partition: int) -> list[ReplicaSize]:
        return self.replicas.get((topic, partition), [])


def ask_for_sizes(properties: Mapping[str, str], topics: Iterable[TopicDescription]) -> TopicSizes:
    """Empty when brokers can only be reached over an encrypted connection."""
    if not may_ask(properties):
        return TopicSizes()
    topics = list(topics)
    nodes = {node for topic in topics for partition in topic.partitions for node in partition.replicas if node.host}
    found: dict[Place, list[ReplicaSize]] = {}
    for node in sorted(nodes):
        for place, size in _sizes_on(properties, node, topics):
            found.setdefault(place, []).append(size)
    return TopicSizes(found)


def _sizes_on(properties: Mapping[str, str], node: NodeAddress, topics: list[TopicDescription]) -> Iterator[tuple[Place, ReplicaSize]]:
    wanted = []
    for topic in topics:
        held = [each.id for each in topic.partitions if any(replica.id == node.id for replica in each.replicas)]
        if held:
            wanted.append(DescribableLogDirTopic(topic=topic.name, partitions=held))
    request = DescribeLogDirsRequest(topics=wanted)
    try:
        response: DescribeLogDirsResponse = ask(f"{node.host}:{node.port}", properties, request, seconds_max=ANSWER_SECONDS_MAX)
    except Refused:
        return  # it went down after the metadata was written; these commands must work then
    for directory in response.results:
        for each in directory.topics:
            for partition in each.partitions:
                size = ReplicaSize(
                    node.id, directory.log_dir, partition.partition_size, partition.offset_lag, future=partition.is_future_key
                )
                yield (each.name, partition.partition_index), size


def ask_for_special_offsets(properties: Mapping[str, str], topic: TopicDescription, timestamp: int) -> dict[int, int]:
    """Offsets by partition, for those whose leaders answer. Timestamp -4 returns the start of the
    local log, -5 the last remote offset."""
    found: dict[int, int] = {}
    if not may_ask(properties):
        return found
    led: dict[NodeAddress, list[int]] = {}
    for partition in topic.partitions:
        if partition.leader is not None and partition.leader.host:
            led.setdefault(partition.leader, []).append(partition.id)
    for leader, partitions in sorted(led.items()):
        asked = [ListOffsetsPartition(partition_index=each, timestamp=timestamp) for each in partitions]
        request = ListOffsetsRequest(replica_id=_CONSUMER, topics=[ListOffsetsTopic(name=topic.name, partitions=asked)])
        try:
            response: ListOffsetsResponse = ask(f"{leader.host}:{leader.port}", properties, request, seconds_max=ANSWER_SECONDS_MAX)
        except Refused:
            continue
        answers = (each for answered in response.topics for each in answered.partitions)
        found |= {each.partition_index: each.offset for each in answers if each.error_code == ErrorCode.NONE}
    return found
