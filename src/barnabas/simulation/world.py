"""A world: hosts, a network, a nemesis and an onlooker, all from one seed; two phases, faults and then none.

    begin -> faults, for as long as the scenario says -> heal -> it must converge within :data:`CONVERGENCE_MS_MAX` -> the last look

The same seed gives the same run, to the last event: a failing one is replayed with the line that :class:`Scenario` prints.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from barnabas.simulation.host import Host
from barnabas.simulation.nemesis import CALM_MS_MAX, Nemesis, some_faults
from barnabas.simulation.network import Network
from barnabas.simulation.scheduler import Scheduler
from barnabas.simulation.violations import NotConverged, Violation

# What is printed with a violation: the last things that were said.
REMEMBERED_DEEDS = 60
CONVERGENCE_MS_MAX = 60_000
CONVERGENCE_CHECK_MS = 100


@dataclass(frozen=True, slots=True)
class Scenario:
    level: str
    seed: int
    # None: the seed chooses.
    faults: tuple[str, ...] | None = None
    seconds: float = 10.0

    @property
    def command(self) -> str:
        """What replays this run, to be pasted into a shell."""
        faults = "" if self.faults is None else f" --faults {','.join(self.faults) or 'none'}"
        return f"barnabas simulate {self.level} --seed {self.seed} --seconds {self.seconds:g}{faults}"


@dataclass(frozen=True, slots=True)
class Report:
    """What a run came to; ``digest`` is the same for the same seed and code, and for nothing else."""

    scenario: Scenario
    digest: int
    steps: int
    messages: int
    faults: int
    simulated_ms: int
    kinds: tuple[str, ...]
    facts: dict[str, int]


def _nobody(line: str) -> None:
    pass


class World(ABC):
    # Faults that its protocol is meant to bear.
    bearable: tuple[str, ...] = ()

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.chance = chance = Random(f"{scenario.level} {scenario.seed}")
        self.scheduler = Scheduler()
        self.network = Network(self.scheduler, Random(chance.getrandbits(64)))
        kinds = some_faults(chance, self.bearable) if scenario.faults is None else scenario.faults
        self.hosts = [Host(f"n{number}", self.scheduler, Random(chance.getrandbits(64))) for number in range(1, self.size(chance) + 1)]
        self.nemesis = Nemesis(
            self.scheduler,
            Random(chance.getrandbits(64)),
            self.hosts,
            self.network,
            kinds,
            restart=self.restart,
            say=self.say,
            may_lose_power=self.may_lose_power,
            may_die=self.may_die,
            rot=self.rot,
            calm_ms_max=self.calm_ms_max(chance),
        )
        self.deeds: deque[str] = deque(maxlen=REMEMBERED_DEEDS)
        self.listener: Callable[[str], object] = _nobody
        self._digest = 0
        self.client_hosts: list[Host] = []
        for host in self.hosts:
            host.on_down = self._went_down

    # -- what kinds of worlds differ in ---------------------------------------------------------------------------------------

    @abstractmethod
    def size(self, chance: Random) -> int: ...

    def calm_ms_max(self, chance: Random) -> int:
        """Between two faults."""
        return CALM_MS_MAX

    @abstractmethod
    def restart(self, host: Host) -> None: ...

    @abstractmethod
    def begin(self) -> None:
        """Boot everything and set clients to work."""

    @abstractmethod
    def unsettled(self) -> str | None:
        """What is not yet as it should be in a cluster at rest; None when all is well."""

    @abstractmethod
    def last_look(self) -> None:
        """All that can be checked only at the end."""

    @abstractmethod
    def died(self, host: Host) -> None:
        """A process is gone."""

    @abstractmethod
    def rest(self) -> None:
        """The faults are over; clients may stop."""

    def may_lose_power(self, host: Host) -> bool:
        return True

    def may_die(self, host: Host) -> bool:
        return True

    def rot(self, host: Host) -> str | None:
        return None

    def facts(self) -> dict[str, int]:
        return {}

    # -- running --------------------------------------------------------------------------------------------------------------

    def say(self, what: str) -> None:
        line = f"{self.scheduler.elapsed_ms:>6} {what}"
        self.deeds.append(line)
        self.listener(line)
        self._digest = zlib.crc32(line.encode(), self._digest)

    def _went_down(self, host: Host, why: str) -> None:
        self.say(f"{host.name} is down: {why}")
        if "power" not in why and "operation" not in why:
            self.network.hang_up(host)
        self.network.forget(host)
        self.died(host)
        self.nemesis.went_down(host)

    def run(self) -> Report:
        try:
            self.begin()
            self.nemesis.begin()
            self.scheduler.run_for_ms(self.scenario.seconds * 1000)
            self.say("healed")
            self.nemesis.heal()
            self.rest()
            self._converge()
            self.last_look()
        except Exception as wrong:
            raise self._explained(wrong) from wrong
        finally:
            for host in [*self.hosts, *self.client_hosts]:
                host.bury()
        return Report(
            self.scenario,
            zlib.crc32(f"{self.scheduler.now_us} {self.scheduler.steps} {self.network.messages}".encode(), self._digest),
            self.scheduler.steps,
            self.network.messages,
            self.nemesis.faults,
            self.scheduler.elapsed_ms,
            self.nemesis.kinds,
            self.facts(),
        )

    def _converge(self) -> None:
        healed_ms = self.scheduler.elapsed_ms
        while (unsettled := self.unsettled()) is not None:
            if self.scheduler.elapsed_ms - healed_ms > CONVERGENCE_MS_MAX:
                raise NotConverged(f"{CONVERGENCE_MS_MAX // 1000} seconds after the last fault: {unsettled}")
            self.scheduler.run_for_ms(CONVERGENCE_CHECK_MS)

    def _explained(self, wrong: Exception) -> Violation:
        deeds = "\n".join(self.deeds)
        text = f"{type(wrong).__name__}: {wrong}\n  kinds: {', '.join(self.nemesis.kinds)}\n{deeds}\nreplay: {self.scenario.command}"
        return NotConverged(text) if isinstance(wrong, NotConverged) else Violation(text)
