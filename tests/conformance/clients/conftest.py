"""One node for all clients, in a process of its own; and topics created for a test."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.testing import EmbeddedBroker
from tests.waiting import PATIENCE_SECONDS

# kafka-python reads its schemas in a way that Python 3.11 deprecates, at import and later too.
OLD_WAY = "ignore:.*is deprecated. Use files:DeprecationWarning"
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka  # noqa: F401


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings(OLD_WAY))
            # kafka-python also forgets sockets whose connection was refused.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


MakeTopic = Callable[..., str]


@pytest.fixture(scope="package")
def broker() -> Iterator[EmbeddedBroker]:
    # Tests choose the timestamps of their records, so retention must not run, however long the
    # tests take.
    with EmbeddedBroker(process=True, config={"log.retention.check.interval.ms": str(24 * 3_600_000)}) as running:
        yield running
        # Nothing that the clients did made the node log a complaint.
        assert running.complaints == ""


@pytest.fixture(scope="package")
def bootstrap(broker: EmbeddedBroker) -> str:
    return broker.bootstrap


_numbers = count()


@pytest.fixture
def make_topic(bootstrap: str) -> MakeTopic:
    """``make_topic(partitions, **configs)`` creates a topic with a name of its own; underscores in
    configs stand for dots."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def make(partitions: int = 1, **configs: str) -> str:
        name = f"topic-{next(_numbers)}"
        topic = NewTopic(name, partitions, 1, config={key.replace("_", "."): value for key, value in configs.items()})
        admin.create_topics([topic])[name].result(PATIENCE_SECONDS)
        return name

    return make
