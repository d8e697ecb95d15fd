"""What three replicas cost a producer that waits for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench import clusters, programs
from bench.measurement import Better, Effort, Figure, Goal, Measure
from bench.rows.variants import LARGE_VALUE_BYTES
from bench.systems import System

PARTITIONS = 6
CONNECTIONS = 8


@dataclass(frozen=True, slots=True)
class ClusterProduce:
    family = "three nodes, acks=all"
    about = (
        "Three nodes on this machine, topics with three replicas and min.insync.replicas 2. librdkafka (acks=all, linger 5 ms) produces "
        "values of 1 KB to six partitions until all are acknowledged; then eight connections produce one record of 100 bytes at a "
        "time to one partition, which gives the latency. Processor time and memory are those of all three nodes."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure(f"{self.family}, 1 KB, 6 partitions", "MB/s", Better.HIGHER, Goal(1.2)),
            Figure(f"{self.family}, p99 of small requests", "us", Better.LOWER, Goal(0.8)),
            Figure(f"{self.family}, CPU of all nodes", "s/GB", Better.LOWER),
            Figure(f"{self.family}, resident memory of all nodes", "MB", Better.LOWER, Goal(0.2)),
        )

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load() or programs.why_no_closed_loop()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        with clusters.three_nodes(system) as cluster:

            def measure() -> tuple[float, ...]:
                megabytes = effort.megabytes(LARGE_VALUE_BYTES)
                with clusters.replicated_topic(cluster, PARTITIONS) as topic:
                    before = clusters.cpu_seconds(cluster)
                    took = programs.librdkafka_load(
                        "produce",
                        bootstrap=cluster.bootstrap,
                        topic=topic,
                        partitions=PARTITIONS,
                        value_bytes=LARGE_VALUE_BYTES,
                        records=megabytes * 1_000_000 // LARGE_VALUE_BYTES,
                    )
                    used = clusters.cpu_seconds(cluster) - before
                with clusters.replicated_topic(cluster, 1) as topic:
                    (leader,) = clusters.await_leaders(cluster, topic, 1)
                    small = programs.closed_loop(
                        port=leader.port, topic=topic, connections=CONNECTIONS, partitions=1, seconds=effort.closed_loop_seconds
                    )
                produced = took["records"] * LARGE_VALUE_BYTES
                return produced / took["seconds"] / 1e6, small["p99_us"], used / (produced / 1e9), clusters.resident_bytes(cluster) / 1e6

            yield measure


ROWS = (ClusterProduce(),)
