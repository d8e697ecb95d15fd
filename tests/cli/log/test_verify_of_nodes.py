"""``log verify`` of the directory of a node that runs, that was killed, and that was started
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Self

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS, until

CONFIG = {
    "metadata.log.max.record.bytes.between.snapshots": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(process=True, data_dir=tmp_path / "data", config=CONFIG) as broker:
        topic = NewTopic("orders", num_partitions=2, config={"segment.bytes": str(1 << 20), "index.interval.bytes": "200"})
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_topics([topic])["orders"].result(PATIENCE_SECONDS)
        yield broker


class Writing:
    """Writes records and transactions, some of them aborted, until it is closed or the broker
    ends."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._stop = Event()
        self.rounds = 0
        self._thread = Thread(target=self._write)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _write(self) -> None:
        settings = {"bootstrap.servers": self._bootstrap, "log_level": 0, "transaction.timeout.ms": 60_000, "message.timeout.ms": 60_000}
        producer = Producer({**settings, "transactional.id": "writer", "compression.type": "lz4"})
        producer.init_transactions(PATIENCE_SECONDS)
        while not self._stop.is_set():
            producer.begin_transaction()
            for number in range(200):
                producer.produce("orders", b"%d " % number * 50, key=b"%d" % number)
            producer.flush()
            (producer.abort_transaction if self.rounds % 3 == 1 else producer.commit_transaction)(PATIENCE_SECONDS)
            self.rounds += 1

    def wait_for(self, rounds: int) -> None:
        def written() -> bool:
            assert self._thread.is_alive()
            return self.rounds >= rounds

        until(written, f"{rounds} rounds are written", seen=lambda: self.rounds)


def verify(node: EmbeddedBroker) -> dict[str, int]:
    found: dict[str, int] = Cli()("log", "verify", node.data_dir, "--deep", "--json").json
    return found


def test_a_node_that_is_killed_during_writes_has_no_errors(node: EmbeddedBroker) -> None:
    with Writing(node.bootstrap) as writing:
        writing.wait_for(5)
        for _ in range(3):
            assert verify(node)["wrong"] == 0
        writing.wait_for(writing.rounds + 2)
    node.kill()
    killed = verify(node)
    assert (killed["wrong"], killed["partitions"]) == (0, 4)
    assert killed["batches"] > 20
    node.start()
    assert verify(node)["wrong"] == 0
    node.stop()
    assert verify(node)["batches"] >= killed["batches"]
