"""Partitions that the command assigns to itself. It joins no group and commits nothing, so it does
not disturb the consumers of the topic.
"""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

from barnabas.cli.cluster.client import Message
from barnabas.cli.consume.assignment import Partition, matching_topics
from barnabas.cli.consume.span import Range

# A command that goes on after the end looks this often for new partitions and topics.
LOOK_AGAIN_SECONDS = 30.0
# A look is a convenience and must not keep records waiting for long.
_LOOK_SECONDS_MAX = 2.0


class BoundedPartitions:
    """Partitions that are read up to an end. A partition is done with the first record at or after
    its end, or when the broker has no more records: the last offsets of a range may belong to
    markers of transactions, or to records that compaction removed."""

    def __init__(self, consumer: Consumer, ranges: dict[Partition, Range]) -> None:
        self._consumer = consumer
        self._ends = {(*each,): span.end for each, span in ranges.items() if span.end is not None and not span.is_empty}
        if self._ends:
            _assign(consumer, {each: span.start for each, span in ranges.items() if not span.is_empty})

    @property
    def finished(self) -> bool:
        return not self._ends

    def accepts(self, message: Message) -> bool:
        partition = (message.topic(), message.partition())
        end = self._ends.get(partition)
        if end is None:
            return False
        offset = message.offset()
        if offset + 1 >= end:
            self._finish(partition)
        return bool(offset < end)

    def at_end(self, topic: str, partition: int) -> None:
        if (topic, partition) in self._ends:
            self._finish((topic, partition))

    def idle(self) -> None:
        """Nothing changes while no record comes."""

    def _finish(self, partition: tuple[str, int]) -> None:
        del self._ends[partition]
        if self._ends:
            # The consumer would otherwise fetch what follows and drop it.
            self._consumer.pause([TopicPartition(*partition)])


class FollowedPartitions:
    """Partitions that are read on after their end. Partitions and topics that appear later are read
    from their first record."""

    finished = False
    accepts = None

    def __init__(self, consumer: Consumer, ranges: dict[Partition, Range], arguments: list[str], *, all_partitions: bool) -> None:
        self._consumer = consumer
        self._known = set(ranges)
        self._arguments = arguments
        self._looks = all_partitions
        self._look_at = time.monotonic() + LOOK_AGAIN_SECONDS
        _assign(consumer, {each: span.start for each, span in ranges.items()})

    def at_end(self, topic: str, partition: int) -> None:
        """More records may come."""

    def idle(self) -> None:
        if self._looks and time.monotonic() >= self._look_at:
            self._look_at = time.monotonic() + LOOK_AGAIN_SECONDS
            self._add_new_partitions()

    def _add_new_partitions(self) -> None:
        try:
            topics = self._consumer.list_topics(timeout=_LOOK_SECONDS_MAX).topics
        except KafkaException:
            return  # No broker answers now; the next look may succeed.
        wanted = [name for name in matching_topics(self._arguments, topics) if name in topics]
        found = {Partition(name, number) for name in wanted for number in topics[name].partitions}
        if new := found - self._known:
            self._known |= new
            self._consumer.incremental_assign([TopicPartition(each.topic, each.number, 0) for each in sorted(new)])


def _assign(consumer: Consumer, starts: dict[Partition, int]) -> None:
    consumer.assign([TopicPartition(each.topic, each.number, start) for each, start in starts.items()])
