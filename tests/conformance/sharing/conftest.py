"""One node for share groups, in a process of its own, with shorter heartbeats than in production.

Locks are as long as in production: a member on a busy machine must not lose its records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.metadata.configs import ResourceType
from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.incremental_alter_configs import AlterableConfig, AlterConfigsResource, IncrementalAlterConfigsRequest
from tests.conformance.differential.raw_client import RawClient
from tests.waiting import PATIENCE_SECONDS

QUICK = {
    "group.share.min.heartbeat.interval.ms": "100",
    "group.share.heartbeat.interval.ms": "200",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.record.lock.duration.ms": "1000",
    "errors.deadletterqueue.auto.create.topics.enable": "true",
}
QUIET = {"log_level": 0}

MakeTopic = Callable[..., str]
MakeGroup = Callable[..., str]


@pytest.fixture(scope="package")
def node() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(process=True, config=QUICK) as running:
        yield running
        assert running.complaints == ""


@pytest.fixture(scope="package")
def bootstrap(node: EmbeddedBroker) -> str:
    return node.bootstrap


@pytest.fixture(scope="package")
def make_topic(bootstrap: str) -> MakeTopic:
    """A new topic with numbered records."""
    numbers = count()

    def make(records: int = 0, partitions: int = 1) -> str:
        name = f"shared-{next(numbers)}"
        admin = AdminClient({**QUIET, "bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(PATIENCE_SECONDS)
        fill(bootstrap, name, records, partitions)
        return name

    return make


def fill(bootstrap: str, topic: str, records: int, partitions: int = 1) -> None:
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "linger.ms": 5})
    for number in range(records):
        producer.produce(topic, str(number), partition=number % partitions)
        producer.poll(0)
    assert producer.flush(PATIENCE_SECONDS) == 0


@pytest.fixture(scope="package")
def make_group(bootstrap: str) -> MakeGroup:
    """A new group that begins at the first record."""
    numbers = count()

    def make(**settings: str) -> str:
        name = f"sharers-{next(numbers)}"
        configure(
            bootstrap, name, {"share.auto.offset.reset": "earliest", **{key.replace("_", "."): value for key, value in settings.items()}}
        )
        return name

    return make


def configure(bootstrap: str, group: str, settings: Mapping[str, str]) -> None:
    configs = [AlterableConfig(name=name, config_operation=0, value=value) for name, value in settings.items()]
    resource = AlterConfigsResource(resource_type=ResourceType.GROUP, resource_name=group, configs=configs)
    with RawClient(bootstrap) as client:
        (answer,) = client.ask(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1).responses
    assert answer.error_code == ErrorCode.NONE, answer.error_message
