"""A world: hosts, a network, a nemesis and a checker, all from one seed; two phases, first with
faults and then without.

    begin -> faults, for as long as the scenario says -> heal
          -> it must converge within :data:`CONVERGENCE_MS_MAX` -> the last look

The same seed gives the same run, to the last event: :class:`Scenario` prints the command that
replays a failing one.
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

# The number of last events that are printed with a violation.
EVENTS_KEPT = 60
CONVERGENCE_MS_MAX = 60_000
CONVERGENCE_CHECK_MS = 100


@dataclass(frozen=True, slots=True)
class Scenario:
    level: str
    seed: int
    # None lets the seed choose.
    faults: tuple[str, ...] | None = None
    seconds: float = 10.0

    @property
    def command(self) -> str:
        """The command that replays this run, to paste into a shell."""
        faults = "" if self.faults is None else f" --faults {','.join(self.faults) or 'none'}"
        return f"barnabas simulate {self.level} --seed {self.seed} --seconds {self.seconds:g}{faults}"


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a run; ``digest`` is the same for the same seed and code, and for nothing
    else.
    """

    scenario: Scenario
    digest: int
    steps: int
    messages: int
    faults: int
    simulated_ms: int
    kinds: tuple[str, ...]
    facts: dict[str, int]


def _ignore(line: str) -> None:
    pass


class World(ABC):
    # Faults that its protocol tolerates.
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
        self.events: deque[str] = deque(maxlen=EVENTS_KEPT)
        self.listener: Callable[[str], object] = _ignore
        self._digest = 0
        self.client_hosts: list[Host] = []
        for host in self.hosts:
            host.on_down = self._went_down

    # -- the differences between levels

    @abstractmethod
    def size(self, chance: Random) -> int: ...

    def calm_ms_max(self, chance: Random) -> int:
        """Between two faults."""
        return CALM_MS_MAX

    @abstractmethod
    def restart(self, host: Host) -> None: ...

    @abstractmethod
    def begin(self) -> None:
        """Boot everything and start the clients."""

    @abstractmethod
    def unsettled(self) -> str | None:
        """A difference from a cluster at rest; None when there is none."""

    @abstractmethod
    def last_look(self) -> None:
        """The checks that are possible only at the end."""

    @abstractmethod
    def died(self, host: Host) -> None:
        """A process has died."""

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

    # -- running

    def say(self, what: str) -> None:
        line = f"{self.scheduler.elapsed_ms:>6} {what}"
        self.events.append(line)
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
        except Exception as error:
            raise self._explained(error) from error
        finally:
            for host in [*self.hosts, *self.client_hosts]:
                host.end_tasks()
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

    def _explained(self, error: Exception) -> Violation:
        events = "\n".join(self.events)
        text = f"{type(error).__name__}: {error}\n  kinds: {', '.join(self.nemesis.kinds)}\n{events}\nreplay: {self.scenario.command}"
        return NotConverged(text) if isinstance(error, NotConverged) else Violation(text)
