"""Sessions are counted in the time that a controller listens."""

from __future__ import annotations

from random import Random

from barnabas.controller.listening_clock import ListeningClock
from barnabas.simulation.host import Host
from barnabas.simulation.scheduler import Scheduler
from tests.unit import simulated


class HandClock:
    def __init__(self) -> None:
        self.ms = 5_000

    def wall_ms(self) -> int:
        return self.ms

    def monotonic_ms(self) -> int:
        return self.ms


def test_a_pause_of_the_loop_counts_as_one_gap() -> None:
    async def main() -> None:
        clock = HandClock()
        listening = ListeningClock(clock, gap_ms_max=1_000)
        listening.start()
        before_ms = listening.now_ms()
        clock.ms += 60_000
        assert listening.now_ms() == before_ms + 1_000
        listening.stop()
        listening.start()  # The timer fires late.
        assert listening.now_ms() == before_ms + 1_000
        clock.ms += 300
        assert listening.now_ms() == before_ms + 1_300
        listening.stop()

    simulated.run(main())


def test_the_clock_of_a_running_loop_follows_real_time() -> None:
    scheduler = Scheduler()
    host = Host("n1", scheduler, Random(1))
    clocks: list[ListeningClock] = []

    def boot() -> None:
        clocks.append(ListeningClock(host.clock, gap_ms_max=1_000))
        clocks[0].start()

    host.boot(boot)
    before_ms = clocks[0].now_ms()
    scheduler.run_for_ms(60_000)
    assert clocks[0].now_ms() - before_ms == 60_000
    host.end_tasks()
