"""Brokers whose connection closed, until the controller has decided about them."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from barnabas.devcluster.development import development_properties
from barnabas.model.promise import Promise
from barnabas.node.process import parse_settings
from barnabas.replication import doubted_brokers
from barnabas.replication.doubted_brokers import DIAL_PAUSE_SECONDS, DOUBT_SECONDS, DoubtedBrokers
from tests.unit import simulated
from tests.unit.api.neighbours import registration
from tests.unit.metadata.made import after

GONE, ALIVE = 2, 3
ADDRESS = "127.0.0.1:9002"


class World:
    def __init__(self) -> None:
        brokers = after([registration(GONE, 9002), registration(ALIVE, 9003)])
        self.metadata = SimpleNamespace(image=brokers)
        settings = parse_settings(development_properties(data_dir="nowhere"))
        self.refused = True
        self.doubted = DoubtedBrokers(cast(Any, self.metadata), cast(Any, self), settings)

    def refuses(self, host: str, port: int) -> Promise[bool]:
        assert (host, port) == ("127.0.0.1", 9002)
        return Promise.kept(self.refused)

    async def publish(self, *records: Any) -> None:
        image = after(list(records), self.metadata.image)
        await self.doubted.publish(cast(Any, None), image, cast(Any, None))
        self.metadata.image = image
        await asyncio.sleep(0)


def test_a_doubt_ends_when_the_broker_is_fenced() -> None:
    async def scenario() -> None:
        world = World()
        world.doubted.connection_lost(ADDRESS)
        assert GONE in world.doubted
        assert ALIVE not in world.doubted
        waiting: Promise[None] = world.doubted.settled()
        await world.publish(registration(ALIVE, 9003))
        answered = [waiting.done]
        await world.publish(registration(GONE, 9002, fenced=True))
        answered.append(waiting.done)
        assert answered == [False, True], "only the change of this broker settles it"
        assert not world.doubted

    simulated.run(scenario())


def test_a_doubt_ends_with_its_time() -> None:
    async def scenario() -> None:
        world = World()
        world.doubted.connection_lost(ADDRESS)
        waiting: Promise[None] = world.doubted.settled()
        await asyncio.sleep(DOUBT_SECONDS + 0.001)
        assert waiting.done
        assert not world.doubted

    simulated.run(scenario())


def test_connections_to_other_addresses_cause_no_doubt() -> None:
    async def scenario() -> None:
        world = World()
        world.doubted.connection_lost("127.0.0.1:1")
        assert not world.doubted
        assert world.doubted.settled().done

    simulated.run(scenario())


def test_a_fenced_broker_is_not_doubted() -> None:
    async def scenario() -> None:
        world = World()
        await world.publish(registration(GONE, 9002, fenced=True))
        world.doubted.connection_lost(ADDRESS)
        assert not world.doubted

    simulated.run(scenario())


def test_more_requests_than_the_limit_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doubted_brokers, "WAITING_MAX", 1)

    async def scenario() -> None:
        world = World()
        world.doubted.connection_lost(ADDRESS)
        waiting, further = world.doubted.settled(), world.doubted.settled()
        assert (waiting.done, further.done) == (False, True)
        world.doubted.stop()

    simulated.run(scenario())


def test_a_broker_that_can_be_reached_is_not_doubted_for_long() -> None:
    async def scenario() -> None:
        world = World()
        world.refused = False
        world.doubted.connection_lost(ADDRESS)
        assert GONE in world.doubted
        await asyncio.sleep(DIAL_PAUSE_SECONDS + 0.001)
        assert not world.doubted

    simulated.run(scenario())
