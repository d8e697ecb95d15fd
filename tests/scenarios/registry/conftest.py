from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from barnabas.registry.core.state import RegistryState
from barnabas.registry.service import RegistryService
from tests.scenarios.registry.registry_client import Client, Memory


@pytest.fixture
def client() -> Iterator[Client]:
    async def make() -> RegistryService:
        return RegistryService(RegistryState(), cluster_id="cluster")

    service = asyncio.run(make())
    memory = Memory(service.state)
    service.lead(memory)
    yield Client(service, memory)
    service.stop()
