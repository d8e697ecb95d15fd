"""One node for the Java client and Kafka's tools, with shorter heartbeats than in production."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import why_missing

QUICK = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.assignment.interval.ms": "0",
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "100",
    "group.share.assignment.interval.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = why_missing()
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.java)
            if missing is not None:
                item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(scope="package")
def node() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(process=True, config=QUICK) as running:
        yield running
        assert running.complaints == ""


@pytest.fixture(scope="package")
def bootstrap(node: EmbeddedBroker) -> str:
    return node.bootstrap
