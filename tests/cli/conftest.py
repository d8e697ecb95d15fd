from __future__ import annotations

import pytest

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli


@pytest.fixture
def cli(kafka: EmbeddedBroker) -> Cli:
    """``barnabas`` beside a fresh broker."""
    return Cli(kafka.bootstrap)
