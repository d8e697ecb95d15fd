"""``kill -9`` of a node, and of the process that compacts for it, in the middle of their work: no
key loses its last value.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from barnabas.records.batch_builder import build_batch
from barnabas.records.record import Record
from barnabas.testing import EmbeddedBroker
from tests.conformance.compaction.on_disk import is_cleaned
from tests.scenarios.client import Client, records_in
from tests.waiting import until

BROKER = 4
SEGMENT_MS = 1000
KEYS = 50
CONFIG = {"log.cleaner.backoff.ms": "10", "log.segment.delete.delay.ms": "100"}
COMPACTED = {"cleanup.policy": "compact", "segment.ms": str(SEGMENT_MS), "min.cleanable.dirty.ratio": "0.01"}
# From very slow to unlimited, so that kills hit the reading of keys, the writing and the swap.
PACES = ("50000", "500000", "5000000", "1000000000")


class Table:
    """The acknowledged values: numbers that rise for every key."""

    def __init__(self, broker: EmbeddedBroker, random: Random) -> None:
        self.broker = broker
        self.random = random
        self.acknowledged: dict[bytes, int] = {}
        self._number = 0
        self._now_ms = int(time.time() * 1000) - 3_000_000

    def write(self, client: Client) -> None:
        """Writes a few segments."""
        for _ in range(self.random.randint(2, 5)):
            self._now_ms += 2 * SEGMENT_MS
            for _ in range(10):
                keys = [b"key-%d" % self.random.randrange(KEYS) for _ in range(20)]
                numbers = range(self._number, self._number + len(keys))
                self._number += len(keys)
                records = [
                    Record(at, self._now_ms, key, b"%d " % number + b"x" * 200)
                    for at, (key, number) in enumerate(zip(keys, numbers, strict=True))
                ]
                assert client.produce_batch("t", 0, build_batch(records), acks=-1).error_code == 0
                self.acknowledged.update(zip(keys, numbers, strict=True))

    def check(self, client: Client) -> None:
        found: dict[bytes | None, int] = {}
        offset = 0
        while records := [each for each in records_in(client.fetch("t", 0, offset).records) if each.offset >= offset]:
            for record in records:
                assert record.offset >= offset
                assert record.value is not None
                found[record.key] = int(record.value.split()[0])
                offset = record.offset + 1
        assert found == self.acknowledged

    def kill_worker(self) -> None:
        for task in Path(f"/proc/{self.broker.pid}/task").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):
                for pid in (task / "children").read_text().split():
                    os.kill(int(pid), signal.SIGKILL)


def torture(data: Path, seed: int, rounds: int) -> None:
    data.mkdir()
    random = Random(seed)
    broker = EmbeddedBroker(process=True, data_dir=data, config=CONFIG)
    table = Table(broker, random)
    broker.start()
    try:
        with Client(broker.bootstrap) as client:
            client.create_topic("t", configs=COMPACTED)
        for _ in range(rounds):
            with Client(broker.bootstrap) as client:
                client.alter_configs(BROKER, "", {"log.cleaner.io.max.bytes.per.second": random.choice(PACES)})
                table.write(client)
                time.sleep(random.random() / 2)
                if random.random() < 0.3:
                    table.kill_worker()
                    time.sleep(random.random() / 4)
                table.check(client)
            broker.kill()
            broker.start()
            with Client(broker.bootstrap) as client:
                table.check(client)
        with Client(broker.bootstrap) as client:
            client.alter_configs(BROKER, "", {"log.cleaner.io.max.bytes.per.second": PACES[-1]})
            table.write(client)
            until(lambda: is_cleaned(data, "t"), "everything is compacted")
            table.check(client)
        assert not [path for path in (data / "t-0").iterdir() if path.suffix in (".cleaned", ".swap")]
    finally:
        broker.close()


def test_a_broker_killed_while_compacting_keeps_its_table(tmp_path: Path) -> None:
    torture(tmp_path / "data", seed=1, rounds=3)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(2, 6))
def test_a_broker_killed_while_compacting_keeps_its_table_in_many_rounds(tmp_path: Path, seed: int) -> None:
    torture(tmp_path / "data", seed=seed, rounds=40)
