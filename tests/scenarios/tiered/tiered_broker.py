"""A broker with tiered storage on ``file://``, small segments and short intervals, with functions
that its tests share.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.testing import EmbeddedBroker
from tests.scenarios.client import Client
from tests.waiting import until

SEGMENT_BYTES = 1024 * 1024
VALUE_BYTES = 10_000
# Batches hold ten records, and segments ten batches.
RECORDS_PER_SEGMENT = 100
EARLIEST, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = -2, -4, -5, -6
TIERED = {
    "remote.storage.enable": "true",
    "segment.bytes": str(SEGMENT_BYTES),
    "local.retention.bytes": str(SEGMENT_BYTES),
    "file.delete.delay.ms": "0",
}


def tiered_broker(store: Path, *, process: bool = False, **config: str) -> EmbeddedBroker:
    return EmbeddedBroker(
        process=process,
        config={
            "remote.log.storage.system.enable": "true",
            "remote.log.storage.url": f"file://{store}",
            "remote.log.manager.task.interval.ms": "50",
            "remote.log.manager.task.retry.backoff.ms": "50",
            "remote.log.manager.task.retry.backoff.max.ms": "200",
            "log.retention.check.interval.ms": "50",
            "log.initial.task.delay.ms": "0",
            "rlmm.config.remote.log.metadata.topic.num.partitions": "3",
            # Kafka's half a second would end reads with an empty answer on a busy machine.
            "remote.fetch.max.wait.ms": "180000",
            **{name.replace("_", "."): value for name, value in config.items()},
        },
    )


def value_of(number: int) -> bytes:
    return b"%08d" % number + b"x" * (VALUE_BYTES - 8)


def fill(client: Client, topic: str, segments: int, *, first: int = 0, timestamp: int | None = None) -> int:
    """Produces numbered records, one a millisecond from ``timestamp`` on when it is given; returns
    the number after the last."""
    number = first
    for _ in range(segments * 10):
        records = [
            Record(each, int(time.time() * 1000) if timestamp is None else timestamp + number + each, None, value_of(number + each))
            for each in range(10)
        ]
        answer = client.produce_batch(topic, 0, build_batch(records))
        assert answer.error_code == 0
        number += 10
    return number


def remote_logs(store: Path, topic: str = "") -> list[Path]:
    return sorted(path for path in store.rglob("*.log") if topic in str(path))


def local_logs(broker: EmbeddedBroker, topic: str) -> list[str]:
    return sorted(name for name in os.listdir(Path(broker.data_dir) / f"{topic}-0") if name.endswith(".log"))


def wait_until_settled(client: Client, topic: str, segments: int) -> None:
    """Waits until all closed ones of a number of segments are remote, and no more of them leave the
    disk."""
    wait_until_tiered(client, topic, (segments - 2) * RECORDS_PER_SEGMENT)
    last = (segments - 1) * RECORDS_PER_SEGMENT - 1
    until(lambda: client.end_offset(topic, timestamp=LATEST_TIERED) == last, f"{topic} is remote up to {last}")


def wait_until_tiered(client: Client, topic: str, offset: int) -> None:
    """Waits until everything below ``offset`` is remote and no longer local."""
    until(lambda: client.end_offset(topic, timestamp=EARLIEST_LOCAL) >= offset, f"{topic} is local no more below {offset}")
