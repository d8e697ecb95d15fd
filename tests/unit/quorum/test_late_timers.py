"""A voter that was busy or paused reads its sockets before it takes a leader for dead."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any, cast

from barnabas.env.disk import Disk
from barnabas.quorum.core.events import Event, Tick
from barnabas.quorum.core.quorum import NEVER_MS
from barnabas.quorum.driver import DRAIN_MS, LATE_MS, QuorumDriver
from barnabas.quorum.listener import QuorumListener
from barnabas.quorum.metadata_log import MetadataLog
from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.log_settings import LogSettings
from tests.unit import simulated
from tests.unit.controller.test_listening_clock import HandClock
from tests.waiting import until_async

# The core below has no effects, so the driver has nothing to report: any call would fail.
NO_LISTENER = cast(QuorumListener, None)


class Core:
    """A core that waits for a leader until its deadline."""

    handed_over = False

    def __init__(self, deadline_ms: int) -> None:
        self.deadline_ms = deadline_ms
        self.ticks = 0

    def step(self, event: Event, now_ms: int) -> list[Any]:
        if isinstance(event, Tick):
            self.ticks += 1
            self.deadline_ms = NEVER_MS
        return []


def run(scenario: Callable[[Core, HandClock, QuorumDriver], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        disk: Disk = SimulatedDisk(Random(1))
        disk.make_directory("/data")
        log = MetadataLog(disk, "/data", LogSettings(), clean=True, now_ms=0)
        clock = HandClock()
        core = Core(clock.ms)
        ignored: Any = lambda *_: None  # noqa: E731
        driver = QuorumDriver(
            cast(Any, core),
            log,
            ignored,
            clock,
            ThreadPoolExecutor(1),
        )
        await scenario(core, clock, driver)
        driver.close()

    simulated.run(main())


def test_a_late_timer_lets_the_loop_read_the_sockets_first() -> None:
    async def scenario(core: Core, clock: HandClock, driver: QuorumDriver) -> None:
        driver.start(NO_LISTENER)  # The timer is due at once.
        clock.ms += LATE_MS + 1  # The loop was blocked.
        arrived: list[int] = []

        def read_a_socket() -> None:
            core.deadline_ms = clock.ms + 1_000_000
            arrived.append(core.ticks)

        # uvloop runs timers before it polls sockets; this call stands for a socket that is read
        # after the timer.
        asyncio.get_running_loop().call_later(DRAIN_MS / 2000, read_a_socket)
        await asyncio.sleep(3 * DRAIN_MS / 1000)
        await until_async(lambda: arrived, "the socket is read")
        assert core.ticks == 0

    run(scenario)


def test_a_late_timer_fires_when_no_message_has_arrived() -> None:
    async def scenario(core: Core, clock: HandClock, driver: QuorumDriver) -> None:
        driver.start(NO_LISTENER)
        clock.ms += LATE_MS + 1
        await until_async(lambda: core.ticks == 1, "the core sees a tick")

    run(scenario)
