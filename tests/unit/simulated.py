"""``simulated.run(scenario())`` runs a shell without sockets and without waiting.

It replaces ``asyncio.run`` and uses the loop of the simulation. Time passes only when no callback
is due, so a timer of a minute takes no time at all, and a scenario that waits for an event that
never comes fails at once. Connections between a shell and a peer of the test are in memory
(:meth:`ConnectedLoop.listen`): bytes arrive complete and in order. Tests of torn frames and real
sockets are in ``tests/shells``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from itertools import count
from typing import Any, TypeVar, cast

from barnabas.simulation.loop import SimulatedLoop, within
from barnabas.simulation.scheduler import START_US, Scheduler

T = TypeVar("T")
# Far more than any scenario takes; one that is still at work then goes round in circles.
STEPS_MAX = 2_000_000
WORK_US = 100

OnConnection = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """The result of ``scenario``. Exceptions of forgotten callbacks fail the test."""
    scheduler = Scheduler()
    complaints: list[dict[str, Any]] = []
    loop = ConnectedLoop(scheduler, complaints.append)
    task = loop.create_task(scenario)
    try:
        while not task.done():
            assert scheduler.step(), "the scenario waits for an event that never comes"
            assert scheduler.steps < STEPS_MAX, "the scenario does not end"
        result = task.result()
    finally:
        loop.abandon()
    assert not complaints, complaints
    return result


class LoopClock:
    """The clock of the running simulated loop, as shells take it."""

    def wall_ms(self) -> int:
        return START_US // 1000 + self.monotonic_ms()

    def monotonic_ms(self) -> int:
        return round(asyncio.get_running_loop().time() * 1000)


class ConnectedLoop(SimulatedLoop):
    """A simulated loop that connects its shells to listeners of the test."""

    def __init__(self, scheduler: Scheduler, complain: Callable[[dict[str, Any]], None]) -> None:
        super().__init__(scheduler, lambda deed, *arguments: within(self, deed, *arguments), lambda: WORK_US, complain)
        self._ports = count(1024)
        self._listeners: dict[int, OnConnection] = {}

    def listen(self, on_connection: OnConnection) -> int:
        """The port of a new listener."""
        port = next(self._ports)
        self._listeners[port] = on_connection
        return port

    def stop_listening(self, port: int) -> None:
        del self._listeners[port]

    async def create_connection(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        await asyncio.sleep(0)
        on_connection = self._listeners.get(port)
        if on_connection is None:
            raise ConnectionRefusedError(f"nothing listens on port {port}")
        reader = asyncio.StreamReader(loop=self.as_loop)
        near, far = _End(self, factory()), _End(self, asyncio.StreamReaderProtocol(reader, on_connection, loop=self.as_loop))
        near.other, far.other = far, near
        for end in (far, near):
            end.protocol.connection_made(end)
        return near, near.protocol


class _End(asyncio.Transport):
    """One end of a connection in memory."""

    def __init__(self, loop: SimulatedLoop, protocol: asyncio.BaseProtocol) -> None:
        super().__init__()
        self.protocol = protocol
        self.other: _End
        self._loop = loop
        self._closed = False

    def write(self, data: Any) -> None:
        if not self._closed:
            self._loop.call_soon(self.other.receive, bytes(data))

    def receive(self, data: bytes) -> None:
        if self._closed:
            return
        if isinstance(self.protocol, asyncio.Protocol):
            self.protocol.data_received(data)
            return
        protocol = cast(asyncio.BufferedProtocol, self.protocol)
        while data and not self._closed:
            room = memoryview(protocol.get_buffer(len(data)))
            taken = min(len(room), len(data))
            room[:taken] = data[:taken]
            protocol.buffer_updated(taken)
            data = data[taken:]

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._loop.call_soon(self.protocol.connection_lost, None)
            self._loop.call_soon(self.other.hang_up)

    def abort(self) -> None:
        self.close()

    def hang_up(self) -> None:
        """The other end has closed the connection."""
        if not self._closed:
            self._closed = True
            cast(asyncio.Protocol, self.protocol).eof_received()
            self.protocol.connection_lost(None)

    def is_closing(self) -> bool:
        return self._closed

    def pause_reading(self) -> None:
        raise NotImplementedError("no scenario reads so little that its peer would have to wait")

    def get_write_buffer_size(self) -> int:
        return 0
