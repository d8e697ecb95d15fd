"""Members of a group, fifty on one event loop: only the requests that a client sends to its
coordinator.

Each member has a connection and one request in flight. A crowd is *stable* when all live members
are in one generation and their assignments together are all partitions, each once. Members report
to the crowd whenever they get an assignment.

Heartbeats are spread over their interval, like those of members that started at different times.
But when one member learns of a rebalance, all send a heartbeat, and shortly before a member's
session ends one of the others sends heartbeats more often. Otherwise the benchmark would measure
the interval, which the clients choose and which is the same for every server.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, cast

from barnabas.model.errors import ErrorCode
from bench.measurement import MeasurementFailed
from bench.requests import LENGTH_BYTES, decode_response, encode_request

SESSION_TIMEOUT_MS = 6000
HEARTBEAT_INTERVAL_MS = 100
# The heartbeat interval of one member, from just before a session ends.
SENTINEL_INTERVAL_MS = 2
SENTINEL_BEFORE_SECONDS = 0.2
# The precision to which the beginning of a session is known.
SOON_SECONDS = 0.003
STABLE_SECONDS_MAX = 60.0

NOTHING: frozenset[int] = frozenset()


class Conversation(asyncio.Protocol):
    """One request at a time. A response without a request, or in another order, fails to decode."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[bytes] | None = None
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        size = LENGTH_BYTES + int.from_bytes(self._received[:LENGTH_BYTES], "big")
        if len(self._received) >= LENGTH_BYTES and len(self._received) >= size:
            frame, self._received = self._received[LENGTH_BYTES:size], self._received[size:]
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(frame)

    def connection_lost(self, reason: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the server closed the connection"))

    async def ask(self, request: Any, version: int) -> Any:
        assert self._transport is not None, "connected"
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(encode_request(request, version))
        return decode_response(type(request), version, await self._answer)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class Crowd:
    """The members of one group, and whether they are stable."""

    def __init__(self, *, port: int, group: str, topic: str, partitions: int) -> None:
        self.port = port
        self.group = group
        self.topic = topic
        self.partitions = partitions
        self.members: list[Member] = []
        self._stable = asyncio.Event()
        self._lives: list[asyncio.Task[None]] = []
        self._awaits_news = False

    async def form(self, members: Sequence[Member]) -> float:
        """The seconds from the first request until all are stable. Connecting does not count."""
        self.members = list(members)
        for member in members:
            await member.connect()
        started = time.perf_counter()
        self._lives = [asyncio.create_task(member.live()) for member in members]
        await self._await_stable()
        return time.perf_counter() - started

    async def recover_from_death(self) -> float:
        """The seconds from the last heartbeat of one member until the others are stable without it.

        The server starts the session's timer between that heartbeat and its response, so the
        benchmark uses a heartbeat with a quick response.
        """
        victim = next(member for member in self.members if member.may_die())
        life = self._lives.pop(self.members.index(victim))
        last_heartbeat: asyncio.Future[float] = asyncio.get_running_loop().create_future()

        def answered(sent_at: float) -> None:
            if not last_heartbeat.done() and time.perf_counter() - sent_at <= SOON_SECONDS:
                last_heartbeat.set_result(sent_at)

        victim.on_heartbeat = answered
        try:
            died = await asyncio.wait_for(last_heartbeat, STABLE_SECONDS_MAX)
        except TimeoutError as late:
            raise MeasurementFailed(f"no heartbeat was answered within {SOON_SECONDS * 1000:g} ms: the machine is too busy") from late
        self._stable.clear()
        self.members.remove(victim)
        life.cancel()
        victim.close()
        await asyncio.sleep(SESSION_TIMEOUT_MS / 1000 - SENTINEL_BEFORE_SECONDS - (time.perf_counter() - died))
        self._awaits_news = True
        sentinel = self.members[0]
        sentinel.interval_ms = SENTINEL_INTERVAL_MS
        sentinel.hurry()
        await self._await_stable()
        took = time.perf_counter() - died
        if took < SESSION_TIMEOUT_MS / 1000:
            raise MeasurementFailed(f"stable {took:.3f} s after a death that the server cannot have noticed yet")
        return took

    async def disperse(self) -> None:
        """Leave, so that the server has no work with this group when the next one is measured."""
        for life in self._lives:
            life.cancel()
        await asyncio.gather(*self._lives, return_exceptions=True)
        for member in self.members:
            member.close()
        for member in self.members:
            await member.connect()
            await member.leave()
            member.close()

    def heard_of_death(self) -> None:
        """A member saw a change in a heartbeat response. If the crowd waits for one, all members
        send a heartbeat now."""
        if self._awaits_news:
            self._awaits_news = False
            self.hurry()

    def hurry(self) -> None:
        """Make the members that wait for their next heartbeat send it now."""
        for member in self.members:
            member.interval_ms = HEARTBEAT_INTERVAL_MS
            member.hurry()

    def assigned(self) -> None:
        if is_stable([(member.generation, member.owned) for member in self.members], self.partitions):
            self._stable.set()

    async def _await_stable(self) -> None:
        stable = asyncio.create_task(self._stable.wait())
        done, _ = await asyncio.wait([stable, *self._lives], timeout=STABLE_SECONDS_MAX, return_when=asyncio.FIRST_COMPLETED)
        if stable in done:
            return
        stable.cancel()
        for life in done:
            await life  # The task of a member ends only with an error.
        raise MeasurementFailed(f"{len(self.members)} members of a group were not stable within {STABLE_SECONDS_MAX:g} s")


class Member(ABC):
    """``number`` of ``count`` decides when in the interval its heartbeats are due."""

    def __init__(self, crowd: Crowd, number: int, count: int) -> None:
        self.crowd = crowd
        self.owned = NOTHING
        self.generation = -1
        self.interval_ms = HEARTBEAT_INTERVAL_MS
        # Called when a heartbeat response shows no change, with the time at which the heartbeat
        # was sent.
        self.on_heartbeat: Callable[[float], None] = lambda _: None
        self._phase = number / count
        self._conversation = Conversation()
        self._due: asyncio.Future[None] | None = None

    @abstractmethod
    async def live(self) -> None:
        """Join, and stay until cancelled."""

    @abstractmethod
    async def leave(self) -> None: ...

    def may_die(self) -> bool:
        return True

    async def connect(self) -> None:
        self._conversation = Conversation()
        await asyncio.get_running_loop().create_connection(lambda: self._conversation, "127.0.0.1", self.crowd.port)

    def close(self) -> None:
        self._conversation.close()

    async def ask(self, request: Any, version: int) -> Any:
        return await self._conversation.ask(request, version)

    def own(self, partitions: frozenset[int], generation: int) -> None:
        self.owned, self.generation = partitions, generation
        self.crowd.assigned()

    async def until_heartbeat(self) -> None:
        loop, interval = asyncio.get_running_loop(), self.interval_ms / 1000
        since_due = (loop.time() / interval - self._phase) % 1.0
        self._due = loop.create_future()
        timer = loop.call_later((1.0 - since_due) * interval, self.hurry)
        await self._due
        timer.cancel()

    def hurry(self) -> None:
        """The next heartbeat is due now."""
        if self._due is not None and not self._due.done():
            self._due.set_result(None)


def is_stable(members: Sequence[tuple[int, frozenset[int]]], partitions: int) -> bool:
    """``members`` are generations and assignments. A no is cheap: this runs at every assignment."""
    if sum(len(owned) for _, owned in members) != partitions or len({generation for generation, _ in members}) != 1:
        return False
    return len(NOTHING.union(*(owned for _, owned in members))) == partitions


def refused(what: str, error_code: int) -> MeasurementFailed:
    return MeasurementFailed(f"{what} was answered with {ErrorCode(error_code).name}")
