"""A power cut at every operation of a log that drops its oldest segments: the remaining records
survive, without a hole.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import count

import pytest

from barnabas.records.batch_header import read_header
from barnabas.simulation.disk import PowerCut, SimulatedDisk
from barnabas.storage.checkpoints import LOG_START_OFFSETS, write_offsets
from tests.simulation.storage.worlds import Owner, batches_on_disk, open_survivor
from tests.unit.storage.logs import NOW_MS, PARTITION, all_batches, append, data, new_disk

OUTCOMES_OF_A_CUT = 4


def gives_up(owner: Owner, segments: int) -> None:
    """As :mod:`barnabas.logcare.retention` does it."""
    following = list(owner.log.segments)[segments:]
    start = following[0].base_offset if following else owner.log.log_end_offset
    owner.start_in_flight = start
    owner.checkpoint()
    write_offsets(owner.disk, f"/data/{LOG_START_OFFSETS}", {PARTITION: start})
    removal = owner.log.retire(segments, now_ms=NOW_MS)
    owner.start = start
    removal.finish()


def makes_room(owner: Owner, *, everything: bool) -> None:
    owner.fill(20, leader_epoch=1, name="old")
    owner.flush()
    owner.fill(3, leader_epoch=2, name="new")
    gives_up(owner, 3)
    owner.fill(6, leader_epoch=2, name="newer")
    owner.flush()
    gives_up(owner, len(owner.log.segments) if everything else 1)
    owner.fill(4, leader_epoch=3, name="newest")
    owner.flush()


def check(owner: Owner, disk: SimulatedDisk) -> None:
    log = open_survivor(disk, owner.settings)
    assert owner.start <= log.log_start_offset <= owner.start_in_flight
    assert log.log_end_offset >= owner.flushed_offset
    wanted = [batch for batch in owner.content if read_header(batch).last_offset >= log.log_start_offset]
    found = all_batches(log)
    assert found[: len(wanted)] == wanted[: len(found)]
    assert all(read_header(batch).last_offset >= owner.flushed_offset for batch in wanted[len(found) :]), (
        "a flushed and retained record is missing"
    )
    entries = log.leader_epochs.entries
    assert not entries or entries[0].start_offset >= log.log_start_offset
    reopened = open_survivor(disk.kill(), owner.settings)
    assert (reopened.log_start_offset, reopened.log_end_offset) == (log.log_start_offset, log.log_end_offset)
    append(reopened, data(value=b"after"), leader_epoch=9)
    assert read_header(batches_on_disk(reopened)[-1]).last_offset == reopened.log_end_offset - 1


@pytest.mark.parametrize("everything", [False, True])
def test_a_power_cut_at_any_operation_keeps_the_retained_segments(everything: bool) -> None:
    for step in count(1):
        disk = new_disk(step)
        owner = Owner(disk)
        disk.crash_after(step)
        finished = False
        with suppress(PowerCut):
            makes_room(owner, everything=everything)
            finished = True
        for survivor in (disk.kill(), *(disk.crash() for _ in range(OUTCOMES_OF_A_CUT))):
            try:
                check(owner, survivor)
            except Exception as error:
                error.add_note(f"cut at step {step}; before it: {list(disk.recent)[-6:]}")
                raise
        if finished:
            assert step > 100
            break
