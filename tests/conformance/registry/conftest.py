from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import EmbeddedBroker
from tests.registry_process import RegistryProcess


@pytest.fixture(scope="package")
def registry() -> Iterator[RegistryProcess]:
    with EmbeddedBroker() as kafka, RegistryProcess(kafka.bootstrap) as process:
        yield process
