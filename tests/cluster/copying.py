"""A topic that is copied to another by programs that are killed, and what must be true of the copy.

Every record of the input says where it lies (``partition/number``), so the copy can be checked without the input: read committed, it has
for each partition of the input the numbers from 0 on, each once and in order, and nothing of what was written into aborted transactions.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from barnabas.wire.messages.describe_groups import DescribeGroupsRequest
from barnabas.wire.messages.describe_transactions import DescribeTransactionsRequest
from barnabas.wire.messages.list_transactions import ListTransactionsRequest
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from peers.apache_kafka import JARS, java
from peers.cluster import ends_with_us
from tests.cluster.asking import READ_COMMITTED, READ_UNCOMMITTED, ask_coordinator, end_offsets
from tests.cluster.copier import FENCED, GROUP, INPUT, OUTPUT, OUTPUT_PARTITIONS
from tests.scenarios.client import Client
from tests.scenarios.waiting import until

INPUT_PARTITIONS = 4
SENDS_PER_SECOND = 500
# A copier that stops because of what the killed node answered is started again; one that never gets anywhere is a bug.
OWN_EXITS_PER_ROUND_MAX = 3
CONFIG = {
    # Sessions of the dead end soon, or every round would wait for one.
    "group.min.session.timeout.ms": "500",
    "group.consumer.min.session.timeout.ms": "500",
    "group.consumer.session.timeout.ms": "2000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "300",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
}


@dataclass(frozen=True)
class Kind:
    """Of a copier: its client, its membership and its group's protocol."""

    client: str = "librdkafka"
    static: bool = False
    protocol: str = "classic"


# -- the copiers --------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def compiled() -> tempfile.TemporaryDirectory[str]:
    """``Copier.java`` compiled once: from its source it would start twice as slowly every time."""
    classes = tempfile.TemporaryDirectory(prefix="copier-")
    source = str(Path(__file__).with_name("Copier.java"))
    subprocess.run(["javac", "-cp", f"{JARS}/*", "-d", classes.name, source], check=True)
    return classes


class Copier:
    """One process. What it wrote on stderr is kept in a file for whoever debugs."""

    def __init__(self, kind: Kind, slot: int, bootstrap: str, seed: str) -> None:
        arguments = [bootstrap, f"copier-{slot}", f"instance-{slot}" if kind.static else "", kind.protocol, seed]
        if kind.client == "java":
            command = java(f"-Dcopier={slot}", "Copier", *arguments)
            command[command.index("-cp") + 1] += f":{compiled().name}"
        else:
            command = [sys.executable, "-m", "tests.cluster.copier", *arguments]
        self._python = kind.client != "java"
        self._said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it is killed
        self._process = subprocess.Popen(ends_with_us(command), stdout=subprocess.PIPE, stderr=self._said)
        self.ready = threading.Event()
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()
        self.paused = False

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for _ in self._process.stdout:
            self.ready.set()

    @property
    def exit_code(self) -> int | None:
        return self._process.poll()

    def said(self) -> str:
        self._said.seek(0)
        return self._said.read().decode(errors="replace")[-2000:]

    def where(self) -> str:
        """What it said, and what it is at now if it is written in Python."""
        if self._python and self.exit_code is None:
            self._process.send_signal(signal.SIGUSR1)
            time.sleep(0.1)
        return self.said()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)
        self.paused = True

    def resume(self) -> None:
        self.paused = False
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._said.close()


