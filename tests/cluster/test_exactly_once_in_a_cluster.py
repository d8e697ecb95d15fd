"""The copiers of ``test_exactly_once``, within three brokers of which one after the other is killed."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from peers.apache_kafka import why_missing
from peers.cluster import QUICK, Cluster
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.copying import CONFIG, Kind, copied_within
from tests.cluster.view import View, ready

DEEDS = ("kill copier", "kill node", "kill copier and node", "zombie")
LONG_ROUNDS = 60
KINDS = {
    "librdkafka": [Kind(), Kind(), Kind(protocol="classic", static=True)],
    "java": [Kind("java", protocol="consumer"), Kind(protocol="consumer")],
}
needs_java = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]


class SeveralNodes:
    """A node that was killed is started again, and is back in sync before the next one is."""

    def __init__(self, cluster: Cluster, view: View) -> None:
        self._cluster = cluster
        self._view = view
        self._topics: list[str] = []
        self.bootstrap = cluster.bootstrap

    def create_topic(self, name: str, partitions: int, configs: dict[str, str] | None = None) -> None:
        self._view.create_topic(name, partitions, configs=configs)
        self._topics.append(name)

    def kill(self, chance: random.Random) -> None:
        node = chance.choice(self._cluster.brokers)
        node.kill()
        self._view.await_leader(self._topics[0], other_than=node.id)
        node.start()
        self._recovered()

    def restarted(self) -> Iterator[None]:
        for node in self._cluster.brokers:
            node.stop()
            node.start()
            self._recovered()
        yield
        for node in self._cluster.brokers:
            node.kill()
        self._cluster.start()
        self._recovered()
        yield

    def _recovered(self) -> None:
        for node in self._cluster.nodes.values():
            node.await_listening()
        self._view.await_brokers(*(node.id for node in self._cluster.brokers))
        for topic in (*self._topics, "__consumer_offsets", "__transaction_state"):
            self._view.await_in_sync(topic)

    def check_well(self) -> None:
        assert all(node.running for node in self._cluster.nodes.values()), self.story()

    def story(self) -> str:
        return self._cluster.story()


def copied(kinds: list[Kind], deeds: list[str], seed: int) -> None:
    with barnabas_cluster(brokers=3, properties={**QUICK, **CONFIG}) as cluster:
        copied_within(SeveralNodes(cluster, ready(cluster)), kinds, deeds, seed)


def test_everything_is_copied_once_whichever_broker_is_killed() -> None:
    copied(KINDS["librdkafka"], ["kill node", "kill copier", "kill copier and node"], seed=7)


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("kinds", [pytest.param(KINDS["librdkafka"]), pytest.param(KINDS["java"], marks=needs_java)], ids=KINDS)
def test_everything_is_copied_once_however_often_brokers_are_killed(kinds: list[Kind]) -> None:
    seed = random.SystemRandom().randrange(1 << 30)
    chance = random.Random(seed)
    copied(kinds, [chance.choice(DEEDS) for _ in range(LONG_ROUNDS)], seed)
