"""Barnabas's pytest plugin: the fixture ``kafka``, a fresh broker for every test that uses it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from barnabas.testing.embedded_broker import EmbeddedBroker


@pytest.fixture
def kafka() -> Iterator[EmbeddedBroker]:
    """A broker on a free port of this machine; clients connect to ``kafka.bootstrap``."""
    from barnabas.testing.embedded_broker import EmbeddedBroker

    with EmbeddedBroker() as broker:
        yield broker
