"""Mixed load on three brokers for a long time, in chapters.

A chapter has a topic of its own, whose history is checked at its end, so that the memory of the
test does not grow. In the background of all chapters two topics are written, one that is compacted
and one whose old segments are deleted, and groups come and go. The first broker is never killed: it
must not hold more at the end than after the first chapters.

Every client is a process of its own (:mod:`tests.cluster.worker_process`), because librdkafka's
assertions abort the process in which they fail. The report of a run has their words.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, TopicPartition

from peers.cluster import QUICK, Cluster, Node
from tests.cluster.access import Access
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.chaos import MEMBER, PARTITIONS, Chaos, crew, replicas_agree
from tests.cluster.checker import check
from tests.cluster.compacted_table import CompactedTable
from tests.cluster.evidence import evidence
from tests.cluster.final_reads import read_to_the_end
from tests.cluster.history import History, Journal, Key, Moved, Polled
from tests.cluster.passers import Passers
from tests.cluster.reports import reports
from tests.cluster.secured_cluster import plaintext_cluster
from tests.cluster.table_writer import TableWriter
from tests.cluster.usage import Usage
from tests.cluster.view import View
from tests.cluster.worker_process import WorkerProcess
from tests.cluster.workers import QUICK_CLIENT, IdempotentSender, TransactionalSender, Worker, polled, working
from tests.waiting import LONG_PATIENCE_SECONDS, until

COMPACTED, SHORT_LIVED = Key("compacted", 0), Key("short-lived", 0)
# Kafka's smallest segment, so that compaction and retention have work all the time.
SEGMENT_BYTES = 1 << 20
CLEANING = {"log.cleaner.backoff.ms": "500", "log.retention.check.interval.ms": "1000"}
# For an hour on a machine that has other work too: with quick timeouts the starved controllers
# elect each other all the time, and little else happens.
PATIENT = {name: str(4 * int(value)) for name, value in QUICK.items()}
COMPACTED_CONFIG = {
    "cleanup.policy": "compact",
    "segment.bytes": str(SEGMENT_BYTES),
    "segment.ms": "5000",
    "min.cleanable.dirty.ratio": "0.1",
}
SHORT_LIVED_CONFIG = {"segment.bytes": str(SEGMENT_BYTES), "retention.bytes": str(SEGMENT_BYTES)}
# The broker that is never killed.
SURVIVOR = 1
# The first chapters fill caches and pools, so what the broker holds is compared with the end of
# the second one.
WARM_CHAPTERS = 2
# Descriptors of connections and segments that are open at the moment of counting.
DESCRIPTORS_MORE_MAX = 40
THREADS_MORE_MAX = 4
RESIDENT_MORE_SHARE_MAX = 0.25
# One after the other, through all chapters.
DEEDS = ("kill", "reassignment", "pause")
# No call that librdkafka is known to abort in is left. If it aborts more often than this, the
# broker is involved.
CHAPTERS_PER_ABORT = 4


def endured(
    *, chapters: int, deeds_per_chapter: int, seed: int, seconds_min: float = 0.0, timeouts: Mapping[str, str] | None = None
) -> None:
    """``chapters`` at least, and further ones until ``seconds_min`` have passed."""
    started = time.monotonic()
    with (
        evidence("endurance") as kept,
        plaintext_cluster(barnabas_cluster(properties={**(timeouts or QUICK), **CLEANING}, directory=kept)) as (cluster, view),
    ):
        view.create_topic(COMPACTED.topic, configs=COMPACTED_CONFIG)
        view.create_topic(SHORT_LIVED.topic, configs=SHORT_LIVED_CONFIG)
        run = Run(cluster, view, random.Random(seed), kept)
        try:
            with run.background(seed):
                while len(run.held) < chapters or time.monotonic() - started < seconds_min:
                    run.chapter(deeds_per_chapter)
            run.check_end()
        except BaseException as failure:
            failure.add_note(f"seed {seed}\n{run.report()}")
            raise
        finally:
            reports.append(run.report())


class Run:
    def __init__(self, cluster: Cluster, view: View, chance: random.Random, kept: Path) -> None:
        self._cluster = cluster
        self._view = view
        self._chance = chance
        self._kept = kept
        self._compacted, self._short_lived = CompactedTable(COMPACTED), CompactedTable(SHORT_LIVED)
        self._aborts: list[str] = []
        self._done: Counter[str] = Counter()
        # What each broker holds at the end of each chapter.
        self.held: list[dict[int, Usage]] = []

    @contextmanager
    def background(self, seed: int) -> Iterator[None]:
        hire = self._hiring("background", seed)
        workers = [
            hire(TableWriter, "compacted", self._compacted, [COMPACTED]),
            hire(TableWriter, "short-lived", self._short_lived, [SHORT_LIVED]),
            hire(Passers, "passers", self._compacted, [COMPACTED]),
        ]
        with working(workers), _explaining(workers):
            yield
            # While the writers go on: a short run may have written less than a segment.
            for node in self._cluster.brokers:
                _has_deleted_and_compacted(node)
            until(lambda: self._compacted.polled, "a group has come and gone", seconds_max=LONG_PATIENCE_SECONDS)
        self._check_background()

    def _hiring(self, folder: str, seed: int) -> Callable[[type[Worker], str, Journal, Sequence[Key]], WorkerProcess]:
        logs, settings = self._kept / folder, self._view.access.librdkafka
        logs.mkdir()
        return partial(WorkerProcess, settings=settings, seed=seed, evidence=logs, numbers=count(), aborts=self._aborts)

    def _check_background(self) -> None:
        complaints = self._compacted.complaints + self._short_lived.complaints
        assert not complaints, complaints[:5]

    def chapter(self, deeds: int) -> None:
        number, history, seed = len(self.held), History(), self._chance.randrange(1 << 30)
        topic = f"chapter-{number}"
        keys = [Key(topic, partition) for partition in range(PARTITIONS)]
        self._view.create_topic(topic, PARTITIONS)
        chaos = Chaos(self._cluster, self._view, history, keys, self._chance)
        hire = self._hiring(topic, seed)
        workers = [hire(kind, name, history, keys) for name, kind in crew(TransactionalSender if number % 2 else IdempotentSender).items()]
        try:
            with working(workers), _explaining(workers):
                for deed in range(deeds):
                    self._do(DEEDS[(number + deed) % len(DEEDS)], chaos, topic)
                chaos.await_progress()
            read_to_the_end(self._view.access, history, keys)
            check(history)
            replicas_agree(self._cluster, self._view, keys)
        except BaseException as failure:
            failure.add_note(f"{topic}, seed {seed}, {history.summary()}\n" + "\n".join(chaos.deeds))
            raise
        self._check_background()
        self._view.delete_topic(topic)
        self._count(history)
        self.held.append({node.id: _usage(node) for node in self._cluster.brokers})
        with (self._kept / "story.log").open("a") as story:
            story.write(f"{time.strftime('%H:%M:%S')} {self.report()}\n")

    def _do(self, deed: str, chaos: Chaos, topic: str) -> None:
        self._done[deed] += 1
        match deed:
            case "kill":
                chaos.kill_and_start(self._chance.choice([node for node in self._cluster.brokers if node.id != SURVIVOR]))
            case "pause":
                chaos.do("pause follower")
            case "reassignment":
                for replicas in (2, 3):
                    chaos.await_progress()
                    self._view.reassign(
                        topic, {index: self._chance.sample(sorted(self._cluster.nodes), replicas) for index in range(PARTITIONS)}
                    )

    def _count(self, history: History) -> None:
        self._done.update({f"{kind} {outcome.value}": number for (kind, outcome), number in history.outcomes.items()})
        self._done["records found"] += sum(map(len, history.final.values()))
        self._done["rebalances"] += sum(isinstance(event, Moved) and event.process.startswith(MEMBER) for event in history.events)

    def check_end(self) -> None:
        found = list(self._compacted.anomalies(_log(self._view.access, COMPACTED)))
        assert not found, "\n".join(map(str, found))
        assert self._aborts or not self._compacted.unknown + self._short_lived.unknown, "a record was not delivered"
        assert len(self._aborts) <= 1 + len(self.held) // CHAPTERS_PER_ABORT, self._aborts
        self._does_not_grow()

    def _does_not_grow(self) -> None:
        held = [each[SURVIVOR] for each in self.held]
        warm, last = held[min(WARM_CHAPTERS, len(held)) - 1], held[-1]
        story = "\n".join(map(str, held))
        assert last.descriptors <= warm.descriptors + DESCRIPTORS_MORE_MAX, story
        assert last.threads <= warm.threads + THREADS_MORE_MAX, story
        assert last.resident_bytes <= warm.resident_bytes * (1 + RESIDENT_MORE_SHARE_MAX), story

    def report(self) -> str:
        background = f"background {self._compacted.acknowledged + self._short_lived.acknowledged}, groups {self._compacted.polled}"
        done = ", ".join(f"{what} {number}" for what, number in sorted(self._done.items()))
        usage = ", ".join(f"node {node}: {held}" for node, held in self.held[-1].items()) if self.held else "none"
        return f"endurance: {len(self.held)} chapters, {done}, {background}; {usage}; aborted workers: {self._aborts}"


@contextmanager
def _explaining(workers: Sequence[WorkerProcess]) -> Iterator[None]:
    """Adds the words and the stacks of the workers to a failure."""
    try:
        yield
    except BaseException as failure:
        for worker in workers:
            failure.add_note(worker.whereabouts())
        raise


def _usage(node: Node) -> Usage:
    assert node.process is not None
    return Usage.of(node.process.pid)


def _log(access: Access, key: Key) -> list[Polled]:
    """The partition from its beginning to its end."""
    consumer = Consumer({**access.librdkafka, "group.id": "log", "enable.partition.eof": True, **QUICK_CLIENT})
    consumer.assign([TopicPartition(key.topic, key.partition, 0)])
    found: list[Polled] = []

    def read() -> bool:
        message = consumer.poll(1)
        if message is None:
            return False
        error = message.error()
        if error is not None:
            return error.code() == KafkaError._PARTITION_EOF
        found.append(polled(message))
        return False

    until(read, f"{key.topic} is read to its end", pause_seconds=0)
    consumer.close()
    return found


def _has_deleted_and_compacted(node: Node) -> None:
    def oldest(key: Key) -> int:
        return min(int(each.stem) for each in (node.data / f"{key.topic}-{key.partition}").glob("*.log"))

    until(lambda: oldest(SHORT_LIVED) > 0, f"node {node.id} has deleted old segments")
    checkpoint = node.data / "cleaner-offset-checkpoint"
    until(lambda: COMPACTED.topic in checkpoint.read_text(), f"node {node.id} has compacted", retry_on=FileNotFoundError)
