"""Delivery states of share partitions in a directory that Apache Kafka and Barnabas use in turn."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import apache_kafka, free_port, why_missing
from tests.conformance.directories.share_state_keeper import STATE_PARTITIONS, keeping
from tests.conformance.directories.test_journeys import KILL, STOP
from tests.waiting import until

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

SETTINGS = {
    "share.coordinator.state.topic.num.partitions": str(STATE_PARTITIONS),
    # Snapshots, pruned records and cold snapshots within seconds.
    "share.coordinator.snapshot.update.records.per.snapshot": "5",
    "share.coordinator.state.topic.prune.interval.ms": "500",
    "share.coordinator.cold.partition.snapshot.interval.ms": "500",
    "broker.heartbeat.interval.ms": "300",
    "broker.session.timeout.ms": "4000",
}


@contextmanager
def kafka(data: Path, port: int, ending: str, *, format_storage: bool = False) -> Iterator[str]:
    with apache_kafka(data, extra=SETTINGS, format_storage=format_storage, port=port) as (bootstrap, process):
        yield bootstrap
        if ending == KILL:
            process.kill()
            process.wait()


@contextmanager
def barnabas(data: Path, port: int, ending: str) -> Iterator[str]:
    node = EmbeddedBroker(process=True, data_dir=data, port=port, config=SETTINGS)
    node.start()
    try:
        yield node.bootstrap
        assert node.complaints == ""
    finally:
        node.kill() if ending == KILL else node.stop()


def test_share_states_survive_kafka_to_barnabas_and_back(tmp_path: Path) -> None:
    data, port = tmp_path / "data", free_port()
    with kafka(data, port, KILL, format_storage=True) as bootstrap, keeping(bootstrap) as keeper:
        keeper.found()
        keeper.write(1)
        before = keeper.everything()

    with barnabas(data, port, KILL) as bootstrap, keeping(bootstrap) as keeper:
        assert keeper.everything() == before
        keeper.write(2)
        until(lambda: all(keeper.log_starts()), "superseded records are deleted", seen=keeper.log_starts)
        before = keeper.everything()

    with kafka(data, port, STOP) as bootstrap, keeping(bootstrap) as keeper:
        assert keeper.everything() == before
        keeper.write(3)
        before = keeper.everything()

    with barnabas(data, port, STOP) as bootstrap, keeping(bootstrap) as keeper:
        assert keeper.everything() == before
        keeper.write(4)
        keeper.delete_topic()
        before = keeper.everything()

    with kafka(data, port, STOP) as bootstrap, keeping(bootstrap) as keeper:
        assert keeper.everything() == before
