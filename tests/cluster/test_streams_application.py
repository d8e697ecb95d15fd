"""A Kafka Streams application under ``group.protocol=streams`` and ``exactly_once_v2``: its results
are those of a plain computation, although instances and brokers are killed.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from peers.apache_kafka import why_missing
from peers.cluster import QUICK, Cluster
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.evidence import evidence
from tests.cluster.secured_cluster import plaintext_cluster
from tests.cluster.streams_instances import APPLICATION, Instances
from tests.cluster.streams_work import INPUTS, PARTITIONS, RESULTS, Feed, Results
from tests.cluster.view import View

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

LINES_PER_DEED = 600
LONG_ROUNDS = 25
DEEDS = ("kill instance", "kill coordinator", "kill broker", "kill instance and broker")
CONFIG = {
    # Sessions of dead members end soon; otherwise every round would wait for one.
    "group.streams.min.session.timeout.ms": "500",
    "group.streams.session.timeout.ms": "3000",
    "group.streams.min.heartbeat.interval.ms": "100",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.initial.rebalance.delay.ms": "500",
    "group.streams.num.standby.replicas": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
}


class Rounds:
    def __init__(self, cluster: Cluster, view: View, instances: Instances, chance: random.Random) -> None:
        self._cluster = cluster
        self._view = view
        self._instances = instances
        self._chance = chance

    def do(self, deed: str) -> None:
        if "instance" in deed:
            self._instances.kill(self._chance.randrange(len(self._instances.running)))
        if "coordinator" in deed:
            self._restart(self._view.coordinator(APPLICATION))
        if "broker" in deed:
            self._restart(self._chance.choice(self._cluster.brokers).id)

    def _restart(self, node_id: int) -> None:
        node = self._cluster.node(node_id)
        node.kill()
        self._view.await_leader(INPUTS[0], other_than=node_id)
        node.start()
        for each in self._cluster.nodes.values():
            each.await_listening()
        self._view.await_brokers(*(each.id for each in self._cluster.brokers))
        for topic in (*INPUTS, *RESULTS, "__consumer_offsets", "__transaction_state"):
            self._view.await_in_sync(topic)


@contextmanager
def cluster_with_topics() -> Iterator[tuple[Cluster, View, Path]]:
    with evidence("streams") as kept:
        made = barnabas_cluster(brokers=3, properties={**QUICK, **CONFIG}, directory=kept)
        with plaintext_cluster(made) as (cluster, view):
            for topic in (*INPUTS, *RESULTS):
                view.create_topic(topic, PARTITIONS)
            yield cluster, view, kept


def processed(deeds: Sequence[str], seed: int) -> None:
    with cluster_with_topics() as (cluster, view, kept):
        feed, results = Feed(view.access), Results(view.access)
        with Instances(2, cluster.bootstrap, kept) as instances:
            for each in instances.running:
                each.await_running()
            rounds = Rounds(cluster, view, instances, random.Random(seed))
            for deed in deeds:
                feed.send(LINES_PER_DEED)
                rounds.do(deed)
            feed.send(LINES_PER_DEED)
            feed.flush()
            results.await_size(feed.sent, instances.told)
            for each in instances.running:
                assert each.close() == 0, each.told()
        results.await_size(feed.sent, "all instances have ended")
        results.check(feed.sent)
        assert all(node.running for node in cluster.nodes.values()), cluster.story()


def test_results_are_exactly_those_of_a_plain_computation_when_instances_and_brokers_are_killed() -> None:
    processed(["kill instance", "kill coordinator"], seed=3)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_results_are_exact_in_many_rounds_of_killed_instances_and_brokers() -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    chance = random.Random(seed)
    print(f"seed {seed}")
    processed([chance.choice(DEEDS) for _ in range(LONG_ROUNDS)], seed)
