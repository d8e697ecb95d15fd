"""A transactional producer of librdkafka that opens in a tenth of the time its defaults take, finds
new leaders sooner, and does not wait for ever for a dead coordinator.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

# For each request to the cluster. Longer than the election of a new coordinator takes.
ANSWER_SECONDS_MAX = 60.0
# For offsets that join a transaction, where another producer can take over. A new coordinator is
# usually elected and has read its log by then; each further attempt may take twice as long.
OFFSETS_SECONDS = 5.0
# The pauses between questions for new leaders. An election takes a few tenths of a second; brokers
# that are only slow get few questions.
_LEADER_LOOKS_SECONDS = (0.2, 0.2, 0.2, 0.4, 0.8, 1.6)
# A broker that has just lost its connection to another one may hold its answer back until new
# leaders are elected.
_LEADER_ANSWER_SECONDS_MAX = 2.0


def open_producer(config: Mapping[str, Any], *, known_topic: str) -> Any:
    """An initialised producer: the transactions of earlier producers of its transactional id are
    ended or committed.

    ``known_topic`` exists: a metadata request names it, because the metadata of all topics may be
    large.
    """
    producer = Producer(dict(config))
    _connect(producer, known_topic)
    while True:
        try:
            producer.init_transactions(ANSWER_SECONDS_MAX)
        except KafkaException as failed:
            if failed.args[0].code() != KafkaError.CONCURRENT_TRANSACTIONS:
                raise
        else:
            return producer


class OffsetsLost(KafkaException):
    """The producer waits for a broker that is gone and cannot be used any more: not even to abort.
    A new producer of its transactional id can take over."""


def send_offsets(producer: Any, offsets: Sequence[TopicPartition], group: Any, seconds_max: float = ANSWER_SECONDS_MAX) -> None:
    """Adds a group's offsets to the transaction. ``group`` is the metadata of a consumer. Raises
    ``OffsetsLost`` after ``seconds_max``.

    librdkafka 2.16 looks at the limit of this call only when a response arrives. It first waits for
    a connection to the group's coordinator; if that broker has just died and leaves the metadata,
    no response ever comes. So the call has its own thread, which is left behind then.
    """
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def call() -> None:
        try:
            producer.send_offsets_to_transaction(offsets, group, ANSWER_SECONDS_MAX)
        except BaseException as failed:  # noqa: BLE001 - raised where the offsets are sent
            ended.put(failed)
        else:
            ended.put(None)

    Thread(target=call, daemon=True, name="offsets of a transaction").start()
    try:
        failed = ended.get(timeout=seconds_max)
    except Empty:
        reason = f"the coordinator of the group did not take the offsets within {seconds_max:g} seconds"
        raise OffsetsLost(KafkaError(KafkaError._TIMED_OUT, reason)) from None  # noqa: SLF001 - librdkafka's own code
    if failed is not None:
        raise failed


def flush(producer: Any, topics: Iterable[str]) -> None:
    """Sends what is buffered, and asks for the leaders of ``topics`` while some of it waits.

    When a broker dies, librdkafka asks for the new leaders at once, which is often before they are
    elected, and then once a second. It needs two answers: with the first it forgets the broker,
    with the second it gives the waiting records to the new leader. Records that still wait
    afterwards are left to the commit, which has a limit of its own."""
    for seconds in _LEADER_LOOKS_SECONDS:
        if not producer.flush(seconds):
            return
        with suppress(KafkaException):
            for topic in topics:
                producer.list_topics(topic, _LEADER_ANSWER_SECONDS_MAX)


@contextmanager
def closing_producer(producer: Producer) -> Iterator[Producer]:
    """The producer's threads and connections end with the block. Unsent records are dropped.

    A block that fails may leave a transaction open, and librdkafka's ``close`` would wait without a
    limit for the broker to abort it, perhaps for one that is down. Such a producer is only dropped:
    it ends with the last reference to it."""
    yield producer
    producer.purge()
    producer.close()


def _connect(producer: Any, known_topic: str) -> None:
    """librdkafka looks for its coordinator when it is opened, and again only after half a second if
    no connection was up by then.

    The first request may be answered over the connection to a bootstrap address, which is closed as
    soon as the nodes are known; the second goes to a node. The initialisation itself reports a
    cluster that does not answer.
    """
    with suppress(KafkaException):
        for _ in range(2):
            producer.list_topics(known_topic, ANSWER_SECONDS_MAX)
