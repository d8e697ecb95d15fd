"""Sends dead letters to their topics again, after the pipeline or its schema was fixed.

The offsets of the group ``barnabas.redrive.<topic>`` record the progress: letters before them are
done. Letters are sent and offsets committed in one transaction, so a redrive that is interrupted,
or run twice, sends no letter twice. It ends at the offsets that the topic has when it starts:
letters that come back while it runs wait for the next redrive.

The topic may have several letters for one source record. A redrive sends the first of them and
drops the others, also those that come after an earlier redrive (:mod:`redriven_positions`).

With a filter some letters stay. A group's offset cannot express "all but these", so they are
written to the end of the dead-letter topic again, in the same transaction; their first copies then
lie before the offset and no longer count. The same happens to letters without a topic to return to,
such as lines of files.

Letters of share groups (KIP-1191) are sent again like those of pipelines. A letter without a copy
of its record has nothing to send, and stays: ``errors.deadletterqueue.copy.record.enable`` must be
true.

A record that is sent again has ``barnabas.redriven`` in place of the letter's headers: the number
of times it was sent. ``attempts_max`` skips those that come back for ever.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from barnabas.administration.dead_letter import (
    POSITIONS_TOPIC_CONFIG,
    REDRIVEN,
    SHARE_PREFIX,
    Position,
    encode,
    group_of,
    headers_again,
    positions_topic_of,
)
from barnabas.pipelines.dead_letters import OFFSET, PARTITION, REASON, TIMESTAMP, TOPIC
from barnabas.pipelines.errors import CannotRun, RunFailed
from barnabas.pipelines.kafka_settings import ClusterAddress, for_librdkafka
from barnabas.pipelines.redriven_positions import Positions, read_positions
from barnabas.pipelines.running.preflight import ClusterTopics
from barnabas.pipelines.transactional_producer import closing_producer, send_offsets

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, Producer, TopicPartition

_OF_SHARE_GROUPS = {TOPIC: "topic", PARTITION: "partition", OFFSET: "offset", REASON: "message"}
# Letters in one transaction: few enough to finish before its timeout, enough that the commits do
# not matter.
BATCH_RECORDS_MAX = 500
# Time for a broker to answer, or to return the next letters.
PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.5

Headers = list[tuple[str, str | bytes | None]]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which letters are sent. None matches all."""

    reason: re.Pattern[str] | None = None  # searched for in the reason
    topic: str | None = None  # the original one
    attempts_max: int | None = None

    def takes(self, letter: Letter) -> bool:
        return (
            letter.topic is not None
            and (self.reason is None or self.reason.search(letter.reason) is not None)
            and (self.topic is None or self.topic == letter.topic)
            and (self.attempts_max is None or letter.attempts < self.attempts_max)
        )


@dataclass(frozen=True, slots=True)
class Letter:
    key: bytes | None
    value: bytes | None
    headers: Headers
    topic: str | None  # its origin; None: not from a topic
    reason: str
    # Of the source record; None: not from a topic, so that repeats cannot be recognised.
    position: Position | None
    attempts: int  # how many times it was sent again already

    @property
    def headers_again(self) -> Headers:
        return list(headers_again(self.headers, self.attempts))


@dataclass(slots=True)
class Redriven:
    """The result of a redrive; with ``dry_run``, the result it would have."""

    dry_run: bool
    sent: Counter[str] = field(default_factory=Counter)  # by topic
    left: int = 0
    repeats: int = 0  # letters of a source record that was sent already: neither sent nor left
    forgotten: int = 0  # positions that did not fit into memory: their repeats were not recognised
    reasons: Counter[str] = field(default_factory=Counter)  # of those that were sent

    @property
    def total(self) -> int:
        return self.sent.total()


