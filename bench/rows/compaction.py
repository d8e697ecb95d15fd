"""The speed of compaction, and its effect on producers."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from statistics import median

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType  # type: ignore[attr-defined]

from barnabas.env.real_disk import RealDisk
from barnabas.model.ids import TopicPartition
from barnabas.storage.checkpoints import CLEANER_OFFSETS, read_offsets
from bench import programs
from bench.measurement import Better, Effort, Figure, Goal, Measure, MeasurementFailed
from bench.systems import Server, System
from bench.topics import ADMIN_SECONDS_MAX, new_topic

RECORD_BYTES = 200
KEYS = 50_000
KEY_BYTES = 16
LOOK_SECONDS = 0.01
SECONDS_MAX = 120.0
SEGMENT_BYTES = 32 * 1024 * 1024
SEGMENT_MS = 600_000
SLICE_SECONDS = 0.3
QUIET_SLICES = 5
# The log is filled with these settings. No log is so dirty that the cleaner starts meanwhile.
FILLING = {
    "cleanup.policy": "compact",
    "segment.bytes": str(SEGMENT_BYTES),
    "segment.ms": str(SEGMENT_MS),
    "min.cleanable.dirty.ratio": "1.0",
}
CLEANING = {"min.cleanable.dirty.ratio": "0.001"}
NODE_ID = "1"
EAGER = {"log.cleaner.backoff.ms": "50"}


@dataclass(frozen=True, slots=True)
class Compaction:
    family = "compaction"
    about = (
        f"A log of records of {RECORD_BYTES} bytes, not compressed, of {KEYS} keys in random order, in segments of "
        f"{SEGMENT_BYTES // 2**20} MiB, is compacted once, by one worker, without other requests: megabytes of log before it, a "
        "second, from the change of the topic's min.cleanable.dirty.ratio to the checkpoint that says that it is done. Then another is "
        "compacted while a closed loop of one connection produces records of 100 bytes (acks=all) to a topic beside it: the 99th "
        f"percentile of those requests in the median slice of {SLICE_SECONDS:g} s, as a multiple of what it is right before."
    )

    @property
    def figures(self) -> tuple[Figure, ...]:
        return (
            Figure("compaction", "MB/s", Better.HIGHER, Goal(ratio=1.0, ours=50.0)),
            Figure("produce p99 while compacting", "x", Better.LOWER, Goal(ours=1.5)),
        )

    def why_skipped(self) -> str | None:
        return programs.why_no_closed_loop()

    @contextmanager
    def session(self, system: System, effort: Effort) -> Iterator[Measure]:
        # This row needs its own server: a cleaner that looks this often would disturb other rows.
        with system.fresh_server() as server:
            server.await_port()
            _alter(server, ResourceType.BROKER, NODE_ID, EAGER)

            def measure() -> tuple[float, ...]:
                return _speed(server, effort), _effect_on_producers(server, effort)

            yield measure


def _speed(server: Server, effort: Effort) -> float:
    with new_topic(server, 1, FILLING) as topic:
        size_bytes = _fill(server, topic, effort.compacted_megabytes)
        return size_bytes / 1e6 / _compact(server, topic)


def _effect_on_producers(server: Server, effort: Effort) -> float:
    with new_topic(server, 1, FILLING) as topic, new_topic(server, 1) as beside:

        def p99() -> float:
            return programs.closed_loop(port=server.port, topic=beside, connections=1, partitions=1, seconds=SLICE_SECONDS)["p99_us"]

        _fill(server, topic, effort.compacted_megabytes)
        # Write the filled log to the disk now. Producers would notice that too, and this row does
        # not measure it.
        os.sync()
        quiet = median([p99() for _ in range(QUIET_SLICES)])
        busy = []
        with ThreadPoolExecutor(1) as pool:
            compacting = pool.submit(_compact, server, topic)
            while not compacting.done():
                busy.append(p99())
            compacting.result()
        # The cleaner was done before the end of the last slice.
        return median(busy[:-1] or busy) / quiet


def _fill(server: Server, topic: str, megabytes: int) -> int:
    """Fills a log, and adds one record that begins a new segment; returns the bytes to compact."""
    random = Random(megabytes)
    producer = Producer({"bootstrap.servers": server.bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 1_000_000, "log_level": 0})
    now_ms = int(time.time() * 1000)
    value = b"v" * (RECORD_BYTES - KEY_BYTES)
    for _ in range(megabytes * 1_000_000 // RECORD_BYTES):
        key = b"%0*d" % (KEY_BYTES, random.randrange(KEYS))
        while True:
            try:
                producer.produce(topic, key=key, value=value, timestamp=now_ms - 4 * SEGMENT_MS)
                break
            except BufferError:
                producer.poll(0.1)
    if producer.flush(SECONDS_MAX):
        raise MeasurementFailed("the log was not filled in time")
    producer.produce(topic, key=b"last", value=value, timestamp=now_ms)
    producer.flush(SECONDS_MAX)
    return sum(path.stat().st_size for path in sorted((server.data / f"{topic}-0").glob("*.log"))[:-1])


def _compact(server: Server, topic: str) -> float:
    """The seconds of the compaction."""
    end = max(int(path.stem) for path in (server.data / f"{topic}-0").glob("*.log"))
    disk, path, partition = RealDisk(), str(server.data / CLEANER_OFFSETS), TopicPartition(topic, 0)
    _alter(server, ResourceType.TOPIC, topic, CLEANING)
    began = time.perf_counter()
    while read_offsets(disk, path).get(partition) != end:
        server.check_alive()
        if time.perf_counter() - began > SECONDS_MAX:
            raise MeasurementFailed(f"the log was not compacted in {SECONDS_MAX:g} s")
        time.sleep(LOOK_SECONDS)
    return time.perf_counter() - began


def _alter(server: Server, kind: ResourceType, name: str, values: dict[str, str]) -> None:
    admin = AdminClient({"bootstrap.servers": server.bootstrap, "log_level": 0})
    changes = [ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in values.items()]
    for done in admin.incremental_alter_configs([ConfigResource(kind, name, incremental_configs=changes)]).values():
        done.result(ADMIN_SECONDS_MAX)


ROWS = (Compaction(),)
