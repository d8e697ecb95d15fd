"""Brokers whose process is gone, as the controller finds out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

from barnabas.controller.absent_brokers import DIAL_AGAIN_SECONDS, DIAL_PAUSES_SECONDS, SILENCE_SECONDS, AbsentBrokers
from barnabas.metadata.cluster import BrokerImage, Endpoint
from barnabas.model.ids import ZERO_UUID
from barnabas.model.promise import Promise
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from tests.unit import simulated

CONTROLLER, BROKER, PORT, EPOCH = 1, 2, 9092, 7


class Connected:
    """A connection that can be lost."""

    def __init__(self) -> None:
        self.callbacks: list[Callable[[], object]] = []

    def if_lost(self, callback: Callable[[], object]) -> None:
        self.callbacks.append(callback)

    def lose(self) -> None:
        for callback in self.callbacks:
            callback()


class World:
    """A controller that knows one broker, with two listeners; and the network to it."""

    def __init__(self) -> None:
        endpoints = tuple(Endpoint(name, "b", PORT + number, 0) for number, name in enumerate(("A", "B")))
        self.brokers = {each: BrokerImage(each, EPOCH, ZERO_UUID, endpoints, fenced=False) for each in (CONTROLLER, BROKER)}
        self.refused: dict[int, bool] = {PORT: True, PORT + 1: True}
        self.dialled: list[int] = []
        self.gone: list[tuple[int, int]] = []
        self.answers: list[Promise[bool]] | None = None
        self.absent = AbsentBrokers(cast(Any, self), cast(Any, self), EventLog("ERROR"), node_id=CONTROLLER)

    def broker_gone(self, broker_id: int, epoch: int) -> bool:
        self.gone.append((broker_id, epoch))
        return True

    def refuses(self, host: str, port: int) -> Promise[bool]:
        self.dialled.append(port)
        if self.answers is not None:
            self.answers.append(Promise())
            return self.answers[-1]
        return Promise.kept(self.refused[port])

    def heartbeat(self, connection: Connected, *, epoch: int = EPOCH, broker_id: int = BROKER) -> None:
        sent = BrokerHeartbeatRequest(
            broker_id=broker_id, broker_epoch=epoch, current_metadata_offset=0, want_fence=False, want_shut_down=False
        )
        self.absent.heard(sent, cast(Any, connection))


def run(scenario: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        world = World()
        await scenario(world)
        world.absent.stop()

    simulated.run(main())


def test_a_broker_whose_machine_refuses_all_its_listeners_is_fenced() -> None:
    world, connection = World(), Connected()
    world.heartbeat(connection)
    connection.lose()
    assert world.dialled == [PORT, PORT + 1]
    assert world.gone == [(BROKER, EPOCH)]


def test_a_closed_connection_alone_proves_nothing() -> None:
    async def scenario(world: World) -> None:
        connection = Connected()
        world.refused[PORT + 1] = False
        world.heartbeat(connection)
        connection.lose()
        await asyncio.sleep(2 * sum(DIAL_PAUSES_SECONDS))
        assert world.gone == []
        assert world.dialled.count(PORT + 1) == 1 + len(DIAL_PAUSES_SECONDS)

    run(scenario)


def test_a_listener_that_closes_a_moment_after_the_connection_is_dialled_again() -> None:
    async def scenario(world: World) -> None:
        connection = Connected()
        world.refused[PORT + 1] = False
        world.heartbeat(connection)
        connection.lose()
        world.refused[PORT + 1] = True
        await asyncio.sleep(2 * DIAL_PAUSES_SECONDS[0])
        assert world.gone == [(BROKER, EPOCH)]

    run(scenario)


def test_an_older_connection_of_a_broker_does_not_count() -> None:
    world, first, second = World(), Connected(), Connected()
    world.heartbeat(first)
    world.heartbeat(second)
    first.lose()
    assert world.dialled == []


def test_a_heartbeat_during_the_dialling_saves_the_broker() -> None:
    world, connection = World(), Connected()
    world.answers = []
    world.heartbeat(connection)
    connection.lose()
    world.heartbeat(Connected())
    for answer in world.answers:
        answer.resolve(True)
    assert world.gone == []


def test_a_process_that_has_registered_since_is_not_fenced_for_the_end_of_its_predecessor() -> None:
    world, connection = World(), Connected()
    world.heartbeat(connection, epoch=EPOCH - 1)
    connection.lose()
    assert world.dialled == []


def test_a_fenced_broker_is_not_dialled() -> None:
    world, connection = World(), Connected()
    world.heartbeat(connection)
    world.brokers[BROKER] = BrokerImage(BROKER, EPOCH, ZERO_UUID, world.brokers[BROKER].endpoints, fenced=True)
    connection.lose()
    assert world.dialled == []


def test_heartbeats_of_unregistered_brokers_are_not_remembered() -> None:
    world, connection = World(), Connected()
    world.heartbeat(connection, broker_id=99)
    assert connection.callbacks == []


def test_a_new_controller_dials_a_silent_broker_twice_before_it_fences_it() -> None:
    async def scenario(world: World) -> None:
        world.absent.begin()
        await asyncio.sleep(1.5 * SILENCE_SECONDS)
        assert (world.dialled, world.gone) == ([PORT, PORT + 1], [])
        await asyncio.sleep(SILENCE_SECONDS)
        assert world.gone == [(BROKER, EPOCH)]

    run(scenario)


def test_a_new_controller_does_not_dial_brokers_that_it_hears_nor_itself() -> None:
    async def scenario(world: World) -> None:
        world.absent.begin()
        world.heartbeat(Connected())
        await asyncio.sleep(3 * SILENCE_SECONDS)
        assert world.dialled == []

    run(scenario)


def test_a_heartbeat_between_the_dials_saves_the_broker() -> None:
    async def scenario(world: World) -> None:
        world.absent.begin()
        await asyncio.sleep(1.5 * SILENCE_SECONDS)
        world.heartbeat(Connected())
        await asyncio.sleep(SILENCE_SECONDS)
        assert world.gone == []

    run(scenario)


def test_a_broker_that_dies_before_its_first_heartbeat_to_a_new_controller_is_fenced() -> None:
    async def scenario(world: World) -> None:
        world.refused = {PORT: False, PORT + 1: False}
        world.absent.begin()
        await asyncio.sleep(3 * SILENCE_SECONDS)
        world.refused = {PORT: True, PORT + 1: True}
        assert world.gone == []
        await asyncio.sleep(DIAL_AGAIN_SECONDS + SILENCE_SECONDS)
        assert world.gone == [(BROKER, EPOCH)]

    run(scenario)


def test_a_new_controller_stops_dialling_when_it_has_heard_every_broker() -> None:
    async def scenario(world: World) -> None:
        world.refused = {PORT: False, PORT + 1: False}
        world.absent.begin()
        await asyncio.sleep(1.5 * SILENCE_SECONDS)
        world.heartbeat(Connected())
        dialled = len(world.dialled)
        await asyncio.sleep(4 * DIAL_AGAIN_SECONDS)
        assert len(world.dialled) == dialled

    run(scenario)


def test_a_controller_that_resigned_dials_no_more() -> None:
    async def scenario(world: World) -> None:
        world.absent.begin()
        world.absent.stop()
        await asyncio.sleep(3 * SILENCE_SECONDS)
        assert world.dialled == []

    run(scenario)