def redrive(
    bootstrap: str,
    dead_letters: str,
    *,
    kafka: Mapping[str, str] | None = None,
    selection: Selection | None = None,
    dry_run: bool = False,
) -> Redriven:
    """Raises ``CannotRun`` when the topic does not exist or no broker answers, ``RunFailed`` when
    it ended before it was complete: run it again then."""
    from confluent_kafka import Consumer, KafkaException

    config = for_librdkafka(bootstrap, kafka or {})
    report = Redriven(dry_run)
    consumer = Consumer({**config, "group.id": group_of(dead_letters), "isolation.level": "read_committed", "enable.auto.commit": False})
    with closing(consumer), ClusterTopics(ClusterAddress(bootstrap, kafka or {})) as cluster:
        try:
            existing = cluster.names()
            if dead_letters not in existing:
                raise CannotRun(f"There is no dead-letter topic {dead_letters!r}.")
            remembers = positions_topic_of(dead_letters) in existing
            if not dry_run and not remembers:
                cluster.create(positions_topic_of(dead_letters), partitions=1, config=POSITIONS_TOPIC_CONFIG)
            with ExitStack() as at_end:
                producer = None if dry_run else at_end.enter_context(_producer(config, dead_letters))
                # Both after the producer: initialising its transactional id has ended the
                # transaction of an interrupted redrive.
                done = read_positions(config, dead_letters) if remembers else Positions()
                remaining = _assign(consumer, dead_letters)
                redriving = _Redriving(dead_letters, selection or Selection(), report, consumer, producer, done)
                for batch in _batches(consumer, remaining):
                    redriving.redrive(batch)
        except KafkaException as error:
            raise RunFailed(f"The redrive of {dead_letters!r} ended before it was complete: {error.args[0].str()}.") from error
    return report


@dataclass(slots=True)
class _Redriving:
    dead_letters: str
    selection: Selection
    report: Redriven
    consumer: Consumer
    producer: Producer | None  # None: a dry run
    done: Positions  # sent by earlier redrives, or met in this one

    def redrive(self, messages: list[Message]) -> None:
        """One transaction."""
        if self.producer is not None:
            self.producer.begin_transaction()
        sent: list[Position] = []
        for message in messages:
            letter = letter_of(message)
            if letter.position is not None and not self.done.add(letter.position):
                self.report.repeats += 1
            elif self.selection.takes(letter):
                self._send(letter)
                if letter.position is not None:
                    sent.append(letter.position)
            else:
                self._leave(letter)
        self.report.forgotten = self.done.forgotten
        if self.producer is not None:
            if sent:
                self.producer.produce(positions_topic_of(self.dead_letters), encode(sent))
            send_offsets(self.producer, _after(messages), self.consumer.consumer_group_metadata())
            self.producer.commit_transaction(PATIENCE_SECONDS)

    def _send(self, letter: Letter) -> None:
        assert letter.topic is not None
        self.report.sent[letter.topic] += 1
        self.report.reasons[letter.reason] += 1
        if self.producer is not None:
            self.producer.produce(letter.topic, letter.value, letter.key, headers=letter.headers_again)

    def _leave(self, letter: Letter) -> None:
        self.report.left += 1
        if self.producer is not None:
            self.producer.produce(self.dead_letters, letter.value, letter.key, headers=letter.headers)


def letter_of(message: Any) -> Letter:
    headers = _headers_of(message)
    by_name = {name: _text(value) for name, value in headers}
    if TOPIC not in by_name and SHARE_PREFIX + "topic" in by_name:
        by_name = _of_share_group(by_name, empty=message.key() is None and message.value() is None)
    topic = by_name.get(TOPIC)
    attempts = by_name.get(REDRIVEN, "0")
    return Letter(
        key=message.key(),
        value=message.value(),
        headers=headers,
        topic=topic or None,
        reason=by_name.get(REASON, ""),
        position=_position(by_name),
        attempts=int(attempts) if attempts.isdecimal() else 0,
    )


def _of_share_group(by_name: Mapping[str, str], *, empty: bool) -> dict[str, str]:
    """The headers of a share group's letter, under the names of a pipeline's. One without a copy of
    its record has no topic to return to."""
    found = {ours: by_name[SHARE_PREFIX + theirs] for ours, theirs in _OF_SHARE_GROUPS.items() if SHARE_PREFIX + theirs in by_name}
    if empty:
        found.pop(TOPIC, None)
    return {**by_name, **found}


# confluent-kafka returns a list and leaves the error of a name behind. Only a generic call checks
# for that; a call that the interpreter has specialized would raise it at some later line.
_headers = methodcaller("headers")


