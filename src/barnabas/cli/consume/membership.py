"""``--group``: a member of a consumer group, which commits the records that it printed.

An offset is committed only after its record left this process: output is flushed first. A command
that is killed in between prints some records again the next time, and skips none. Records that a
filter drops count as read.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from barnabas.cli.cluster.client import Message, error_of

# A commit is a request and a record in __consumer_offsets, so one a batch would be too many. This
# is librdkafka's own interval.
_COMMIT_SECONDS = 5.0
# The group is rebalancing, or this member is out of it for now. The offsets stay uncommitted until
# the member is in again; another member may print the records a second time.
_LATER = frozenset(
    {
        KafkaError.REBALANCE_IN_PROGRESS,
        KafkaError.ILLEGAL_GENERATION,
        KafkaError.UNKNOWN_MEMBER_ID,
        KafkaError.STALE_MEMBER_EPOCH,
        KafkaError._TIMED_OUT,  # noqa: SLF001
        KafkaError._WAIT_COORD,  # noqa: SLF001
    }
)


class Membership:
    """``flush`` empties the output's buffer."""

    accepts = None

    def __init__(self, consumer: Consumer, topics: list[str], flush: Callable[[], None], *, until_end: bool) -> None:
        self._consumer = consumer
        self._flush = flush
        self._until_end = until_end
        self._assigned: set[tuple[str, int]] = set()
        self._ended: set[tuple[str, int]] = set()
        self._printed: dict[tuple[str, int], int] = {}  # the next offsets, not committed yet
        self._commit_at = time.monotonic() + _COMMIT_SECONDS
        self._left = False
        self.stopped = False  # by a signal
        consumer.subscribe(topics, on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lose)

    @property
    def finished(self) -> bool:
        """Also a member without partitions waits: other members may leave theirs to it."""
        return self.stopped or (self._until_end and bool(self._assigned) and self._assigned <= self._ended)

    def printed(self, message: Message) -> None:
        self._printed[message.topic(), message.partition()] = message.offset() + 1

    def at_end(self, topic: str, partition: int) -> None:
        self._ended.add((topic, partition))

    def idle(self) -> None:
        self._commit(self._printed)

    def between_batches(self) -> None:
        if time.monotonic() >= self._commit_at:
            self._flush()
            self._commit(self._printed)

    def leave(self) -> None:
        """Commit the rest, after the last flush. Raises ``KafkaException`` when that fails."""
        self._left = True
        if self._printed:
            self._consumer.commit(offsets=_offsets(self._printed), asynchronous=False)

    def _commit(self, positions: dict[tuple[str, int], int]) -> None:
        self._commit_at = time.monotonic() + _COMMIT_SECONDS
        if not positions:
            return
        try:
            self._consumer.commit(offsets=_offsets(positions), asynchronous=False)
        except KafkaException as error:
            if error_of(error).code() not in _LATER:
                raise
        else:
            for partition in list(positions):
                self._printed.pop(partition, None)

    def _assign(self, _: Any, partitions: list[TopicPartition]) -> None:
        self._assigned |= {(each.topic, each.partition) for each in partitions}

    def _revoke(self, _: Any, partitions: list[TopicPartition]) -> None:
        """The next owner starts at the committed offset, so commit before the partitions go."""
        if not self._left:
            self._flush()
            revoked = {(each.topic, each.partition) for each in partitions}
            self._commit({each: offset for each, offset in self._printed.items() if each in revoked})
        self._lose(_, partitions)

    def _lose(self, _: Any, partitions: list[TopicPartition]) -> None:
        for each in partitions:
            partition = (each.topic, each.partition)
            self._assigned.discard(partition)
            self._ended.discard(partition)
            self._printed.pop(partition, None)


def _offsets(positions: dict[tuple[str, int], int]) -> list[TopicPartition]:
    return [TopicPartition(topic, partition, offset) for (topic, partition), offset in positions.items()]
