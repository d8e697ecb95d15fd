"""The faults of a run: which, when, and on which host, all from the seed.

A run has some kinds of faults and not others (swarm testing: a fault that happens all the time
hides bugs that need its absence). Before the end everything is healed, and then the cluster must
converge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random

from barnabas.simulation.host import Host
from barnabas.simulation.network import FAIR, Network, Weather
from barnabas.simulation.scheduler import Scheduler

KILL = "kill"
POWER = "power"
BOUNDARY = "boundary"
PAUSE = "pause"
SLOW = "slow"
CLOCK = "clock"
PARTITION = "partition"
ONE_WAY = "one-way"
LOSS = "loss"
DOUBLING = "doubling"
LATENESS = "lateness"
ROT = "rot"
STUTTER = "stutter"
SLOW_LINK = "slow-link"
# A firewall closes all connections of a host.
RESET = "reset"
# A balancer refuses connections to processes that run.
REFUSAL = "refusal"
FAULTS = (KILL, POWER, BOUNDARY, PAUSE, SLOW, CLOCK, PARTITION, ONE_WAY, LOSS, DOUBLING, LATENESS, ROT, STUTTER, SLOW_LINK, RESET, REFUSAL)

# Between two faults.
CALM_MS_MAX = 1500
# Until a machine is up again, a network whole again, a clock right again.
REPAIR_MS_MAX = 4000
PAUSE_MS_MAX = 6000
DISK_OPERATIONS_MAX = 40
EFFECTS_MAX = 20
SLOWNESS_MAX = 60
# A starved process stops for the first duration and runs for the second, several times.
STUTTER_PAUSE_MS_MAX = 1500
STUTTER_GAP_MS_MAX = 300
STUTTERS_MAX = 6
# Longer than the heartbeat interval, shorter than the request timeout.
SLOW_LINK_MS_MAX = 1200
# How often, and how soon, a process dies right after it made a promise: lost state shows there.
TEMPTATION = 0.3
TEMPTED_OPERATIONS_MAX = 8
TEMPTED_EFFECTS_MAX = 4
SWIFT_REPAIR_MS_MAX = 50
# Below message.timestamp.after.max.ms, above which brokers rightly refuse records of clients with
# other clocks.
CLOCK_WRONG_MS_MAX = 3_000_000


def some_faults(chance: Random, kinds: Sequence[str]) -> tuple[str, ...]:
    """The kinds of faults of this run, out of ``kinds``."""
    share = chance.choice([0.2, 0.5, 0.9])
    return tuple(kind for kind in kinds if chance.random() < share)


class Nemesis:
    """``restart(host)`` boots a machine that is down. ``may_lose_power(host)`` is whether the host
    may lose unsynced writes now, and ``may_die(host)`` whether its process may end, where a
    protocol tolerates only so many at a time. ``rot(host)`` corrupts data on its disk, if there is
    any.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        chance: Random,
        hosts: Sequence[Host],
        network: Network,
        kinds: Iterable[str],
        *,
        restart: Callable[[Host], None],
        say: Callable[[str], None],
        may_lose_power: Callable[[Host], bool] = lambda _: True,
        may_die: Callable[[Host], bool] = lambda _: True,
        rot: Callable[[Host], str | None] = lambda _: None,
        calm_ms_max: int = CALM_MS_MAX,
    ) -> None:
        self._scheduler = scheduler
        self._chance = chance
        self._hosts = hosts
        self._names = [host.name for host in hosts]
        self._network = network
        self.kinds = tuple(kinds)
        self._restart = restart
        self._say = say
        self._may_lose_power = may_lose_power
        self._may_die = may_die
        self._rot = rot
        self._calm_ms_max = calm_ms_max
        self._over = False
        self.faults = 0

    def begin(self) -> None:
        kinds, chance = self.kinds, self._chance
        self._network.weather = Weather(
            lost=chance.choice([0.01, 0.05, 0.2]) if LOSS in kinds else 0.0,
            doubled=chance.choice([0.05, 0.3]) if DOUBLING in kinds else 0.0,
            late=chance.choice([0.01, 0.1]) if LATENESS in kinds else 0.0,
        )
        if self._network.weather == FAIR:
            self._network.weather = FAIR
        self._network.false_refusals = chance.choice([0.1, 0.5]) if REFUSAL in kinds else 0.0
        self._next()

    def _next(self) -> None:
        self._scheduler.after_ms(self._chance.random() * self._calm_ms_max, self._strike)

    def _strike(self) -> None:
        if self._over:
            return
        kinds = [kind for kind in self.kinds if kind not in (LOSS, DOUBLING, LATENESS, REFUSAL)]
        if kinds:
            self.faults += 1
            self._do(self._chance.choice(kinds), self._chance.choice(self._hosts))
        self._next()

    def _do(self, kind: str, host: Host) -> None:
        chance, network = self._chance, self._network
        repair_ms = chance.random() * REPAIR_MS_MAX
        if kind == POWER and not self._may_lose_power(host):
            kind = KILL
        if kind == KILL and not self._may_die(host):
            kind = PAUSE
        self._say(f"{kind} {host.name}")
        match kind:
            case "kill":
                host.kill()
            case "power":
                host.cut_power()
            case "boundary":
                self._strike_soon(host, DISK_OPERATIONS_MAX, EFFECTS_MAX)
            case "pause":
                host.pause(chance.randint(1, PAUSE_MS_MAX))
            case "slow":
                host.slowness = chance.randint(2, SLOWNESS_MAX)
                self._scheduler.after_ms(repair_ms, self._fast_again, host)
            case "clock":
                host.clock.wrong_ms = chance.randint(-CLOCK_WRONG_MS_MAX, CLOCK_WRONG_MS_MAX)
            case "partition":
                side = [name for name in self._names if chance.random() < 0.5]
                for name in self._names:
                    if name not in side:
                        network.isolate(name, side, inbound=True, outbound=True)
                self._scheduler.after_ms(repair_ms, self._whole_again)
            case "one-way":
                inbound = chance.random() < 0.5
                network.isolate(host.name, self._names, inbound=inbound, outbound=not inbound)
                self._scheduler.after_ms(repair_ms, self._whole_again)
            case "stutter":
                self._stutter(host, chance.randint(2, STUTTERS_MAX))
            case "slow-link":
                other = chance.choice(self._names)
                for link in ((host.name, other), (other, host.name)):
                    network.slow_us[link] = chance.randint(1, SLOW_LINK_MS_MAX) * 1000
                    self._scheduler.after_ms(repair_ms, network.slow_us.pop, link, None)
            case "reset":
                network.hang_up(host)
            case "rot":
                damage = self._rot(host)
                if damage is not None:
                    self._say(damage)

    def _stutter(self, host: Host, left: int) -> None:
        if self._over or not left:
            return
        pause_ms = self._chance.randint(1, STUTTER_PAUSE_MS_MAX)
        host.pause(pause_ms)
        self._scheduler.after_ms(pause_ms + self._chance.random() * STUTTER_GAP_MS_MAX, self._stutter, host, left - 1)

    def went_down(self, host: Host) -> None:
        """Called for every death, to schedule the restart."""
        repair_ms_max = self._chance.choice([SWIFT_REPAIR_MS_MAX, REPAIR_MS_MAX])
        self._scheduler.after_ms(self._chance.random() * repair_ms_max, self._up_again, host)

    def before_promise(self, host: Host) -> None:
        """Called when a process is about to make a promise."""
        if self._over or BOUNDARY not in self.kinds or self._chance.random() >= TEMPTATION:
            return
        self.faults += 1
        self._say(f"tempted {host.name}")
        self._strike_soon(host, TEMPTED_OPERATIONS_MAX, TEMPTED_EFFECTS_MAX)

    def _strike_soon(self, host: Host, operations_max: int, effects_max: int) -> None:
        if self._chance.random() < 0.6 and self._may_lose_power(host):
            host.cut_power_after(self._chance.randint(1, operations_max))
        elif self._may_die(host):
            host.kill_after(self._chance.randint(1, effects_max))

    def _up_again(self, host: Host) -> None:
        if not host.up:
            self._restart(host)

    def _fast_again(self, host: Host) -> None:
        host.slowness = 1

    def _whole_again(self) -> None:
        self._network.cut.clear()

    def heal(self) -> None:
        """All faults end here."""
        self._over = True
        self._network.heal()
        for host in self._hosts:
            host.slowness = 1
            host.wake()
            host.cancel_crash()
            self._up_again(host)