def _headers_of(message: Any) -> Headers:
    """Raises ``RunFailed`` for a name that is not UTF-8: a letter that is sent again without its
    headers would not be the record that failed."""
    try:
        return list(_headers(message) or [])
    except (SystemError, UnicodeDecodeError) as error:
        place = f"{message.topic()}-{message.partition()} at offset {message.offset()}"
        raise RunFailed(f"The dead letter in {place} has a header whose name is not UTF-8, so it cannot be sent again.") from error


def _position(by_name: Mapping[str, str]) -> Position | None:
    topic, partition, offset, timestamp = (by_name.get(each, "") for each in (TOPIC, PARTITION, OFFSET, TIMESTAMP))
    if not topic or not partition.isdecimal() or not offset.isdecimal():
        return None
    return Position(topic, int(partition), int(offset), int(timestamp) if timestamp.lstrip("-").isdecimal() else None)


def _text(value: str | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""


@contextmanager
def _producer(config: dict[str, Any], dead_letters: str) -> Iterator[Producer]:
    from confluent_kafka import Producer

    # One id for the topic: a second redrive at the same time fences the first, so they cannot send
    # everything twice.
    with closing_producer(Producer({**config, "transactional.id": group_of(dead_letters)})) as producer:
        producer.init_transactions(PATIENCE_SECONDS)
        yield producer


def _assign(consumer: Consumer, topic: str) -> dict[int, int]:
    """Starts at the group's offsets; returns the end of each partition with unread letters."""
    from confluent_kafka import TopicPartition

    found = consumer.list_topics(topic, timeout=PATIENCE_SECONDS).topics[topic]
    if found.error is not None or not found.partitions:
        raise CannotRun(f"The dead-letter topic {topic!r} is gone.")
    committed = consumer.committed([TopicPartition(topic, each) for each in found.partitions], timeout=PATIENCE_SECONDS)
    starts: list[TopicPartition] = []
    ends: dict[int, int] = {}
    for each in committed:
        if each.error is not None:
            # An offset that could not be read looks like one that was never committed, and the
            # redrive would start from the beginning.
            raise RunFailed(f"The offset that an earlier redrive of {topic!r} committed cannot be read: {each.error.str()}.")
        first, end = consumer.get_watermark_offsets(TopicPartition(topic, each.partition), timeout=PATIENCE_SECONDS)
        start = max(each.offset, first)  # a group without an offset has a negative one
        if start < end:
            starts.append(TopicPartition(topic, each.partition, start))
            ends[each.partition] = end
    consumer.assign(starts)
    return ends


def _batches(consumer: Consumer, ends: dict[int, int]) -> Iterator[list[Message]]:
    """Until every partition was read to its end. Markers of transactions take offsets too, so
    positions count, not records."""
    from confluent_kafka import KafkaException

    deadline = time.monotonic() + PATIENCE_SECONDS
    while ends:
        found = consumer.consume(BATCH_RECORDS_MAX, timeout=_POLL_SECONDS)
        for message in found:
            if (error := message.error()) is not None:
                raise KafkaException(error)
        batch = [each for each in found if _offset(each) < ends.get(_partition(each), 0)]
        if batch:
            yield batch
            deadline = time.monotonic() + PATIENCE_SECONDS
        for position in consumer.position(consumer.assignment()):
            if position.offset >= ends.get(position.partition, position.offset + 1):
                del ends[position.partition]
        if time.monotonic() > deadline:
            raise RunFailed(f"No more dead letters arrived within {PATIENCE_SECONDS:g} seconds, although there are more; run it again.")


def _after(messages: list[Message]) -> list[TopicPartition]:
    from confluent_kafka import TopicPartition

    ends: dict[tuple[str, int], int] = {}
    for message in messages:
        ends[str(message.topic()), _partition(message)] = _offset(message) + 1
    return [TopicPartition(topic, partition, offset) for (topic, partition), offset in ends.items()]


def _partition(message: Message) -> int:
    partition = message.partition()
    assert partition is not None
    return partition


def _offset(message: Message) -> int:
    offset = message.offset()
    assert offset is not None
    return offset
