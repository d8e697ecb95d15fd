"""A power cut at every single operation of cleaning and swapping: the table is always the same.

The recovery point must not matter, so both extremes are tried: everything checkpointed as flushed,
and nothing.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import suppress
from itertools import count

import pytest

from barnabas.records.batch_header import read_header
from barnabas.records.control_batch import ControlType
from barnabas.records.record import Record
from barnabas.simulation.disk import Operation, PowerCut, SimulatedDisk
from barnabas.storage.compaction.cleaning import clean
from barnabas.storage.compaction.swap import swap_in
from barnabas.storage.log import Log
from barnabas.storage.log_settings import LogSettings
from tests.unit.storage.compaction.tables import DAY_MS, committed, job_of, put, rows, seal
from tests.unit.storage.logs import DIRECTORY, NOW_MS, all_batches, append, marker, new_disk, open_partition

SETTINGS = LogSettings(segment_bytes=500, index_interval_bytes=120)
Action = Callable[[Log], None]


def written(disk: SimulatedDisk) -> Log:
    """Sealed and flushed: everything that a cleaning reads."""
    log = open_partition(disk, SETTINGS)
    for number in range(7):
        append(log, rows((b"k%d" % (number % 3), b"v%d" % number), (b"t%d" % (number % 2), None if number % 3 else b"x")))
        if number % 4 == 1:
            append(log, rows((b"k0", b"aborted"), (b"k1", None), producer_id=1, sequence=number // 4 * 2, transactional=True))
        if number % 4 == 2:
            append(log, marker(1, ControlType.ABORT if number < 4 else ControlType.COMMIT))
    seal(log)
    log.disk.sync_directory(DIRECTORY)
    return log


def clean_all_segments(log: Log, *, group_bytes_max: int, now_ms: int = NOW_MS, map_bytes_max: int = 1 << 20) -> None:
    """Groups are swapped in while the next is cleaned; the replaced files are removed a little
    later.
    """
    removals = []

    def swap(cleaned: object) -> None:
        removals.append(swap_in(log, cleaned))  # type: ignore[arg-type]
        # Appended meanwhile, and never flushed.
        put(log, (b"late %d" % log.log_end_offset, b"1"))
        if len(removals) > 1 and (removal := removals.pop(0)) is not None:
            removal.finish()

    clean(job_of(log, group_bytes_max=group_bytes_max, now_ms=now_ms, map_bytes_max=map_bytes_max), log.disk, on_cleaned=swap)
    for removal in removals:
        assert removal is not None
        removal.finish()


def in_one_group(log: Log) -> None:
    clean_all_segments(log, group_bytes_max=1 << 20)


def in_groups_of_one(log: Log) -> None:
    clean_all_segments(log, group_bytes_max=0)


def twice(log: Log) -> None:
    """The second time, the cleaned segments become one segment, and its tombstones are removed."""
    clean_all_segments(log, group_bytes_max=700)
    clean_all_segments(log, group_bytes_max=1 << 20, now_ms=NOW_MS + DAY_MS)


ACTIONS = (in_one_group, in_groups_of_one, twice)


def flushed_table(records: list[Record]) -> dict[bytes | None, bytes]:
    latest = {record.key: record.value for record in records}
    return {key: value for key, value in latest.items() if value is not None and not (key or b"").startswith(b"late")}


def check(disk: SimulatedDisk, before: list[Record], end_offset: int, *, recovery_point: int) -> None:
    log = open_partition(disk, SETTINGS, recovery_point=recovery_point)
    records = committed(log)
    known = {record.offset: record for record in before}
    assert all(known[record.offset] == record for record in records if record.offset < end_offset)
    assert flushed_table(records) == flushed_table(before)
    assert log.log_end_offset >= end_offset
    assert not [name for name in disk.names(DIRECTORY) if name.endswith((".cleaned", ".swap", ".deleted"))]
    segments = list(log.segments)
    assert [each.next_offset for each in segments[:-1]] == [each.base_offset for each in segments[1:]]
    for segment in segments:
        assert segment.index.fault(segment.size_bytes) is None
        assert segment.time_index.fault(segment.next_offset) is None
    everything = all_batches(log)
    for offset in range(log.log_start_offset, log.log_end_offset, 5):
        assert all_batches(log, start=offset) == [batch for batch in everything if read_header(batch).last_offset >= offset]
    flushed = [batch for batch in everything if read_header(batch).base_offset < end_offset]
    for again in (disk.kill(), disk.crash()):
        assert all_batches(open_partition(again, SETTINGS, recovery_point=recovery_point))[: len(flushed)] == flushed
    # And it can be cleaned again, whatever was left unfinished.
    if log.segments.active.size_bytes:
        seal(log)
    clean_all_segments(log, group_bytes_max=1 << 20)
    assert flushed_table(committed(log)) == flushed_table(before)


def run_until(action: Action, step: int, seed: int) -> tuple[SimulatedDisk, list[Record], int, bool]:
    disk = new_disk(seed)
    log = written(disk)
    before, end_offset = committed(log), log.log_end_offset
    disk.crash_after(step)
    with suppress(PowerCut):
        action(log)
        return disk, before, end_offset, False
    return disk, before, end_offset, True


def cut_everywhere(action: Action, *, seed: int, outcomes: int) -> int:
    """Cut at every operation, and check several outcomes of each cut; returns how many there
    were.
    """
    for step in count(1):
        disk, before, end_offset, was_cut = run_until(action, step, seed=seed + step)
        for outcome in range(outcomes):
            try:
                check(disk.crash(), before, end_offset, recovery_point=end_offset if outcome % 2 else 0)
            except Exception as error:
                error.add_note(f"{action.__name__}, seed {seed}, cut at {step}, outcome {outcome}; before it: {list(disk.recent)[-8:]}")
                raise
        if not was_cut:
            return step * outcomes
    raise AssertionError


@pytest.mark.parametrize("action", ACTIONS)
def test_a_power_cut_at_any_operation_keeps_the_table(action: Action) -> None:
    assert cut_everywhere(action, seed=0, outcomes=2) > 60


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_the_table_is_the_same_after_thousands_of_power_cuts() -> None:
    cuts = 0
    for seed in count(1000, 1000):
        cuts += sum(cut_everywhere(action, seed=seed, outcomes=6) for action in ACTIONS)
        if cuts > 10_000:
            return


@pytest.mark.parametrize("action", [in_groups_of_one])
def test_a_kill_at_any_operation_keeps_the_table(action: Action) -> None:
    for step in count(1):
        disk, before, end_offset, was_cut = run_until(action, step, seed=0)
        check(disk.kill(), before, end_offset, recovery_point=0)
        if not was_cut:
            return


@pytest.mark.parametrize("action", [in_one_group, in_groups_of_one])
def test_a_failure_of_any_operation_keeps_the_table(action: Action) -> None:
    failures = 0
    for step in range(len_of(action)):
        disk = new_disk(step)
        log = written(disk)
        before, end_offset = committed(log), log.log_end_offset
        operations = [each for each in Operation if each is not Operation.READ]
        disk.fail_with(errno.EIO if step % 2 else errno.ENOSPC, operations, after=step, times=1)
        try:
            action(log)
        except OSError:
            failures += 1
        disk.stop_failing()
        check(disk.kill() if step % 4 < 2 else disk.crash(), before, end_offset, recovery_point=end_offset if step % 3 else 0)
    assert failures > 20


def len_of(action: Action) -> int:
    disk = new_disk()
    log = written(disk)
    before = disk.operations
    action(log)
    return disk.operations - before


@pytest.mark.parametrize("action", [in_one_group, in_groups_of_one])
def test_a_power_cut_during_recovery_does_not_change_its_result(action: Action) -> None:
    # In the middle of the swap, where most is left to recover.
    for interrupted in range(26, 60, 8):
        disk, before, end_offset, was_cut = run_until(action, interrupted, seed=5)
        if not was_cut:
            return
        survivor = disk.crash()
        for step in count(1):
            world = survivor.kill()
            world.crash_after(step)
            finished = False
            with suppress(PowerCut):
                open_partition(world, SETTINGS, recovery_point=0)
                finished = True
            check(world.crash(), before, end_offset, recovery_point=0)
            if finished:
                break