class Copiers:
    """One copier in each slot, whatever happens to them, and the zombies that others have taken the place of."""

    def __init__(self, kinds: Sequence[Kind], bootstrap: str, seed: int) -> None:
        self._kinds = kinds
        self._bootstrap = bootstrap
        self._seed = seed
        self._started = 0
        self.own_exits: list[str] = []
        self.zombies: list[Copier] = []
        self.running = [self._start(slot) for slot in range(len(kinds))]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for each in (*self.running, *self.zombies):
            each.kill()

    def _start(self, slot: int) -> Copier:
        self._started += 1
        return Copier(self._kinds[slot], slot, self._bootstrap, f"{self._seed}/{self._started}")

    def kill(self, slot: int) -> None:
        self.running[slot].kill()
        self.running[slot] = self._start(slot)

    def replace(self, slot: int) -> Copier:
        """The one in the slot is stopped wherever it is; another takes over its transactional id. The zombie."""
        zombie = self.running[slot]
        zombie.pause()
        self.zombies.append(zombie)
        self.running[slot] = self._start(slot)
        return zombie

    def look_after(self) -> None:
        for slot, each in enumerate(self.running):
            if each.exit_code is not None:
                self.own_exits.append(f"slot {slot} ended with {each.exit_code}: {each.said()}")
                each.kill()
                self.running[slot] = self._start(slot)

    def whereabouts(self) -> list[str]:
        named = [*((f"slot {slot}", each) for slot, each in enumerate(self.running)), *(("zombie", each) for each in self.zombies)]
        return [f"{name}, exit code {each.exit_code}: {each.where()}" for name, each in named]

    def await_fencing(self) -> None:
        """No zombie lives on. What it did before it ended is judged by the copy, as with all of them.

        The Java client's consumer may end first: one that wakes up after its partitions were given away sometimes fails in its poll
        ("No current assignment for partition"), before its producer could be told that it is fenced.
        """
        for zombie in self.zombies:
            code = until(lambda zombie=zombie: zombie.exit_code, "the zombie ends")  # type: ignore[misc]
            if code != FENCED:
                self.own_exits.append(f"a zombie ended with {code}: {zombie.said()}")


# -- what goes in -------------------------------------------------------------------------------------------------------------


@dataclass
class Feed:
    sent: Counter[int] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)


@contextmanager
def feeding(bootstrap: str, feed: Feed) -> Iterator[None]:
    """In the background; at the end of the block everything has been delivered."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
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
    assert producer.flush(120) == 0
    assert not feed.errors, feed.errors[:5]


# -- what comes out -----------------------------------------------------------------------------------------------------------


def committed_offsets(bootstrap: str) -> dict[int, int]:
    """How far the group has come, of transactions that are over. Empty while nobody can tell."""
    topics = [OffsetFetchRequestTopics(name=INPUT, partition_indexes=list(range(INPUT_PARTITIONS)))]
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=GROUP, member_id=None, member_epoch=-1, topics=topics)], require_stable=False
    )
    answer = ask_coordinator(bootstrap, GROUP, request, 9)
    if answer is None or answer.groups[0].error_code:
        return {}
    return {each.partition_index: max(each.committed_offset, 0) for each in answer.groups[0].topics[0].partitions}


def situation(bootstrap: str) -> str:
    """For whoever has to find out why nothing moves."""
    told: list[object] = []
    for address in bootstrap.split(","):
        with suppress(OSError), Client(address, timeout=5) as client:
            told += client.ask(DescribeGroupsRequest(groups=[GROUP])).groups
            told += client.ask(ConsumerGroupDescribeRequest(group_ids=[GROUP], include_authorized_operations=False)).groups
            listed = client.ask(ListTransactionsRequest(state_filters=[], producer_id_filters=[])).transaction_states
            ids = [each.transactional_id for each in listed]
            told += client.ask(DescribeTransactionsRequest(transactional_ids=ids)).transaction_states
    return "\n".join([f"committed {committed_offsets(bootstrap)}", *map(repr, told)])


def unfinished(bootstrap: str) -> int:
    """Records of the output behind the last stable offset; -1 while nobody can tell."""
    ends = end_offsets(bootstrap, OUTPUT, range(OUTPUT_PARTITIONS), READ_UNCOMMITTED)
    stable = end_offsets(bootstrap, OUTPUT, range(OUTPUT_PARTITIONS), READ_COMMITTED)
    return sum(ends.values()) - sum(stable.values()) if ends is not None and stable is not None else -1


def read_output(bootstrap: str, isolation_level: str) -> dict[int, list[tuple[int, bytes]]]:
    """By partition of the output: offsets and values, to the present end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
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
            message = consumer.poll(60)
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
                assert error.retriable() or error.code() in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN), error
    finally:
        consumer.close()
    return found


class Copy:
    """The output as read-committed consumers see it. What they have seen once they see for ever."""

    def __init__(self) -> None:
        self.seen: dict[int, list[tuple[int, bytes]]] = {index: [] for index in range(OUTPUT_PARTITIONS)}

    def check(self, bootstrap: str) -> None:
        now = read_output(bootstrap, "read_committed")
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


# -- rounds -------------------------------------------------------------------------------------------------------------------


