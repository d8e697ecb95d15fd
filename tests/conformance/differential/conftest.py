"""One Kafka and one Barnabas for all tests here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from peers.apache_kafka import why_missing
from tests.conformance.differential.pair import Pair, kafka_and_barnabas


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = why_missing()
    for item in items:
        if item.path.is_relative_to(__file__.rpartition("/")[0]):
            item.add_marker(pytest.mark.java)
            if missing is not None:
                item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    with kafka_and_barnabas(tmp_path_factory.mktemp("differential")) as both:
        yield both
