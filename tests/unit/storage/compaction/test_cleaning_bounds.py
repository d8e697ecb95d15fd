"""Cleaning with little memory, being stopped, and logs that cannot be cleaned."""

from __future__ import annotations

import pickle
from functools import partial

import pytest

from barnabas.records.batch_header import HEADER_BYTES, seal as seal_batch
from barnabas.records.compression import Codec
from barnabas.storage.compaction.cleaning import clean
from barnabas.storage.compaction.cleaning_job import CleaningStopped, Uncleanable
from barnabas.storage.file_names import CLEANED_SUFFIX
from barnabas.storage.log import Log
from tests.unit.both_scanners import BOTH_SCANNERS
from tests.unit.storage.compaction.tables import (
    clean_all,
    clean_and_swap,
    committed,
    job_of,
    map_bytes_for,
    new_table,
    put,
    rows,
    seal,
    table,
)
from tests.unit.storage.logs import append, files

pytestmark = BOTH_SCANNERS


def filled(codec: Codec = Codec.NONE) -> Log:
    log = new_table()
    for number in range(60):
        append(log, rows((b"k%d" % (number * 7 % 31), b"v%d" % number), (b"k%d" % (number % 13), b"w%d" % number), codec=codec))
    seal(log)
    return log


def test_more_keys_than_the_map_holds_take_several_passes() -> None:
    log, reference = filled(), filled()
    results = clean_all(log, map_bytes_max=map_bytes_for(10))
    clean_all(reference)
    assert len(results) > 3
    # A compiled map has a ninth more slots than entries, rounded up.
    assert all(result.stats.map_bytes <= map_bytes_for(12) / 0.9 for result in results)
    assert committed(log) == committed(reference)


def test_a_pass_keeps_records_behind_the_end_of_its_map() -> None:
    log = filled()
    behind = [segment.base_offset for segment in log.segments]
    result = clean_and_swap(log, job_of(log, map_bytes_max=map_bytes_for(10), group_bytes_max=0))
    assert 0 < result.cleaned_to < log.segments.active.base_offset
    assert [segment.base_offset for segment in log.segments] == behind
    assert [each.base_offset for each in result.segments] == [base for base in behind if base < result.cleaned_to]


def test_a_map_that_begins_inside_a_batch_counts_from_there() -> None:
    log = new_table()
    append(log, rows((b"a", b"1"), (b"b", b"1"), (b"a", b"2")))
    put(log, (b"c", b"1"))
    seal(log)
    clean_and_swap(log, job_of(log, first_dirty=1))
    assert [record.offset for record in committed(log)] == [1, 2, 3]


def test_a_stopped_cleaning_leaves_no_files() -> None:
    log = filled()
    before = files(log.disk)
    for patience in (0, 1, 4, 9, 14):
        answers = iter([False] * patience + [True])
        with pytest.raises(CleaningStopped):
            clean(job_of(log), log.disk, should_stop=partial(next, answers))
        assert files(log.disk) == before


def test_the_throttle_counts_every_byte() -> None:
    log = filled()
    told: list[int] = []
    result = clean(job_of(log), log.disk, throttle=told.append)
    stats = result.stats
    assert sum(told) == stats.map_bytes_read + stats.bytes_read + stats.bytes_kept


def test_each_group_is_reported_once_it_is_durable() -> None:
    log = filled()
    seen: list[int] = []

    def durable(base_offset: int) -> None:
        assert any(name.endswith(f".log{CLEANED_SUFFIX}") for name in log.disk.crash().names(log.directory))  # type: ignore[attr-defined]
        seen.append(base_offset)

    result = clean(job_of(log, group_bytes_max=1000), log.disk, on_cleaned=lambda cleaned: durable(cleaned.base_offset))
    assert seen == [each.base_offset for each in result.segments]
    assert len(seen) > 1


def test_jobs_and_results_travel_between_processes() -> None:
    log = filled()
    job = pickle.loads(pickle.dumps(job_of(log)))
    result = clean(job, log.disk)
    assert pickle.loads(pickle.dumps(result)) == result


def test_a_missing_segment_stops_the_cleaning_and_is_not_created() -> None:
    log = filled()
    job = job_of(log)
    log.disk.remove(log.segments.first.file.path)
    with pytest.raises(CleaningStopped):
        clean(job, log.disk)
    assert not log.disk.exists(log.segments.first.file.path)


def test_a_segment_that_became_shorter_stops_the_cleaning() -> None:
    log = filled()
    job = job_of(log)
    log.segments.first.file.truncate(job.groups[0][0].size_bytes - 1)
    with pytest.raises(CleaningStopped):
        clean(job, log.disk)


def test_a_flipped_bit_makes_a_log_uncleanable_and_changes_nothing() -> None:
    log = filled()
    for position in (HEADER_BYTES + 5, 16, 8, 130):
        job = job_of(log)
        log.disk.flip_bit(log.segments.first.file.path, position, 3)  # type: ignore[attr-defined]
        before = files(log.disk)
        with pytest.raises(Uncleanable, match=log.directory):
            clean(job, log.disk)
        assert files(log.disk) == before
        log.disk.flip_bit(log.segments.first.file.path, position, 3)  # type: ignore[attr-defined]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("position", range(HEADER_BYTES, HEADER_BYTES + 8))
def test_a_malformed_batch_makes_a_log_uncleanable_or_is_only_copied(codec: Codec, position: int) -> None:
    """The batch passes its checksum, and its records cannot be read."""
    log = new_table()
    put(log, (b"a", b"1"))
    error = rows((b"a", b"2"), (b"b", b"2"), (b"c", b"3"), codec=codec)
    error[position] ^= 0x55
    seal_batch(error)
    append(log, error)
    put(log, (b"a", b"3"))
    seal(log)
    before = files(log.disk)
    try:
        clean(job_of(log), log.disk)
    except Uncleanable:
        assert files(log.disk) == before


def test_cleaning_a_log_without_a_dirty_part_succeeds() -> None:
    log = filled()
    clean_all(log)
    before = table(log)
    result = clean_and_swap(log, job_of(log, first_dirty=log.segments.active.base_offset))
    assert result.cleaned_to == log.segments.active.base_offset
    assert table(log) == before
