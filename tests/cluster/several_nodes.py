"""The rounds of the copiers (:mod:`tests.cluster.copying`) in a cluster of three brokers."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from peers.cluster import QUICK, Cluster
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.copiers import Kind
from tests.cluster.copying import CONFIG, copied_within
from tests.cluster.evidence import evidence
from tests.cluster.secured_cluster import plaintext_cluster, secured_cluster
from tests.cluster.starvation import Pausable
from tests.cluster.view import View


class SeveralNodes:
    """A killed node starts again and is back in sync before the next one is killed."""

    def __init__(self, cluster: Cluster, view: View) -> None:
        self._cluster = cluster
        self._view = view
        self._topics: list[str] = []
        self.access = view.access

    def create_topic(self, name: str, partitions: int, configs: dict[str, str] | None = None) -> None:
        self._view.create_topic(name, partitions, configs=configs)
        self._topics.append(name)

    def kill(self, chance: random.Random) -> None:
        node = chance.choice(self._cluster.brokers)
        node.kill()
        self._view.await_leader(self._topics[0], other_than=node.id)
        node.start()
        self.recovered()

    def processes(self) -> Sequence[Pausable]:
        return self._cluster.brokers

    def restarted(self) -> Iterator[None]:
        for node in self._cluster.brokers:
            node.stop()
            node.start()
            self.recovered()
        yield
        for node in self._cluster.brokers:
            node.kill()
        self._cluster.start()
        self.recovered()
        yield

    def recovered(self) -> None:
        for node in self._cluster.nodes.values():
            node.await_listening()
        self._view.await_brokers(*(node.id for node in self._cluster.brokers))
        for topic in (*self._topics, "__consumer_offsets", "__transaction_state"):
            self._view.await_in_sync(topic)

    def check_well(self) -> None:
        assert all(node.running for node in self._cluster.nodes.values()), self.story()

    def story(self) -> str:
        return self._cluster.story()


def copied_in_a_cluster(kinds: Sequence[Kind], deeds: Sequence[str], seed: int, *, secured: bool = False) -> None:
    with evidence("copying") as kept:
        made = barnabas_cluster(brokers=3, properties={**QUICK, **CONFIG}, directory=kept)
        with secured_cluster(made) if secured else plaintext_cluster(made) as (cluster, view):
            copied_within(SeveralNodes(cluster, view), kinds, deeds, seed, kept)