class Kafka(Protocol):
    """What the copiers copy within."""

    bootstrap: str

    def create_topic(self, name: str, partitions: int, configs: dict[str, str] | None = None) -> None: ...

    def kill(self, chance: random.Random) -> None:
        """A node is killed with ``kill -9``; it is back, or others have taken over, when this returns."""

    def restarted(self) -> Iterator[None]:
        """Once for each way in which everything begins anew, when it has."""

    def check_well(self) -> None:
        """Nothing was complained about."""

    def story(self) -> str: ...


class OneNode:
    def __init__(self, broker: EmbeddedBroker) -> None:
        self._broker = broker
        self.bootstrap = broker.bootstrap

    def create_topic(self, name: str, partitions: int, configs: dict[str, str] | None = None) -> None:
        with Client(self.bootstrap) as client:
            client.create_topic(name, partitions, configs)

    def kill(self, chance: random.Random) -> None:
        self._broker.kill()
        self._broker.start()
        self.check_well()

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
        """A transaction commits from now on."""
        before = sum(committed_offsets(self._kafka.bootstrap).values())

        def further() -> bool:
            self._copiers.look_after()
            return sum(committed_offsets(self._kafka.bootstrap).values()) > before

        until(further, f"something is copied after {self.deeds[-5:]}, {self._copiers.own_exits[-3:]}", seconds_max=100)

    def _await_readiness(self, slot: int) -> None:
        def ready() -> bool:
            self._copiers.look_after()
            return self._copiers.running[slot].ready.is_set()

        until(ready, f"a copier in slot {slot} has its transactional id")

    def do(self, deed: str) -> None:
        slot = self._chance.randrange(len(self._copiers.running))
        self.deeds.append(f"{time.time():.3f} {deed} {slot}")
        time.sleep(self._chance.expovariate(5))
        if "copier" in deed:
            self._copiers.kill(slot)
        if "zombie" in deed:
            # One that has not begun yet would ask for the id when it wakes up, and be the newest.
            self._await_readiness(slot)
            zombie = self._copiers.replace(slot)
            self._await_readiness(slot)
            zombie.resume()
        if "node" in deed:
            self._kafka.kill(self._chance)


def copied_and_killed(kinds: Sequence[Kind], deeds: Sequence[str], seed: int) -> None:
    """A round for every deed, and at the end everything."""
    with EmbeddedBroker(process=True, config=CONFIG) as broker:
        copied_within(OneNode(broker), kinds, deeds, seed)


def copied_within(kafka: Kafka, kinds: Sequence[Kind], deeds: Sequence[str], seed: int) -> None:
    kafka.create_topic(INPUT, INPUT_PARTITIONS)
    kafka.create_topic(OUTPUT, OUTPUT_PARTITIONS, {"segment.bytes": "1048576"})
    feed, copy = Feed(), Copy()
    with Copiers(kinds, kafka.bootstrap, seed) as copiers:
        world = World(kafka, copiers, random.Random(seed))
        try:
            with feeding(kafka.bootstrap, feed):
                for number, deed in enumerate(deeds):
                    world.await_progress()
                    world.do(deed)
                    if number % 10 == 5:
                        copy.check(kafka.bootstrap)
                world.await_progress()
                copiers.await_fencing()

            def everything_is_copied() -> bool:
                copiers.look_after()
                return committed_offsets(kafka.bootstrap) == dict(feed.sent) and unfinished(kafka.bootstrap) == 0

            until(everything_is_copied, "the rest is copied", seconds_max=100)
            check_for_ever(kafka, copy, feed)
            assert len(copiers.own_exits) <= OWN_EXITS_PER_ROUND_MAX * len(deeds), copiers.own_exits
        except BaseException as failure:
            failure.add_note(f"seed {seed}, rounds: {world.deeds}\n{kafka.story()}")
            failure.add_note("\n".join([*copiers.own_exits, *copiers.whereabouts(), f"sent {feed.sent}"]))
            failure.add_note(situation(kafka.bootstrap))
            raise


def check_for_ever(kafka: Kafka, copy: Copy, feed: Feed) -> None:
    """Now, after a restart and after a crash."""
    for _ in chain([None], kafka.restarted()):
        copy.check(kafka.bootstrap)
        copy.check_complete(feed)
        kafka.check_well()
    everything = [value for records in read_output(kafka.bootstrap, "read_uncommitted").values() for _, value in records]
    # A run without aborted transactions would not show that they are hidden.
    assert any(value.startswith(b"never") for value in everything)
