"""Tests against Kafka need its jars."""

from __future__ import annotations

import pytest

from peers.apache_kafka import why_missing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = why_missing()
    for item in items:
        if item.path.is_relative_to(__file__.rpartition("/")[0]):
            item.add_marker(pytest.mark.java)
            if missing is not None:
                item.add_marker(pytest.mark.skip(reason=missing))
