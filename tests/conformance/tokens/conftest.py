"""One Apache Kafka and one Barnabas with the same users and the same secret key."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import apache_kafka, why_missing
from tests.conformance.tokens.nodes import SASL, TOKENS
from tests.conformance.tokens.sides import Sides


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = why_missing()
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.java)
            if missing is not None:
                item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(scope="package")
def both() -> Iterator[tuple[str, str]]:
    with ExitStack() as stack:
        kafka, process = stack.enter_context(apache_kafka(extra=SASL | TOKENS))
        stack.callback(process.kill)
        barnabas = stack.enter_context(EmbeddedBroker(config=SASL | TOKENS))
        yield kafka, barnabas.bootstrap


@pytest.fixture
def sides(both: tuple[str, str]) -> Iterator[Sides]:
    sides = Sides(*both)
    yield sides
    sides.kafka.close()
    sides.barnabas.close()
