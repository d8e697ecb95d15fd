from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli


@pytest.fixture(autouse=True)
def configuration_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The profiles of the user who runs the tests must not reach them."""
    home = tmp_path_factory.mktemp("configuration")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.delenv("BARNABAS_PROFILE", raising=False)
    return home


@pytest.fixture
def cli(kafka: EmbeddedBroker) -> Cli:
    """``barnabas`` beside a fresh broker."""
    return Cli(kafka.bootstrap)
