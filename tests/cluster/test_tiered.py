"""Three brokers with one remote store: leaders change while they copy, and replicas are rebuilt
from nothing.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from peers.cluster import QUICK, Cluster, Node
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.view import View, ready
from tests.scenarios.client import Client
from tests.scenarios.tiered.tiered_broker import EARLIEST, EARLIEST_LOCAL, RECORDS_PER_SEGMENT, TIERED, remote_logs, value_of
from tests.waiting import PATIENCE_SECONDS, until

TOPIC = "t"
LONG_ROUNDS = 12


@contextmanager
def tiered_cluster(store: Path, **config: str) -> Iterator[tuple[Cluster, View]]:
    properties = {
        **QUICK,
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.url": f"file://{store}",
        "remote.log.manager.task.interval.ms": "100",
        "log.retention.check.interval.ms": "100",
        "log.initial.task.delay.ms": "0",
        "rlmm.config.remote.log.metadata.topic.num.partitions": "3",
        # At this rate a copy is always in progress when a leader is killed.
        "remote.log.manager.copy.max.bytes.per.second": "4000000",
        **config,
    }
    with barnabas_cluster(brokers=3, properties=properties) as cluster:
        view = ready(cluster)
        view.create_topic(TOPIC, assignments={0: [1, 2, 3]}, configs=TIERED)
        yield cluster, view


class Sender:
    """One idempotent producer for the whole test: each record once, in order."""

    def __init__(self, cluster: Cluster) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 5,
                "batch.size": 200_000,
                "message.timeout.ms": 120_000,
                "reconnect.backoff.max.ms": 100,
                "log_level": 2,
            }
        )
        self.sent = 0

    def send(self, segments: int, *, wait: bool = True) -> None:
        for _ in range(segments * RECORDS_PER_SEGMENT):
            self._producer.produce(TOPIC, value_of(self.sent), partition=0, on_delivery=_delivered)
            self.sent += 1
            self._producer.poll(0)
        if wait:
            assert self._producer.flush(PATIENCE_SECONDS) == 0


def _delivered(error: Any, _: Any) -> None:
    assert error is None, error


def read_all(cluster: Cluster, count: int) -> None:
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "g", "auto.offset.reset": "error", "log_level": 2})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    number = 0
    while number < count:
        messages = consumer.consume(count - number, timeout=PATIENCE_SECONDS)
        assert messages, f"{number} of {count} came"
        for message in messages:
            assert message.error() is None, message.error()
            assert (message.offset(), message.value()) == (number, value_of(number))
            number += 1
    consumer.close()


def offset_at(cluster: Cluster, view: View, timestamp: int) -> int:
    def told() -> tuple[int] | None:
        # The leader in the metadata may not know of its leadership yet.
        with suppress(OSError, AssertionError), Client(cluster.node(view.await_leader(TOPIC)).bootstrap) as client:
            return (client.end_offset(TOPIC, timestamp=timestamp),)
        return None

    return until(told, "the leader tells its offsets")[0]


def await_tiered(cluster: Cluster, view: View, offset: int) -> None:
    until(lambda: offset_at(cluster, view, EARLIEST_LOCAL) >= offset, f"the leader has nothing local below {offset}")


def first_local_offset(node: Node) -> int:
    directory = node.data / f"{TOPIC}-0"
    return min(int(name.removesuffix(".log")) for name in os.listdir(directory) if name.endswith(".log"))


def test_a_new_leader_continues_the_copying_and_a_wiped_replica_comes_back_to_lead(tmp_path: Path) -> None:
    with tiered_cluster(tmp_path) as (cluster, view):
        sender = Sender(cluster)
        sender.send(4)
        until(lambda: remote_logs(tmp_path, TOPIC), "the first segment is remote")
        sender.send(2, wait=False)
        cluster.node(1).kill()
        view.await_leader(TOPIC, other_than=1)
        sender.send(2)
        await_tiered(cluster, view, 5 * RECORDS_PER_SEGMENT)
        # Its disk is gone: its records are remote, or on the other brokers.
        cluster.node(1).wipe()
        cluster.node(1).start()
        view.await_in_sync(TOPIC)
        assert first_local_offset(cluster.node(1)) >= RECORDS_PER_SEGMENT
        view.elect_preferred(TOPIC, [0])
        assert view.leader(TOPIC) == 1
        sender.send(2)
        assert offset_at(cluster, view, EARLIEST) == 0
        read_all(cluster, sender.sent)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_tiered_records_survive_killed_and_wiped_brokers(tmp_path: Path) -> None:
    chance = random.Random(7)
    with tiered_cluster(tmp_path) as (cluster, view):
        sender = Sender(cluster)
        for _ in range(LONG_ROUNDS):
            sender.send(3, wait=False)
            victim = cluster.node(chance.choice([1, 2, 3]))
            victim.kill()
            sender.send(2)
            if chance.random() < 0.5:
                victim.wipe()
            victim.start()
            victim.await_listening()
            view.await_in_sync(TOPIC)
            read_all(cluster, sender.sent)
        await_tiered(cluster, view, sender.sent - 4 * RECORDS_PER_SEGMENT)
        read_all(cluster, sender.sent)
