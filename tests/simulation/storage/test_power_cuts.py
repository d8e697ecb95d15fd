"""A power cut at every single operation of a scenario: the log always opens, and flushed records
survive.

A failure names its world: scenario, seed and step give the same disk again.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count

import pytest

from barnabas.simulation.disk import Operation, PowerCut
from tests.simulation.storage.worlds import SCENARIOS, Owner, check, open_survivor, run_until, settings_of
from tests.unit.storage.logs import new_disk

OUTCOMES_OF_A_CUT = 2
SOAK_CUTS = 10_000


@contextmanager
def reported(owner: Owner, world: str) -> Iterator[None]:
    """Add to a failure the facts that reproduce it."""
    try:
        yield
    except Exception as error:
        error.add_note(f"{world}; before it: {list(owner.disk.recent)[-6:]}")
        raise


def cut_everywhere(scenario: str, *, seed: int, outcomes: int) -> int:
    """Cut at every operation, and check several outcomes of each cut; returns how many there
    were.
    """
    for step in count(1):
        owner, was_cut = run_until(scenario, step, seed=seed)
        for outcome in range(outcomes):
            with reported(owner, f"{scenario}, seed {seed}, cut at step {step}, outcome {outcome}"):
                check(owner, owner.disk.crash(), everything=False)
        if not was_cut:
            return step * outcomes
    raise AssertionError


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_power_cut_at_any_operation_keeps_flushed_records(scenario: str) -> None:
    assert cut_everywhere(scenario, seed=1, outcomes=OUTCOMES_OF_A_CUT) > 50


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_at_any_operation_keeps_acknowledged_records(scenario: str) -> None:
    for step in count(1):
        owner, was_cut = run_until(scenario, step, seed=0)
        with reported(owner, f"{scenario}, killed at step {step}"):
            check(owner, owner.disk.kill(), everything=True)
        if not was_cut:
            break


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_power_cut_during_recovery_does_not_change_its_result(scenario: str) -> None:
    owner, _ = run_until(scenario, 10**9, seed=3)
    for outcome in range(2):
        survivor = owner.disk.crash()
        for step in count(1):
            world = survivor.kill()
            world.crash_after(step)
            finished = False
            with suppress(PowerCut):
                open_survivor(world, owner.settings)
                finished = True
            with reported(owner, f"{scenario}, outcome {outcome}, recovery cut at step {step}"):
                check(owner, world.crash(), everything=False)
            if finished:
                break


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_failure_of_any_operation_loses_no_promised_record(scenario: str) -> None:
    """The owner gives the directory up at the first error, and continues where the log tolerates a
    full disk; the next one finds the acknowledged records.
    """
    for step in count():
        number = errno.EIO if step % 2 else errno.ENOSPC
        disk = new_disk(step)
        owner = Owner(disk, settings_of(scenario))
        began = disk.operations
        disk.fail_with(number, [each for each in Operation if each is not Operation.READ], after=step, times=1)
        try:
            SCENARIOS[scenario](owner)
        except OSError as error:
            assert error.errno in (number, errno.EIO)  # noqa: PT017
        struck = disk.operations - began > step
        disk.stop_failing()
        with reported(owner, f"{scenario}, {errno.errorcode[number]} at step {step + 1}"):
            check(owner, disk.kill(), everything=True)
            check(owner, disk.crash(), everything=False)
        if not struck:
            break


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_flushed_records_survive_ten_thousand_power_cuts() -> None:
    cuts = 0
    for seed in count(2):
        for scenario in SCENARIOS:
            cuts += cut_everywhere(scenario, seed=seed, outcomes=4)
        if cuts >= SOAK_CUTS:
            return
