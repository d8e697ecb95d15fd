"""A machine that is too busy: neighbours that use the core of the nodes, and processes that are
paused for a while.

To its peers a process under SIGSTOP looks like a starved one: its sockets accept bytes, its timers
do not run, and it continues where it was. The pulses come from a seeded schedule, so every run has
the same ones; their effect depends on the machine.
"""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Protocol

from peers.cluster import ends_with_us

# From a pause that nothing notices to one that is longer than the sessions of brokers and members
# in these tests (2 s).
PULSE_SECONDS_MIN, PULSE_SECONDS_MAX = 0.05, 3.0
GAP_SECONDS_MAX = 0.5
# The pulses of one round: enough that several things go wrong at the same time, and over in half a
# minute.
PULSES_PER_ROUND = 5
VICTIMS_MAX = 2


class Pausable(Protocol):
    def pause(self) -> None: ...

    def resume(self) -> None: ...


class PausedProcess:
    """A process that is known only by its id."""

    def __init__(self, pid: int) -> None:
        self._pid = pid

    def pause(self) -> None:
        os.kill(self._pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.kill(self._pid, signal.SIGCONT)


@contextmanager
def busy_neighbours(count: int = 1) -> Iterator[None]:
    """Processes that only use CPU time, on the one core that this thread and every process that it
    starts meanwhile have to share with them. The rest of the machine is left to other tests."""
    before = os.sched_getaffinity(0)
    with ExitStack() as stack:
        stack.callback(os.sched_setaffinity, 0, before)
        os.sched_setaffinity(0, {max(before)})
        for _ in range(count):
            neighbour = subprocess.Popen(ends_with_us([sys.executable, "-c", "while True: pass"]))
            stack.callback(neighbour.wait)
            stack.callback(neighbour.kill)
        yield


def pulses(victims: Sequence[Pausable], chance: random.Random) -> Iterator[float]:
    """Pauses one or two victims at a time, for durations spread evenly over orders of magnitude;
    yields each duration when it is over."""
    for _ in range(PULSES_PER_ROUND):
        seconds = math.exp(chance.uniform(math.log(PULSE_SECONDS_MIN), math.log(PULSE_SECONDS_MAX)))
        with ExitStack() as stack:
            for victim in chance.sample(victims, min(len(victims), chance.randint(1, VICTIMS_MAX))):
                victim.pause()
                stack.callback(victim.resume)
            time.sleep(seconds)
        yield seconds
        time.sleep(chance.uniform(0, GAP_SECONDS_MAX))
