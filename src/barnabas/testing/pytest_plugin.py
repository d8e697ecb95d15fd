"""pytest's door to Barnabas: the fixture ``kafka``, a fresh broker for every test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from barnabas.testing.embedded_broker import EmbeddedBroker


@pytest.fixture
def kafka() -> Iterator[EmbeddedBroker]:
    """A broker on a free port of this machine: ``kafka.bootstrap`` is what clients need."""
    from barnabas.testing.embedded_broker import EmbeddedBroker

    with EmbeddedBroker() as broker:
        yield broker
