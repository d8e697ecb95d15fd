"""Dead letters sent to their topics again, for after the pipeline or its schema was mended.

What was done is known by the offsets of the group ``barnabas.redrive.<topic>``: letters before them are done with. Letters go out and
offsets forward in one transaction, so a redrive that is interrupted, or run twice, sends no letter twice. The end is that of the moment it
begins: letters that come back while it runs wait for the next one.

The topic may have several letters for one source record. A redrive sends the first of them and drops the others, also those that come
after an earlier redrive (:mod:`redriven_positions`).

With a filter some letters stay. A group's offset cannot say "all but these", so they are written to the end of the dead-letter topic again,
in the same transaction; their first copies lie before the offset then and mean nothing any more. The same becomes of letters that have no
topic to go back to, such as lines of files.

A record sent again has lost the letter's headers and has ``barnabas.redriven`` instead: how many times by now. ``attempts_max`` leaves
those alone that come back for ever.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from barnabas.pipelines.dead_letters import OFFSET, PARTITION, PREFIX, REASON, TIMESTAMP, TOPIC
from barnabas.pipelines.errors import CannotRun, RunFailed
from barnabas.pipelines.kafka_settings import ClusterAddress, for_librdkafka
from barnabas.pipelines.redriven_positions import TOPIC_CONFIG, Position, Positions, encode, read_positions, topic_of
from barnabas.pipelines.running.preflight import ClusterTopics
from barnabas.pipelines.transactional_producer import closing_producer

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Message, Producer, TopicPartition

REDRIVEN = "barnabas.redriven"
# One transaction's letters: small enough to be over before its timeout, large enough that the commits do not matter.
BATCH_RECORDS_MAX = 500
# Time for a broker to answer, or to hand over the next letters.
PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 0.5

Headers = list[tuple[str, str | bytes | None]]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which letters go out. All that is None does not matter."""

    reason: re.Pattern[str] | None = None  # found somewhere in the reason
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
    topic: str | None  # where it came from; None: not from a topic
    reason: str
    position: Position | None  # of the source record; None: not from a topic, so that repeats cannot be told
    attempts: int  # how many times it was sent again already

    @property
    def headers_again(self) -> Headers:
        own = [(name, value) for name, value in self.headers if not name.startswith(PREFIX) and name != REDRIVEN]
        return [*own, (REDRIVEN, str(self.attempts + 1).encode())]


@dataclass(slots=True)
class Redriven:
    """What a redrive did, or with ``dry_run`` would do."""

    dry_run: bool
    sent: Counter[str] = field(default_factory=Counter)  # by topic
    left: int = 0
    repeats: int = 0  # letters of a source record that has one already: neither sent nor left
    forgotten: int = 0  # positions that did not fit into memory: repeats of those were not recognised
    reasons: Counter[str] = field(default_factory=Counter)  # of those that were sent

    @property
    def total(self) -> int:
        return self.sent.total()


def group_of(dead_letters: str) -> str:
    return f"barnabas.redrive.{dead_letters}"


def redrive(
    bootstrap: str,
    dead_letters: str,
    *,
    kafka: Mapping[str, str] | None = None,
    selection: Selection | None = None,
    dry_run: bool = False,
) -> Redriven:
    """``CannotRun`` when the topic is not there or no broker answers, ``RunFailed`` when it ended in the middle: run it again then."""
    from confluent_kafka import Consumer, KafkaException

    config = for_librdkafka(bootstrap, kafka or {})
    report = Redriven(dry_run)
    consumer = Consumer({**config, "group.id": group_of(dead_letters), "isolation.level": "read_committed", "enable.auto.commit": False})
    with closing(consumer), ClusterTopics(ClusterAddress(bootstrap, kafka or {})) as cluster:
        try:
            existing = cluster.names()
            if dead_letters not in existing:
                raise CannotRun(f"There is no dead-letter topic {dead_letters!r}.")
            remembers = topic_of(dead_letters) in existing
            if not dry_run and not remembers:
                cluster.create(topic_of(dead_letters), partitions=1, config=TOPIC_CONFIG)
            with ExitStack() as at_end:
                producer = None if dry_run else at_end.enter_context(_producer(config, dead_letters))
                # Both after the producer: taking over its transactional id has ended whatever an interrupted redrive had under way.
                done = read_positions(config, dead_letters) if remembers else Positions()
                remaining = _assign(consumer, dead_letters)
                redriving = _Redriving(dead_letters, selection or Selection(), report, consumer, producer, done)
                for batch in _batches(consumer, remaining):
                    redriving.redrive(batch)
        except KafkaException as error:
            raise RunFailed(f"The redrive of {dead_letters!r} ended in the middle: {error.args[0].str()}.") from error
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
                self.producer.produce(topic_of(self.dead_letters), encode(sent))
            self.producer.send_offsets_to_transaction(_after(messages), self.consumer.consumer_group_metadata())
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
    headers: Headers = list(message.headers() or [])
    told = {name: _text(value) for name, value in headers}
    topic = told.get(TOPIC)
    attempts = told.get(REDRIVEN, "0")
    return Letter(
        key=message.key(),
        value=message.value(),
        headers=headers,
        topic=topic or None,
        reason=told.get(REASON, ""),
        position=_position(told),
        attempts=int(attempts) if attempts.isdecimal() else 0,
    )


def _position(told: Mapping[str, str]) -> Position | None:
    topic, partition, offset, timestamp = (told.get(each, "") for each in (TOPIC, PARTITION, OFFSET, TIMESTAMP))
    if not topic or not partition.isdecimal() or not offset.isdecimal():
        return None
    return Position(topic, int(partition), int(offset), int(timestamp) if timestamp.lstrip("-").isdecimal() else None)


def _text(value: str | bytes | None) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value or ""


@contextmanager
def _producer(config: dict[str, Any], dead_letters: str) -> Iterator[Producer]:
    from confluent_kafka import Producer

    # One id for the topic: a second redrive at the same time fences the first instead of sending everything twice.
    with closing_producer(Producer({**config, "transactional.id": group_of(dead_letters)})) as producer:
        producer.init_transactions(PATIENCE_SECONDS)
        yield producer


def _assign(consumer: Consumer, topic: str) -> dict[int, int]:
    """Begins at the group's offsets; answers where each partition with something to read ends."""
    from confluent_kafka import TopicPartition

    found = consumer.list_topics(topic, timeout=PATIENCE_SECONDS).topics[topic]
    if found.error is not None or not found.partitions:
        raise CannotRun(f"The dead-letter topic {topic!r} is gone.")
    committed = consumer.committed([TopicPartition(topic, each) for each in found.partitions], timeout=PATIENCE_SECONDS)
    starts: list[TopicPartition] = []
    ends: dict[int, int] = {}
    for each in committed:
        if each.error is not None:
            # An offset that could not be read looks like one that was never committed, and that would begin at the start again.
            raise RunFailed(f"The offset that an earlier redrive of {topic!r} committed cannot be read: {each.error.str()}.")
        first, end = consumer.get_watermark_offsets(TopicPartition(topic, each.partition), timeout=PATIENCE_SECONDS)
        start = max(each.offset, first)  # a group without an offset has a negative one
        if start < end:
            starts.append(TopicPartition(topic, each.partition, start))
            ends[each.partition] = end
    consumer.assign(starts)
    return ends


def _batches(consumer: Consumer, ends: dict[int, int]) -> Iterator[list[Message]]:
    """Until every partition was read to its end; markers of transactions take offsets too, so positions count, not records."""
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
            raise RunFailed(f"No more dead letters came within {PATIENCE_SECONDS:g} seconds, though there are some; run it again.")


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
