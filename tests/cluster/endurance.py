"""Mixed load on three brokers for a long time, in chapters.

A chapter has a topic of its own, whose history is checked at its end, so that the memory of the
test does not grow. In the background of all chapters two topics are written, one that is compacted
and one whose old segments are deleted, and groups come and go. The first broker is never killed: it
must not hold more at the end than after the first chapters.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from itertools import count

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from peers.cluster import QUICK, Cluster, Node
from tests.cluster.access import Access
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.chaos import PARTITIONS, Chaos, replicas_agree, workers_for
from tests.cluster.checker import check
from tests.cluster.history import History, Key
from tests.cluster.secured_cluster import plaintext_cluster
from tests.cluster.usage import Usage
from tests.cluster.view import View
from tests.cluster.workers import MESSAGE_TIMEOUT_MS, QUICK_CLIENT, IdempotentSender, TransactionalSender, Worker, read_to_the_end, working
from tests.waiting import LONG_PATIENCE_SECONDS, PATIENCE_SECONDS, until

COMPACTED, SHORT_LIVED = "compacted", "short-lived"
KEYS = 500
WRITES_PER_SECOND = 200
# Kafka's smallest segment, so that compaction and retention have work all the time.
SEGMENT_BYTES = 1 << 20
PROPERTIES = {**QUICK, "log.cleaner.backoff.ms": "500", "log.retention.check.interval.ms": "1000"}
COMPACTED_CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(SEGMENT_BYTES),
    "segment.ms": "5000",
    "min.cleanable.dirty.ratio": "0.1",
}
SHORT_LIVED_CONFIG = {"segment.bytes": str(SEGMENT_BYTES), "retention.bytes": str(SEGMENT_BYTES)}
# The first chapters fill caches and pools, so what the broker holds is compared with the end of
# the second one.
WARM_CHAPTERS = 2
# Descriptors of connections and segments that are open at the moment of counting.
DESCRIPTORS_MORE_MAX = 40
THREADS_MORE_MAX = 4
RESIDENT_MORE_SHARE_MAX = 0.25


class CompactedWriter(Worker):
    """Writes keys again and again, and remembers the last acknowledged value of each."""

    topic = COMPACTED

    def begin(self) -> None:
        self.last: dict[bytes, bytes] = {}
        self._numbers = count()
        self._producer = Producer(
            {**self.access.librdkafka, "enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": MESSAGE_TIMEOUT_MS, **QUICK_CLIENT}
        )

    def go_round(self) -> None:
        number = next(self._numbers)
        key, value = b"%d" % self.chance.randrange(KEYS), b"%d" % number + b" " * 900
        self._producer.produce(self.topic, value, key, partition=0, on_delivery=self._delivered)
        self._producer.poll(1 / WRITES_PER_SECOND)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        key, value = message.key(), message.value()
        assert isinstance(key, bytes)
        assert isinstance(value, bytes)
        self.last[key] = value

    def end(self) -> None:
        if self.abandoned:
            self._producer.purge()
        assert self._producer.flush(MESSAGE_TIMEOUT_MS / 1000) == 0


class ShortLivedWriter(CompactedWriter):
    topic = SHORT_LIVED


class Passers(Worker):
    """Groups that appear, read a record, and are deleted."""

    def begin(self) -> None:
        self.passed = 0
        self._admin = AdminClient({**self.access.librdkafka, **QUICK_CLIENT})

    def go_round(self) -> None:
        group = f"passer-{self.passed}"
        settings = {"group.id": group, "auto.offset.reset": "earliest", "session.timeout.ms": 6000, **QUICK_CLIENT}
        consumer = Consumer({**self.access.librdkafka, **settings})
        consumer.subscribe([COMPACTED])
        until(lambda: self._stop.is_set() or self._reads(consumer), f"{group} reads a record", seconds_max=LONG_PATIENCE_SECONDS)
        consumer.close()
        for deleted in self._admin.delete_consumer_groups([group]).values():
            try:
                deleted.result(PATIENCE_SECONDS)
            except KafkaException:
                # The coordinator moves, or the consumer could not leave: the group expires later.
                continue
        self.passed += 1

    def _reads(self, consumer: Consumer) -> bool:
        message = consumer.poll(0.1)
        return message is not None and message.error() is None

    def end(self) -> None:
        """Every consumer is closed already."""


def endured(*, chapters: int, deeds_per_chapter: int, seed: int, seconds_min: float = 0.0) -> None:
    """``chapters`` at least, and further ones until ``seconds_min`` have passed."""
    background, chance, started = History(), random.Random(seed), time.monotonic()
    with plaintext_cluster(barnabas_cluster(properties=PROPERTIES)) as (cluster, view):
        view.create_topic(COMPACTED, configs=COMPACTED_CONFIG)
        view.create_topic(SHORT_LIVED, configs=SHORT_LIVED_CONFIG)
        survivor = cluster.node(1)
        compacted = CompactedWriter("compacted", view.access, background, [], seed)
        short_lived = ShortLivedWriter("short-lived", view.access, background, [], seed)
        passers = Passers("passers", view.access, background, [], seed)
        held: list[Usage] = []
        with working([compacted, short_lived, passers]):
            while len(held) < chapters or time.monotonic() - started < seconds_min:
                _chapter(cluster, view, chance, number=len(held), deeds=deeds_per_chapter)
                assert not background.complaints, background.complaints[:5]
                held.append(_usage(survivor))
            # While the writers go on: a short run may have written less than a segment.
            for node in cluster.brokers:
                _has_deleted_and_compacted(node)
            until(lambda: passers.passed, "a group has come and gone", seconds_max=LONG_PATIENCE_SECONDS)
        assert not background.complaints, background.complaints[:5]
        assert _table(view.access) == compacted.last
        _does_not_grow(held)


def _chapter(cluster: Cluster, view: View, chance: random.Random, *, number: int, deeds: int) -> None:
    topic, history = f"chapter-{number}", History()
    keys = [Key(topic, partition) for partition in range(PARTITIONS)]
    view.create_topic(topic, PARTITIONS)
    chaos = Chaos(cluster, view, history, keys, chance)
    sender = TransactionalSender if number % 2 else IdempotentSender
    seed = chance.randrange(1 << 30)
    try:
        with working(workers_for(view.access, history, keys, seed, sender)):
            for deed in range(deeds):
                _deeds(chaos, cluster, view, topic, chance)[(number + deed) % 3]()
            chaos.await_progress()
        read_to_the_end(view.access, history, keys)
        check(history)
        replicas_agree(cluster, view, keys)
    except BaseException as failure:
        failure.add_note(f"{topic}, seed {seed}, {history.summary()}\n" + "\n".join(chaos.deeds))
        raise
    # The client ends with the last reference to it.
    admin = AdminClient({**view.access.librdkafka, **QUICK_CLIENT})
    for deleted in admin.delete_topics([topic]).values():
        deleted.result(PATIENCE_SECONDS)


def _deeds(chaos: Chaos, cluster: Cluster, view: View, topic: str, chance: random.Random) -> Sequence[Callable[[], None]]:
    def kill_one() -> None:
        chaos.kill_and_start(cluster.node(chance.choice((2, 3))))

    def reassign() -> None:
        chaos.await_progress()
        view.reassign(topic, {partition: chance.sample((1, 2, 3), 2) for partition in range(PARTITIONS)})
        chaos.await_progress()
        view.reassign(topic, {partition: chance.sample((1, 2, 3), 3) for partition in range(PARTITIONS)})

    def pause_one() -> None:
        chaos.do("pause follower")

    return kill_one, reassign, pause_one


def _usage(node: Node) -> Usage:
    assert node.process is not None
    return Usage.of(node.process.pid)


def _table(access: Access) -> dict[bytes, bytes]:
    """The last value of every key in the compacted topic."""
    consumer = Consumer({**access.librdkafka, "group.id": "table", "enable.partition.eof": True, **QUICK_CLIENT})
    consumer.assign([TopicPartition(COMPACTED, 0, 0)])
    found: dict[bytes, bytes] = {}

    def read() -> bool:
        message = consumer.poll(1)
        if message is None:
            return False
        error = message.error()
        if error is not None:
            return error.code() == KafkaError._PARTITION_EOF
        key, value = message.key(), message.value()
        assert isinstance(key, bytes)
        assert isinstance(value, bytes)
        found[key] = value
        return False

    until(read, "the compacted topic is read to its end", pause_seconds=0)
    consumer.close()
    return found


def _has_deleted_and_compacted(node: Node) -> None:
    def oldest(topic: str) -> int:
        return min(int(each.stem) for each in (node.data / f"{topic}-0").glob("*.log"))

    until(lambda: oldest(SHORT_LIVED) > 0, f"node {node.id} has deleted old segments")
    checkpoint = node.data / "cleaner-offset-checkpoint"
    until(lambda: COMPACTED in checkpoint.read_text(), f"node {node.id} has compacted", retry_on=FileNotFoundError)


def _does_not_grow(held: Sequence[Usage]) -> None:
    warm, last = held[min(WARM_CHAPTERS, len(held)) - 1], held[-1]
    story = "\n".join(map(str, held))
    assert last.descriptors <= warm.descriptors + DESCRIPTORS_MORE_MAX, story
    assert last.threads <= warm.threads + THREADS_MORE_MAX, story
    assert last.resident_bytes <= warm.resident_bytes * (1 + RESIDENT_MORE_SHARE_MAX), story
