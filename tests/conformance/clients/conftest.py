"""One node for all clients, in a process of its own; and topics made for a test."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.testing import EmbeddedBroker
from tests.waiting import PATIENCE_SECONDS

# kafka-python reads its schemas in a way that Python 3.11 asks it not to, when it is imported and later too.
OLD_WAY = "ignore:.*is deprecated. Use files:DeprecationWarning"
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka  # noqa: F401


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings(OLD_WAY))
            # ... and forgets sockets whose connection was refused.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


MakeTopic = Callable[..., str]


@pytest.fixture(scope="session")
def broker() -> Iterator[EmbeddedBroker]:
    # Records here are as old as a test likes them: retention does not look at them, however long the tests take.
    with EmbeddedBroker(process=True, config={"log.retention.check.interval.ms": str(24 * 3_600_000)}) as running:
        yield running
        # Whatever clients did, the node had nothing to complain about.
        assert running.complaints == ""


@pytest.fixture(scope="session")
def bootstrap(broker: EmbeddedBroker) -> str:
    return broker.bootstrap


_numbers = count()


@pytest.fixture
def make_topic(bootstrap: str) -> MakeTopic:
    """``make_topic(partitions, **configs)`` makes one with a name of its own; underscores in configs stand for dots."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def make(partitions: int = 1, **configs: str) -> str:
        name = f"topic-{next(_numbers)}"
        topic = NewTopic(name, partitions, 1, config={key.replace("_", "."): value for key, value in configs.items()})
        admin.create_topics([topic])[name].result(PATIENCE_SECONDS)
        return name

    return make
