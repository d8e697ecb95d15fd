"""A broker in a process of its own and a registry beside it, for real clients."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import free_port
from tests.registry_process import RegistryProcess
from tests.scenarios.client import Client
from tests.scenarios.schema_validation.stage import REGISTRY_URL, Stage

# kafka-python reads its schemas in a way that Python 3.11 deprecates, at import and later too.
OLD_WAY = "ignore:.*is deprecated. Use files:DeprecationWarning"
with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka  # noqa: F401


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.filterwarnings(OLD_WAY))
            # Confluent's registry client leaves its connections to the garbage collector.
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="package")
def stage() -> Iterator[Stage]:
    port = free_port()
    with (
        EmbeddedBroker(process=True, config={REGISTRY_URL: f"http://127.0.0.1:{port}"}) as kafka,
        RegistryProcess(kafka.bootstrap, "--port", str(port)) as registry,
    ):
        yield Stage(kafka, registry)


@pytest.fixture
def client(stage: Stage) -> Iterator[Client]:
    with Client(stage.kafka.bootstrap) as made:
        yield made
