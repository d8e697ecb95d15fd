"""Histories of a share partition out of seeds. A seed that fails is the bug report::

python -m tests.simulation.sharing.test_seeds 1234
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.sharing.core import acknowledging, share_partition
from barnabas.sharing.core.acknowledging import begin_change
from barnabas.sharing.core.delivery_change import DeliveryChange
from barnabas.sharing.core.offset_run import OffsetRun
from barnabas.sharing.core.record_state import RecordState
from barnabas.sharing.core.share_partition import SharePartition
from barnabas.sharing.core.window import Window
from tests.simulation.sharing.world import World

STEPS = 600
SHORT_SEEDS = range(200)
LONG_SEEDS = 20_000


def play(seed: int) -> Counter[str]:
    world = World(seed)
    try:
        world.run(STEPS)
        world.come_to_rest()
    except Exception as failure:
        failure.add_note(f"seed {seed}: python -m tests.simulation.sharing.test_seeds {seed}\n{world.events}")
        raise
    return Counter(deliveries=world.ledger.deliveries, records=world.log_end) + world.events


def play_all() -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in SHORT_SEEDS:
        seen += play(seed)
    return seen


def test_no_record_is_lost_and_none_is_accepted_twice() -> None:
    seen = play_all()
    # A run in which nothing happens proves nothing.
    assert seen["deliveries"] > 100 * len(SHORT_SEEDS)
    assert all(seen[each] > len(SHORT_SEEDS) for each in ("change_leader", "restart_coordinator", "end_session", "lose_log_start"))


@pytest.mark.soak
def test_no_record_is_lost_and_none_is_accepted_twice_in_many_histories() -> None:
    for seed in range(LONG_SEEDS):
        play(seed)


# -- mistakes that the simulation must find --------------------------------------------------------


def finds(patch: Callable[[pytest.MonkeyPatch], None]) -> None:
    with pytest.MonkeyPatch.context() as changed:
        patch(changed)
        with pytest.raises(AssertionError):
            play_all()


def test_the_simulation_finds_a_start_that_is_written_before_it_is_certain() -> None:
    """The first version of the machine made this mistake."""

    def start_offset(self: SharePartition) -> int:
        return next((run.first for run in self.window.runs if run.state < RecordState.ACKNOWLEDGED), self.window.next_offset)

    finds(lambda changed: changed.setattr(SharePartition, "start_offset", property(start_offset)))


def test_the_simulation_finds_changes_that_are_not_rolled_back() -> None:
    def keep(self: SharePartition, change: DeliveryChange) -> None:
        for run in self._runs_of(change):
            self._apply(run)

    finds(lambda changed: changed.setattr(SharePartition, "_roll_back", keep))


def test_the_simulation_finds_members_that_acknowledge_records_of_others() -> None:
    finds(lambda changed: changed.setattr(acknowledging.Acknowledgement, "_refuse", lambda self, run: None))


def test_the_simulation_finds_a_limit_that_is_not_kept() -> None:
    def unlimited(window: Window, run: OffsetRun, state: RecordState, change: DeliveryChange, *_: Any) -> None:
        change.add(run.first, run.last, state, run.delivery_count)
        run.change = change
        window.set_state(run, state)

    def patch(changed: pytest.MonkeyPatch) -> None:
        changed.setattr(acknowledging, "begin_change", unlimited)
        changed.setattr(share_partition, "begin_change", unlimited)

    finds(patch)


def test_the_simulation_finds_dead_letters_that_are_forgotten() -> None:
    def silent(window: Window, run: OffsetRun, state: RecordState, change: DeliveryChange, *rest: Any) -> None:
        begin_change(window, run, state, change, *rest)
        change.letters.clear()

    finds(lambda changed: changed.setattr(share_partition, "begin_change", silent))


def test_the_simulation_finds_gaps_that_a_new_leader_takes_for_done() -> None:
    def load(window: Window, batch: Any) -> None:
        first, last, state, count = batch
        run = OffsetRun(first, last, RecordState.AVAILABLE, count, batch_first=first, batch_last=last)
        window.append(run)
        if state in (RecordState.ACKNOWLEDGED, RecordState.ARCHIVED):
            window.set_state(run, RecordState(state))

    finds(lambda changed: changed.setattr(share_partition, "_load", load))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        print(argument, play(int(argument)))
