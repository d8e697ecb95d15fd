"""The time without acknowledgements when a node goes."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from confluent_kafka import Producer

from bench import clusters
from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed
from bench.systems import System
from peers.cluster import Cluster, Node

SETTLED_SECONDS = 1.0
OUTAGE_SECONDS_MAX = 40.0
FLUSH_SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Failover:
    family = "failover"
    about = (
        "Three nodes at default timeouts; librdkafka (acks=all, idempotent) sends a record every few milliseconds to a partition with "
        "three replicas. Its leader is killed with kill -9, or told to stop. Counted is the longest time without an acknowledgement; for "
        "the active controller, which is killed as well, the time until the next one says that it leads."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("leader killed, until producing goes on", "s", Better.LOWER, Goal(1.0, ours=1.0)),
            Figure("leader stopped, until producing goes on", "s", Better.LOWER, Goal(1.0, ours=2.0)),
            Figure("active controller killed, until there is a new one", "s", Better.LOWER, Goal(1.0, ours=3.0)),
        )

    def why_skipped(self) -> str | None:
        return None

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        with clusters.three_nodes(system) as cluster:

            def measure() -> tuple[float, ...]:
                return _outage(cluster, Node.kill), _outage(cluster, _stop), _controller_outage(cluster)

            yield measure


def _stop(node: Node) -> None:
    node.stop()


def _outage(cluster: Cluster, end: Callable[[Node], None]) -> float:
    with clusters.replicated_topic(cluster, 1) as topic:
        (leader,) = clusters.await_leaders(cluster, topic, 1)
        with _Steady(cluster.bootstrap, topic) as steady:
            steady.await_acknowledgement(after=time.monotonic() + SETTLED_SECONDS)
            ended_at = time.monotonic()
            ending = threading.Thread(target=end, args=(leader,))
            ending.start()
            steady.await_acknowledgement(after=ended_at + SETTLED_SECONDS)
            ending.join()
            steady.await_acknowledgement(after=time.monotonic())
            longest = steady.longest_gap(since=ended_at)
        _bring_back(cluster, leader, topic)
    return longest


def _controller_outage(cluster: Cluster) -> float:
    clusters.await_condition(lambda: clusters.active_controller(cluster) is not None, "controller")
    controller = clusters.active_controller(cluster)
    assert controller is not None
    controller.kill()
    killed_at = time.monotonic()
    clusters.await_condition(lambda: clusters.active_controller(cluster) is not None, "new controller")
    took = time.monotonic() - killed_at
    controller.start()
    controller.await_listening()
    # The next round begins only when all three are in sync.
    with clusters.replicated_topic(cluster, 1):
        return took


def _bring_back(cluster: Cluster, node: Node, topic: str) -> None:
    node.start()
    node.await_listening()
    clusters.await_leaders(cluster, topic, 1)


class _Steady:
    """A producer that never stops, and remembers the times of its acknowledgements."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "acks": "all", "enable.idempotence": True, "linger.ms": 0, "log_level": 0}
        )
        self._topic = topic
        self._answered: list[float] = []
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._produce)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._ends.set()
        self._thread.join()
        self._producer.flush(FLUSH_SECONDS_MAX)

    def _produce(self) -> None:
        while not self._ends.is_set():
            self._producer.produce(self._topic, b"steady", on_delivery=self._delivered)
            self._producer.poll(0.005)

    def _delivered(self, error: object, _: object) -> None:
        if error is None:
            self._answered.append(time.monotonic())

    def await_acknowledgement(self, *, after: float) -> None:
        deadline = time.monotonic() + OUTAGE_SECONDS_MAX
        while not self._answered or self._answered[-1] < after:
            if time.monotonic() > deadline:
                raise MeasurementFailed(f"nothing was acknowledged for {OUTAGE_SECONDS_MAX:g} s")
            time.sleep(0.01)

    def longest_gap(self, *, since: float) -> float:
        times = [since, *(each for each in self._answered if each >= since)]
        return max(later - earlier for earlier, later in itertools.pairwise(times))


ROWS = (Failover(),)
