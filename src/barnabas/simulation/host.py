"""A machine of the simulated world: a disk that outlives its processes, a clock that may be wrong,
and at most one process.

    down --boot--> up --kill, power cut, or its process fails--> down

A power cut drops unsynced writes, a kill does not. Both may strike at any operation on the disk: a
countdown is set (:meth:`Host.cut_power_after`), and the process runs into it. A paused host does
nothing until it wakes; a slow one takes longer for everything.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from barnabas.simulation.disk import PowerCut, SimulatedDisk
from barnabas.simulation.loop import SimulatedLoop, within
from barnabas.simulation.scheduler import Scheduler

# The mean duration of a disk sync; each takes anything up to four times that.
SYNC_US = 1500


class HostClock:
    """Wall time may jump; monotonic time does not. Every machine counts the latter from a moment of
    its own.
    """

    def __init__(self, scheduler: Scheduler, began_us: int) -> None:
        self._scheduler = scheduler
        self._began_us = began_us
        self.wrong_ms = 0

    def wall_ms(self) -> int:
        return self._scheduler.now_ms + self.wrong_ms

    def monotonic_ms(self) -> int:
        return (self._scheduler.now_us - self._began_us) // 1000


class HostEntropy:
    def __init__(self, chance: Random) -> None:
        self._chance = chance

    def bytes(self, size: int) -> bytes:
        return self._chance.randbytes(size)

    def below(self, bound: int) -> int:
        return self._chance.randrange(bound)


class HostCrashed(Exception):
    """The process ended itself because a resource that it needs failed."""


def _nothing() -> None:
    pass


def _ignore_down(host: Host, why: str) -> None:
    pass


class Host:
    def __init__(self, name: str, scheduler: Scheduler, chance: Random) -> None:
        self.name = name
        self.scheduler = scheduler
        self.chance = chance
        self.disk = SimulatedDisk(Random(chance.getrandbits(64)))
        self.clock = HostClock(scheduler, scheduler.now_us - chance.randrange(10**12))
        self.entropy = HostEntropy(Random(chance.getrandbits(64)))
        self.incarnation = 0
        self.up = False
        # Whether the kernel runs: it refuses connections to a process that is gone.
        self.powered = False
        self.slowness = 1
        self.loop: SimulatedLoop | None = None
        # The checker's hook, called after every step of the process.
        self.after_run: Callable[[], object] = _nothing
        self.on_down: Callable[[Host, str], None] = _ignore_down
        self._paused_until_us = 0
        self._dead_loops: list[SimulatedLoop] = []
        self._kill_at_effect: int | None = None
        self._cut_wanted = False

    # -- life and death

    def boot(self, main: Callable[[], object]) -> None:
        assert not self.up, f"{self.name} is up already"
        self.up = self.powered = True
        self.incarnation += 1
        self.loop = SimulatedLoop(self.scheduler, self._surrounding(self.incarnation), self._work_us, self._complain)
        self.run(self.incarnation, main)

    def kill(self, why: str = "killed") -> None:
        """Only the process dies: its writes are in the kernel's page cache."""
        if self.up:
            self._down(self.disk.kill(), why)

    def cut_power(self, why: str = "power cut") -> None:
        if self.up:
            self.powered = False
            self._down(self.disk.crash(), why)

    def cut_power_after(self, operations: int) -> None:
        """After that many disk operations from now on, the next is not performed and the power is
        cut.
        """
        if self.up:
            self._cut_wanted = True
            self.disk.crash_after(operations)

    @property
    def armed(self) -> bool:
        """Whether a crash is scheduled."""
        return self._cut_wanted or self._kill_at_effect is not None

    def kill_after(self, effects: int) -> None:
        """The process dies after that many further steps: between two steps, not at the disk."""
        if self.up:
            self._kill_at_effect = effects

    def cancel_crash(self) -> None:
        """Cancel the scheduled crash."""
        self._kill_at_effect = None
        self._cut_wanted = False
        self.disk.crash_never()

    def effect(self) -> None:
        """A boundary at which a process may die. Shells that perform effects call this between
        them.
        """
        if self._kill_at_effect is not None:
            self._kill_at_effect -= 1
            if self._kill_at_effect <= 0:
                raise PowerCut("killed between two effects")

    def _down(self, disk: SimulatedDisk, why: str) -> None:
        assert self.loop is not None
        self._dead_loops.append(self.loop)
        self.disk.power_off()
        self.disk = disk
        self.up = False
        self.loop = None
        self._paused_until_us = 0
        self._kill_at_effect = None
        self._cut_wanted = False
        self.on_down(self, why)

    def end_tasks(self) -> None:
        """The world is over: the events that its processes await will not come. Without this their
        ``finally`` blocks would run when they are garbage-collected, and fail.
        """
        self.up = False
        for loop in [*self._dead_loops, self.loop]:
            if loop is not None:
                loop.abandon()
        self.disk.power_off()

    # -- doing

    def _surrounding(self, incarnation: int) -> Callable[..., object]:
        return lambda action, *arguments: self.run(incarnation, action, *arguments)

    def run(self, incarnation: int, action: Callable[..., object], *arguments: Any) -> None:
        """Run a step of the process, if it is still the same process, and once it is awake."""
        if not self.up or incarnation != self.incarnation:
            return
        if self.scheduler.now_us < self._paused_until_us:
            self.scheduler.after_us(self._paused_until_us - self.scheduler.now_us, self.run, incarnation, action, *arguments)
            return
        assert self.loop is not None
        try:
            within(self.loop, action, *arguments)
        except PowerCut as cut:
            if self._cut_wanted:
                self.cut_power(str(cut) or "power cut")
            else:
                self.kill(str(cut))
        except HostCrashed as error:
            self.kill(str(error))
        else:
            self.after_run()

    def pause(self, duration_ms: int) -> None:
        self._paused_until_us = max(self._paused_until_us, self.scheduler.now_us + duration_ms * 1000)

    def wake(self) -> None:
        self._paused_until_us = self.scheduler.now_us

    @property
    def paused(self) -> bool:
        return self.scheduler.now_us < self._paused_until_us

    def delay_us(self, typical_us: int) -> int:
        """How long an operation takes here, this time."""
        return int(self.chance.random() * 2 * typical_us * self.slowness)

    def _work_us(self) -> int:
        return self.delay_us(SYNC_US)

    def _complain(self, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if error is not None and self.up:
            raise error
