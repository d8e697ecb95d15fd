"""Quorums under faults, and three planted mistakes that would be easy to make, each of which some
seed must find.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

from barnabas.quorum.core.effects import Effect, Flush, LeaderKnown, Persist
from barnabas.quorum.core.events import Flushed, Truncated
from barnabas.simulation.quorum_process import QuorumProcess, WatchedDriver
from barnabas.simulation.quorum_world import QuorumWorld
from barnabas.simulation.run import run
from barnabas.simulation.violations import Violation
from barnabas.simulation.world import Scenario
from tests.waiting import PATIENCE_SECONDS

SEEDS = 80
SOAK_SEEDS = 6000
PLANTED_SEEDS_MAX = 100
# The seed at which the search for a planted mistake begins, near the first that shows it: 50.
FIRST_SEEDS = {"_ForgetsVotes": 48}


def run_all(level: str, seeds: Sequence[int]) -> int:
    """How much was committed in total: a world in which nothing happens breaks no claim."""
    return sum(run(Scenario(level, seed)).facts["committed"] for seed in seeds)


@pytest.mark.parametrize("first", range(0, SEEDS, 20))
def test_a_quorum_keeps_its_promises(first: int) -> None:
    assert run_all("quorum", range(first, first + 20)) > 20 * 20


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_quorum_keeps_its_promises_in_many_runs() -> None:
    assert run_all("quorum", range(1000, 1000 + SOAK_SEEDS)) > SOAK_SEEDS


def test_a_quorum_without_faults_has_one_leader() -> None:
    report = run(Scenario("quorum", 1, faults=()))
    assert report.facts["epochs"] == 1
    assert report.faults == 0


def test_one_seed_gives_one_run_in_every_process() -> None:
    """Nothing depends on how Python hashes text or where objects lie in memory."""
    here = run(Scenario("quorum", 7)).digest
    assert run(Scenario("quorum", 7)).digest == here
    program = (
        "from barnabas.simulation.run import run\nfrom barnabas.simulation.world import Scenario\nprint(run(Scenario('quorum', 7)).digest)"
    )
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        ran = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
        )
        assert int(ran.stdout) == here
    assert run(Scenario("quorum", 8)).digest != here


# -- planted mistakes


class _ForgetsVotes(WatchedDriver):
    """Answers first and writes its vote later: a crash in between loses it."""

    def do(self, effect: Effect) -> None:
        if isinstance(effect, Persist):
            asyncio.get_running_loop().call_later(0.05, super().do, effect)
        else:
            super().do(effect)


class _CountsBeforeTheDisk(WatchedDriver):
    """Counts written records as durable."""

    def do(self, effect: Effect) -> None:
        if isinstance(effect, Flush):
            self._step(Flushed(effect.end_offset, effect.generation))
        else:
            super().do(effect)


class _CutsToTheHighWatermark(WatchedDriver):
    """A follower of a new leader drops everything above its high watermark, as Kafka did before
    KIP-101.
    """

    def do(self, effect: Effect) -> None:
        super().do(effect)
        if isinstance(effect, LeaderKnown) and not self.leading and self.high_watermark < self._log.end_offset:
            self._step(Truncated(self._log.truncate(max(self.high_watermark, self._log.start_offset))))
            self.process.world.truncated(self.process, self._log.end_offset)


def _first_violation(driver: type[WatchedDriver]) -> str:
    class PlantedProcess(QuorumProcess):
        driver_class = driver

    class PlantedWorld(QuorumWorld):
        process_class = PlantedProcess

    first_seed = FIRST_SEEDS.get(driver.__name__, 0)
    for seed in range(first_seed, first_seed + PLANTED_SEEDS_MAX):
        try:
            PlantedWorld(Scenario("quorum", seed)).run()
        except Violation as found:
            return str(found)
    pytest.fail(f"{PLANTED_SEEDS_MAX} seeds do not find it")


@pytest.mark.parametrize("driver", [_ForgetsVotes, _CountsBeforeTheDisk, _CutsToTheHighWatermark])
def test_a_planted_mistake_is_found(driver: type[WatchedDriver]) -> None:
    found = _first_violation(driver)
    assert any(sign in found for sign in ("votes for", "so does", "comes to lead", "was committed", "nothing at")), found
    assert "replay: barnabas simulate quorum --seed" in found
