"""The end offsets of partitions, wherever their leaders are.

The group coordinator needs them for the lag of share groups. A partition led here is looked up; for
the others this broker sends ListOffsets to their leaders, one request to each.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias

from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.ids import NO_NODE, TopicPartition
from barnabas.model.promise import Promise, all_of
from barnabas.replication.local_replicas import LocalReplicas
from barnabas.replication.other_brokers import OtherBrokers
from barnabas.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsResponse, ListOffsetsTopic

_PURPOSE = "end offsets"
_LATEST = -1
_CONSUMER = -1  # The replica id of a client: it sees offsets up to the high watermark.

EndOffsetsOrErrors: TypeAlias = dict[TopicPartition, int | ErrorCode]


class EndOffsets:
    def __init__(self, node_id: int, replicas: LocalReplicas, others: OtherBrokers) -> None:
        self._node_id = node_id
        self._replicas = replicas
        self._others = others

    def of(self, partitions: Collection[TopicPartition]) -> Promise[EndOffsetsOrErrors]:
        """The high watermark of each partition, or an error code."""
        found: EndOffsetsOrErrors = {}
        elsewhere: dict[int, list[TopicPartition]] = {}
        for partition in partitions:
            leader = self._others.leader_of(partition)
            if leader == self._node_id:
                found[partition] = self._local(partition)
            elif leader == NO_NODE:
                found[partition] = ErrorCode.LEADER_NOT_AVAILABLE
            else:
                elsewhere.setdefault(leader, []).append(partition)
        asked = all_of([self._ask(leader, led) for leader, led in elsewhere.items()])
        return asked.map(lambda answers: {**found, **{each: end for answer in answers for each, end in answer.items()}})

    def _local(self, partition: TopicPartition) -> int | ErrorCode:
        replica = self._replicas.get(*partition)
        return replica.high_watermark if replica is not None and replica.leads else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def _ask(self, leader: int, partitions: list[TopicPartition]) -> Promise[EndOffsetsOrErrors]:
        by_topic: dict[str, list[ListOffsetsPartition]] = {}
        for topic, number in partitions:
            by_topic.setdefault(topic, []).append(ListOffsetsPartition(partition_index=number, timestamp=_LATEST))
        topics = [ListOffsetsTopic(name=name, partitions=asked) for name, asked in by_topic.items()]
        sent = self._others.send(leader, ListOffsetsRequest(replica_id=_CONSUMER, topics=topics), purpose=_PURPOSE)
        if sent is None:
            return Promise.kept(dict.fromkeys(partitions, ErrorCode.LEADER_NOT_AVAILABLE))
        return sent.map(lambda answer: _received(partitions, answer))


def _received(partitions: list[TopicPartition], answer: ListOffsetsResponse | ErrorCode) -> EndOffsetsOrErrors:
    """A partition that the response does not name counts as failed."""
    if isinstance(answer, ErrorCode):
        return dict.fromkeys(partitions, answer)
    missing: EndOffsetsOrErrors = dict.fromkeys(partitions, ErrorCode.UNKNOWN_SERVER_ERROR)
    found: EndOffsetsOrErrors = {
        TopicPartition(topic.name, each.partition_index): known_error(each.error_code) or each.offset
        for topic in answer.topics
        for each in topic.partitions
    }
    return missing | found
