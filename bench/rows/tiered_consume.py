"""How fast a consumer reads what is no longer on the broker's disk but in its remote store."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed
from bench.rows.variants import LARGE_VALUE_BYTES, Variant
from bench.systems import Barnabas, Server, System
from bench.topics import new_topic

SEGMENT_BYTES = 32 * 1024 * 1024
TIERED = {
    "remote.storage.enable": "true",
    "segment.bytes": str(SEGMENT_BYTES),
    "local.retention.bytes": "1",
    "file.delete.delay.ms": "0",
}
LOOK_SECONDS = 0.1
SECONDS_MAX = 120.0


@dataclass(frozen=True, slots=True)
class TieredConsume:
    family = "tiered consume"
    about = (
        "A C program with librdkafka reads a topic of one partition and values of 1 KB from its beginning. With Barnabas all segments but "
        f"the last, of {SEGMENT_BYTES // 2**20} MiB each, are in a remote store that is a directory, and gone from the log. Apache Kafka "
        "ships no remote store and reads the same from its own disk. The share is of what the same server gives from its own disk."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("tiered consume, file://", "MB/s", Better.HIGHER, Goal(0.5)),
            Figure("tiered consume, share of local", "x", Better.HIGHER, Goal(ours=0.5)),
        )

    def why_skipped(self) -> str | None:
        return programs.why_no_librdkafka_load()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        variant = Variant(LARGE_VALUE_BYTES, 1)
        records = variant.records(2 * effort.megabytes(variant.value_bytes))

        def load(command: str, server: Server, topic: str) -> float:
            took = programs.librdkafka_load(
                command, bootstrap=server.bootstrap, topic=topic, partitions=1, value_bytes=variant.value_bytes, records=records
            )
            return took["records"] * variant.value_bytes / took["seconds"] / 1e6

        with ExitStack() as ends:
            if not isinstance(system, Barnabas):
                server = system.server()
                local = ends.enter_context(new_topic(server, 1))
                load("produce", server, local)
                yield lambda: (load("consume", server, local), 1.0)
                return
            store = ends.enter_context(tempfile.TemporaryDirectory(prefix="bench-remote-", ignore_cleanup_errors=True))
            server = ends.enter_context(system.fresh_server(_settings(store)))
            server.await_port()
            local, tiered = ends.enter_context(new_topic(server, 1)), ends.enter_context(new_topic(server, 1, TIERED))
            load("produce", server, local)
            load("produce", server, tiered)
            _await_remote(server, tiered)

            def measure() -> tuple[float, ...]:
                here, there = load("consume", server, local), load("consume", server, tiered)
                return there, there / here

            yield measure


def _settings(store: str) -> dict[str, str]:
    return {
        "remote.log.storage.system.enable": "true",
        "remote.log.storage.url": f"file://{store}",
        "remote.log.manager.task.interval.ms": "100",
        "rlmm.config.remote.log.metadata.topic.replication.factor": "1",
        "rlmm.config.remote.log.metadata.topic.min.isr": "1",
        "log.retention.check.interval.ms": "100",
    }


def _await_remote(server: Server, topic: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while len(list((server.data / f"{topic}-0").glob("*.log"))) > 1:
        server.check_alive()
        if time.monotonic() > deadline:
            raise MeasurementFailed(f"the topic was not in the remote store within {SECONDS_MAX:g} s")
        time.sleep(LOOK_SECONDS)


ROWS = (TieredConsume(),)
