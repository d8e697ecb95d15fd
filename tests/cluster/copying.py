"""A topic that is copied to another by programs that are killed, and the invariants of the copy.

Every record of the input names its own position (``partition/number``), so the copy can be checked
without the input: read committed, it has for each partition of the input the numbers from 0 on,
each once and in order, and no record of an aborted transaction.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Protocol

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from tests.cluster.access import Access
from tests.cluster.asking import READ_COMMITTED, READ_UNCOMMITTED, end_offsets
from tests.cluster.copier import GROUP, INPUT, OUTPUT, OUTPUT_PARTITIONS
from tests.cluster.copiers import INPUT_PARTITIONS, Copiers, Kind, committed_offsets
from tests.cluster.evidence import evidence
from tests.cluster.reports import reports
from tests.cluster.starvation import Pausable, PausedProcess, pulses
from tests.scenarios.client import Client
from tests.waiting import LONG_PATIENCE_SECONDS, PATIENCE_SECONDS, until

SENDS_PER_SECOND = 500
# A copier that ends because of an answer of the killed node is started again; one that never makes
# progress is a bug.
OWN_EXITS_PER_ROUND_MAX = 3
# librdkafka hangs once in a while, see tests.cluster.copiers. If it hangs more often than this, the
# broker is involved.
ROUNDS_PER_HANG = 3
# Errors that a reader gets while brokers are away, and may ignore.
_PASSING = (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT)
CONFIG = {
    # Sessions of dead members end soon; otherwise every round would wait for one.
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "300",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


# -- what goes in -----------------------------------------------------------------------------


@dataclass
class Feed:
    sent: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


@contextmanager
def feeding(access: Access, feed: Feed) -> Iterator[None]:
    """Feeds the input in the background; at the end of the block everything has been delivered."""
    producer = Producer(
        {
            **access.librdkafka,
            "enable.idempotence": True,
            "linger.ms": 5,
            "message.timeout.ms": 120_000,
            "reconnect.backoff.ms": 10,
            "reconnect.backoff.max.ms": 100,
            "retry.backoff.ms": 20,
            "log_level": 2,
        }
    )
    stop = threading.Event()

    def delivered(error: KafkaError | None, _: object) -> None:
        if error is not None:
            feed.errors.append(str(error))

    def run() -> None:
        while not stop.wait(1 / SENDS_PER_SECOND):
            producer.poll(0)
            partition = feed.sent.total() % INPUT_PARTITIONS
            producer.produce(INPUT, b"%d/%d" % (partition, feed.sent[partition]), partition=partition, on_delivery=delivered)
            feed.sent[partition] += 1

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert producer.flush(PATIENCE_SECONDS) == 0
    assert not feed.errors, feed.errors[:5]


# -- what comes out ---------------------------------------------------------------------------


def situation(access: Access) -> str:
    """The state of the cluster, for the reader of a failed wait."""
    told: list[object] = []
    for address in access.bootstrap.split(","):
        with suppress(OSError), access.connect(address, 5) as client:
            told += client.ask(DescribeGroupsRequest(groups=[GROUP])).groups
            told += client.ask(ConsumerGroupDescribeRequest(group_ids=[GROUP], include_authorized_operations=False)).groups
            listed = client.ask(ListTransactionsRequest(state_filters=[], producer_id_filters=[])).transaction_states
            ids = [each.transactional_id for each in listed]
            told += client.ask(DescribeTransactionsRequest(transactional_ids=ids)).transaction_states
    return "\n".join([f"committed {committed_offsets(access)}", *map(repr, told)])


def unfinished(access: Access) -> int:
    """Records of the output after the last stable offset; -1 while no broker answers."""
    ends = end_offsets(access, OUTPUT, range(OUTPUT_PARTITIONS), READ_UNCOMMITTED)
    stable = end_offsets(access, OUTPUT, range(OUTPUT_PARTITIONS), READ_COMMITTED)
    return sum(ends.values()) - sum(stable.values()) if ends is not None and stable is not None else -1


def read_output(access: Access, isolation_level: str) -> dict[int, list[tuple[int, bytes]]]:
    """By partition of the output: offsets and values, to the current end."""
    consumer = Consumer(
        {
            **access.librdkafka,
            "group.id": "nobody",
            "enable.auto.commit": False,
            "isolation.level": isolation_level,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "log_level": 2,
        }
    )
    found: dict[int, list[tuple[int, bytes]]] = {index: [] for index in range(OUTPUT_PARTITIONS)}
    consumer.assign([TopicPartition(OUTPUT, index, 0) for index in found])
    missing = set(found)
    try:
        while missing:
            message = consumer.poll(PATIENCE_SECONDS)
            assert message is not None, "the output cannot be read to its end"
            error, partition = message.error(), message.partition()
            if error is None:
                offset, value = message.offset(), message.value()
                assert partition is not None
                assert offset is not None
                assert value is not None
                found[partition].append((offset, value))
            elif error.code() == KafkaError._PARTITION_EOF:
                assert partition is not None
                missing.discard(partition)
            else:
                assert error.retriable() or error.code() in _PASSING, error
    finally:
        consumer.close()
    return found


class Copy:
    """The output as read-committed consumers see it. A record that they have seen once must
    stay."""

    def __init__(self) -> None:
        self.seen: dict[int, list[tuple[int, bytes]]] = {index: [] for index in range(OUTPUT_PARTITIONS)}

    def check(self, access: Access) -> None:
        now = read_output(access, "read_committed")
        for partition, before in self.seen.items():
            assert now[partition][: len(before)] == before, f"output {partition}: what was there is not there, or not where it was"
        self.seen = now
        for partition, numbers in self.numbers().items():
            wrong = next((place for place, number in enumerate(numbers) if place != number), None)
            assert wrong is None, f"input {partition}: {_story(numbers, wrong or 0)}"

    def numbers(self) -> dict[int, list[int]]:
        """By partition of the input."""
        found: dict[int, list[int]] = defaultdict(list)
        for partition, records in self.seen.items():
            for offset, value in records:
                assert not value.startswith(b"never"), f"output {partition} shows aborted data at {offset}: {value!r}"
                source, number = map(int, value.split(b"/"))
                assert source % OUTPUT_PARTITIONS == partition
                found[source].append(number)
        return found

    def check_complete(self, feed: Feed) -> None:
        assert {partition: len(numbers) for partition, numbers in self.numbers().items()} == dict(feed.sent)


def _story(numbers: list[int], wrong: int) -> str:
    seen_before = numbers[wrong] in numbers[:wrong]
    return f"{numbers[wrong]} {'again' if seen_before else ''} where {wrong} belongs: {numbers[max(0, wrong - 5) : wrong + 10]}"


# -- rounds -----------------------------------------------------------------------------------


class Kafka(Protocol):
    """The cluster in which the copiers work."""

    access: Access

    def create_topic(self, name: str, partitions: int, configs: dict[str, str] | None = None) -> None: ...

    def kill(self, chance: random.Random) -> None:
        """Kills a node with ``kill -9``; it is back, or others have taken over, when this
        returns."""

    def processes(self) -> Sequence[Pausable]:
        """The processes of its nodes, which the test can pause."""

    def recovered(self) -> None:
        """Waits until its nodes are in the cluster and in sync again after a pause."""

    def restarted(self) -> Iterator[None]:
        """Restarts the cluster in every way, and yields after each."""

    def check_well(self) -> None:
        """The nodes run, and have logged no complaint."""

    def story(self) -> str: ...


class OneNode:
    def __init__(self, broker: EmbeddedBroker) -> None:
        self._broker = broker
        self.access = Access(broker.bootstrap)

    def create_topic(self, name: str, partitions: int, configs: dict[str, str] | None = None) -> None:
        with Client(self.access.bootstrap) as client:
            client.create_topic(name, partitions, configs)

    def kill(self, chance: random.Random) -> None:
        self._broker.kill()
        self._broker.start()
        self.check_well()

    def processes(self) -> Sequence[Pausable]:
        return [PausedProcess(self._broker.pid)]

    def recovered(self) -> None:
        pass

    def restarted(self) -> Iterator[None]:
        for end in (self._broker.stop, self._broker.kill):
            end()
            self._broker.start()
            yield

    def check_well(self) -> None:
        assert self._broker.complaints == ""

    def story(self) -> str:
        return self._broker.complaints


class World:
    def __init__(self, kafka: Kafka, copiers: Copiers, chance: random.Random) -> None:
        self._kafka = kafka
        self._copiers = copiers
        self._chance = chance
        self.deeds: list[str] = []

    def await_progress(self) -> None:
        """Waits until a transaction that begins now commits."""
        before = until(lambda: committed_offsets(self._kafka.access), "the group's coordinator answers", seconds_max=LONG_PATIENCE_SECONDS)

        def further() -> bool:
            self._copiers.look_after()
            return sum(committed_offsets(self._kafka.access).values()) > sum(before.values())

        until(further, f"something is copied after {self.deeds[-5:]}, {self._copiers.own_exits[-3:]}", seconds_max=LONG_PATIENCE_SECONDS)

    def _await_readiness(self, slot: int) -> None:
        def ready() -> bool:
            self._copiers.look_after()
            return self._copiers.running[slot].ready.is_set()

        until(ready, f"a copier in slot {slot} has its transactional id", seconds_max=LONG_PATIENCE_SECONDS)

    def do(self, deed: str) -> None:
        slot = self._chance.randrange(len(self._copiers.running))
        self.deeds.append(f"{time.time():.3f} {deed} {slot}")
        time.sleep(self._chance.expovariate(5))
        if "copier" in deed:
            self._copiers.kill(slot)
        if "zombie" in deed:
            # A copier that has not begun yet would ask for the id when it wakes up, and be the
            # newest.
            self._await_readiness(slot)
            zombie = self._copiers.replace(slot)
            self._await_readiness(slot)
            zombie.resume()
        if "starve" in deed:
            for _ in pulses([*self._kafka.processes(), *self._copiers.running], self._chance):
                self._copiers.look_after()
        if "node" in deed:
            self._kafka.kill(self._chance)
        elif "starve" in deed:
            self._kafka.recovered()


def copied_and_killed(kinds: Sequence[Kind], deeds: Sequence[str], seed: int) -> None:
    """One round for every deed, and a check of everything at the end."""
    with evidence("copying") as kept, EmbeddedBroker(process=True, config=CONFIG, data_dir=kept / "data") as broker:
        copied_within(OneNode(broker), kinds, deeds, seed, kept)


def copied_within(kafka: Kafka, kinds: Sequence[Kind], deeds: Sequence[str], seed: int, kept: Path) -> None:
    kafka.create_topic(INPUT, INPUT_PARTITIONS)
    kafka.create_topic(OUTPUT, OUTPUT_PARTITIONS, {"segment.bytes": "1048576"})
    feed, copy = Feed(), Copy()
    with Copiers(kinds, kafka.access, seed, kept) as copiers:
        world = World(kafka, copiers, random.Random(seed))
        try:
            with feeding(kafka.access, feed):
                for number, deed in enumerate(deeds):
                    world.await_progress()
                    world.do(deed)
                    if number % 10 == 5:
                        copy.check(kafka.access)
                world.await_progress()
                copiers.await_fencing()

            def everything_is_copied() -> bool:
                copiers.look_after()
                return committed_offsets(kafka.access) == dict(feed.sent) and unfinished(kafka.access) == 0

            until(everything_is_copied, "the rest is copied", seconds_max=LONG_PATIENCE_SECONDS)
            check_for_ever(kafka, copy, feed)
            assert len(copiers.own_exits) <= OWN_EXITS_PER_ROUND_MAX * len(deeds), copiers.own_exits
            assert len(copiers.hung) <= 1 + len(deeds) // ROUNDS_PER_HANG, copiers.hung
        except BaseException as failure:
            failure.add_note(f"seed {seed}, rounds: {world.deeds}\n{kafka.story()}")
            failure.add_note("\n".join([*copiers.own_exits, *copiers.hung, *copiers.whereabouts(), f"sent {feed.sent}"]))
            failure.add_note(situation(kafka.access))
            raise
        finally:
            reports.append(f"copying: {len(deeds)} rounds, {sum(feed.sent.values())} records: {copiers.summary()}")


def check_for_ever(kafka: Kafka, copy: Copy, feed: Feed) -> None:
    """Checks the copy now, after a restart and after a crash."""
    for _ in chain([None], kafka.restarted()):
        copy.check(kafka.access)
        copy.check_complete(feed)
        kafka.check_well()
    everything = [value for records in read_output(kafka.access, "read_uncommitted").values() for _, value in records]
    # A run without aborted transactions would not show that they are hidden.
    assert any(value.startswith(b"never") for value in everything)
