"""Writes that reach a registry while its instances elect a leader."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest
from starlette.responses import Response

from barnabas.registry import app as registry_app
from barnabas.registry.app import RegistryApp
from barnabas.registry.core.errors import no_leader
from barnabas.registry.core.state import RegistryState
from barnabas.registry.http import Call, answer
from barnabas.registry.service import RegistryService
from tests.scenarios.registry.registry_client import Memory

SCHEMA = {"schema": json.dumps("int")}


class Elsewhere:
    leader_url: str | None = None

    async def forward(self, call: Call) -> Response:
        if self.leader_url is None:
            raise no_leader()
        return answer({"forwarded_to": self.leader_url})


class Registry:
    def __init__(self) -> None:
        self.state = RegistryState()
        self.service = RegistryService(self.state)
        self.forwarding = Elsewhere()
        self.app = RegistryApp(self.service, forwarding=self.forwarding)

    async def write(self) -> tuple[int, object]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://registry") as client:
            response = await client.post("/subjects/a/versions", json=SCHEMA)
        return response.status_code, response.json()

    async def writing(self) -> asyncio.Task[tuple[int, object]]:
        """A write that waits."""
        task = asyncio.create_task(self.write())
        while not self.app._leader_news._waiters:
            await asyncio.sleep(0)
        return task


def test_a_write_waits_until_this_instance_leads() -> None:
    async def scenario() -> None:
        registry = Registry()
        write = await registry.writing()
        registry.app.leader_changed()
        await asyncio.sleep(0)
        assert not write.done(), "the news was not of a leader"
        registry.service.lead(Memory(registry.state))
        registry.app.leader_changed()
        status, body = await write
        assert isinstance(body, dict)
        assert (status, body["id"]) == (200, 1)
        registry.service.stop()

    asyncio.run(scenario())


def test_a_write_waits_until_another_instance_leads() -> None:
    async def scenario() -> None:
        registry = Registry()
        write = await registry.writing()
        registry.forwarding.leader_url = "http://other"
        registry.app.leader_changed()
        assert await write == (200, {"forwarded_to": "http://other"})

    asyncio.run(scenario())


@pytest.mark.parametrize("stops", [True, False])
def test_a_write_waits_no_longer_than_its_limit_or_the_instance(stops: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_app, "LEADER_SECONDS_MAX", 60.0 if stops else 0.05)

    async def scenario() -> None:
        registry = Registry()
        write = await registry.writing()
        if stops:
            registry.app.stop()
        status, body = await write
        assert isinstance(body, dict)
        assert (status, body["error_code"]) == (500, 50004)

    asyncio.run(scenario())


def test_a_write_of_an_instance_that_lost_its_leadership_meanwhile_is_refused() -> None:
    async def scenario() -> None:
        registry = Registry()
        registry.service.lead(Memory(registry.state))
        think = registry.service._think_quickly

        async def slow(*arguments: object) -> object:
            decided: object = await think(*arguments)  # type: ignore[arg-type]
            registry.service.lead(None)
            return decided

        registry.service._think_quickly = slow  # type: ignore[method-assign, assignment]
        status, body = await registry.write()
        assert isinstance(body, dict)
        assert (status, body["error_code"]) == (500, 50004)
        registry.service.stop()

    asyncio.run(scenario())
