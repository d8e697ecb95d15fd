"""After kill -9 of a broker, partitions whose leader lives acknowledge again as soon as the dead
broker is fenced.

With a ``replica.lag.time.max.ms`` as long as here, leaders check their ISR once a minute. Only
metadata can release the high watermark sooner, so a leader that overlooks it would keep its
producers waiting for that minute.
"""

from __future__ import annotations

import time
from collections import defaultdict

from confluent_kafka import KafkaError, Message, Producer

from peers.cluster import QUICK
from tests.cluster.barnabas_cluster import barnabas_cluster
from tests.cluster.view import ready
from tests.waiting import PATIENCE_SECONDS, until

TOPIC = "stall"
PARTITIONS = 6
LAG_MS = 120_000
# Far longer than one fetch takes on any machine, and far shorter than the minute that a leader
# would wait without the metadata.
RESUMED_SECONDS_MAX = 25.0


class Acknowledged:
    """The time of the last acknowledgement on each partition."""

    def __init__(self, bootstrap: str) -> None:
        self.last: dict[int, float] = defaultdict(float)
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 2, "log_level": 2})

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        partition = message.partition()
        if error is None and partition is not None:
            self.last[partition] = time.monotonic()

    def send(self) -> None:
        for partition in range(PARTITIONS):
            self._producer.produce(TOPIC, b"x", partition=partition, on_delivery=self._delivered)
        self._producer.poll(0.02)

    def after(self, moment: float, partitions: list[int]) -> bool:
        self.send()
        return all(self.last[partition] > moment for partition in partitions)

    def finish(self) -> int:
        return self._producer.flush(PATIENCE_SECONDS)


def test_partitions_with_a_living_leader_acknowledge_as_soon_as_the_dead_broker_is_fenced() -> None:
    properties = {**QUICK, "replica.lag.time.max.ms": str(LAG_MS), "broker.session.timeout.ms": "3000"}
    with barnabas_cluster(brokers=3, properties=properties) as cluster:
        view = ready(cluster)
        view.create_topic(TOPIC, PARTITIONS, replication_factor=3)
        acknowledged = Acknowledged(cluster.bootstrap)
        until(lambda: acknowledged.after(0.0, list(range(PARTITIONS))), "every partition acknowledges")

        dead = next(node for node in cluster.brokers if node.id != view.active_controller())
        alive = [index for index, each in view.partitions(TOPIC).items() if each.leader_id != dead.id]
        dead.kill()
        left = view.seen_without(dead.id)

        def fenced() -> bool:
            acknowledged.send()
            return dead.id not in left.brokers()

        until(fenced, f"broker {dead.id} is fenced")
        moment = time.monotonic()
        until(
            lambda: acknowledged.after(moment, alive),
            f"partitions {alive} acknowledge after broker {dead.id} was fenced",
            seconds_max=RESUMED_SECONDS_MAX,
        )
        print(f"acknowledged {max(acknowledged.last[each] for each in alive) - moment:.2f} s after the fencing")
        assert acknowledged.finish() == 0
