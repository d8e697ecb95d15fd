"""A machine of the simulated world: a disk that outlives its processes, a clock that may be wrong, and at most one process.

    down --boot--> up --kill, power cut, or what it runs fails--> down

A power cut takes unsynced writes with it, a kill does not. Both may strike at any operation on the disk: a countdown is set
(:meth:`Host.cut_power_after`), and what the process does next runs into it. A paused host does nothing until it goes on; a slow one
takes longer for everything.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from barnabas.simulation.disk import PowerCut, SimulatedDisk
from barnabas.simulation.loop import SimulatedLoop, within
from barnabas.simulation.scheduler import Scheduler

# A sync of the disk takes this long, on average; chance makes it anything up to four times that.
SYNC_US = 1500


class HostClock:
    """Wall time may jump; monotonic time does not. Every machine counts the latter from a moment of its own."""

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
    """The process ended itself because something it needs failed."""


def _nothing() -> None:
    pass


def _unheard(host: Host, why: str) -> None:
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
        self.slowness = 1
        self.loop: SimulatedLoop | None = None
        # An onlooker's chance, after everything that the process does.
        self.after_run: Callable[[], object] = _nothing
        self.on_down: Callable[[Host, str], None] = _unheard
        self._paused_until_us = 0
        self._graves: list[SimulatedLoop] = []
        self._kill_at_effect: int | None = None
        self._cut_wanted = False

    # -- life and death -------------------------------------------------------------------------------------------------------

    def boot(self, main: Callable[[], object]) -> None:
        assert not self.up, f"{self.name} is up already"
        self.up = True
        self.incarnation += 1
        self.loop = SimulatedLoop(self.scheduler, self._surrounding(self.incarnation), self._work_us, self._complain)
        self.run(self.incarnation, main)

    def kill(self, why: str = "killed") -> None:
        """The process alone dies: what it wrote is with the kernel."""
        if self.up:
            self._down(self.disk.kill(), why)

    def cut_power(self, why: str = "power cut") -> None:
        if self.up:
            self._down(self.disk.crash(), why)

    def cut_power_after(self, operations: int) -> None:
        """So many operations on the disk from now on, one is not done any more, and the lights are out."""
        if self.up:
            self._cut_wanted = True
            self.disk.crash_after(operations)

    @property
    def armed(self) -> bool:
        """Its end is on its way."""
        return self._cut_wanted or self._kill_at_effect is not None

    def kill_after(self, effects: int) -> None:
        """The process dies at its next chance but so many: between two things that it does, not at the disk."""
        if self.up:
            self._kill_at_effect = effects

    def spare(self) -> None:
        """What was to strike it will not."""
        self._kill_at_effect = None
        self._cut_wanted = False
        self.disk.crash_never()

    def effect(self) -> None:
        """A boundary at which a process may die. Shells that perform effects call this between them."""
        if self._kill_at_effect is not None:
            self._kill_at_effect -= 1
            if self._kill_at_effect <= 0:
                raise PowerCut("killed between two effects")

    def _down(self, disk: SimulatedDisk, why: str) -> None:
        assert self.loop is not None
        self._graves.append(self.loop)
        self.disk.go_dark()
        self.disk = disk
        self.up = False
        self.loop = None
        self._paused_until_us = 0
        self._kill_at_effect = None
        self._cut_wanted = False
        self.on_down(self, why)

    def bury(self) -> None:
        """The world is over: what its processes were waiting for will not come. Without this their ``finally`` blocks would run
        whenever they are collected, and complain."""
        self.up = False
        for loop in [*self._graves, self.loop]:
            if loop is not None:
                loop.abandon()
        self.disk.go_dark()

    # -- doing ----------------------------------------------------------------------------------------------------------------

    def _surrounding(self, incarnation: int) -> Callable[..., object]:
        return lambda deed, *arguments: self.run(incarnation, deed, *arguments)

    def run(self, incarnation: int, deed: Callable[..., object], *arguments: Any) -> None:
        """Let the process do something, if it is still the one that wanted it, and when it is awake."""
        if not self.up or incarnation != self.incarnation:
            return
        if self.scheduler.now_us < self._paused_until_us:
            self.scheduler.after_us(self._paused_until_us - self.scheduler.now_us, self.run, incarnation, deed, *arguments)
            return
        assert self.loop is not None
        try:
            within(self.loop, deed, *arguments)
        except PowerCut as cut:
            if self._cut_wanted:
                self.cut_power(str(cut) or "power cut")
            else:
                self.kill(str(cut))
        except HostCrashed as wrong:
            self.kill(str(wrong))
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
        """How long something takes here, this time."""
        return int(self.chance.random() * 2 * typical_us * self.slowness)

    def _work_us(self) -> int:
        return self.delay_us(SYNC_US)

    def _complain(self, context: dict[str, Any]) -> None:
        wrong = context.get("exception")
        if wrong is not None and self.up:
            raise wrong
