from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import free_port
from tests.registry_process import RegistryProcess
from tests.scenarios.client import Client
from tests.scenarios.schema_validation.stage import Stage


@pytest.fixture(scope="package")
def stage() -> Iterator[Stage]:
    # A broker must know its registry before the registry can start.
    port = free_port()
    config = {
        "confluent.schema.registry.url": f"http://127.0.0.1:{port}",
        "barnabas.schema.validation.missing.cache.ms": "0",
        "barnabas.schema.validation.timeout.ms": "60000",
    }
    with EmbeddedBroker(config=config) as kafka, RegistryProcess(kafka.bootstrap, "--port", str(port)) as registry:
        yield Stage(kafka, registry)


@pytest.fixture
def client(stage: Stage) -> Iterator[Client]:
    with Client(stage.kafka.bootstrap) as made:
        yield made
