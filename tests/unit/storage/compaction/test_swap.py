"""Swapping cleaned segments into a log that is in use."""

from __future__ import annotations

from barnabas.storage.compaction.cleaning import clean
from barnabas.storage.compaction.cleaning_job import CleanedSegment
from barnabas.storage.compaction.swap import swap_in
from barnabas.storage.log import Log
from barnabas.storage.producer_snapshot import list_snapshots
from tests.unit.storage.compaction.tables import committed, headers, job_of, new_table, put, rows, seal, table
from tests.unit.storage.logs import all_batches, append, base_offsets, open_partition


def three_segments() -> Log:
    log = new_table()
    for number in range(3):
        put(log, (b"a", b"%d" % number), (b"b", b"%d" % number), (b"c%d" % number, b"1"))
        seal(log)
    put(log, (b"active", b"1"))
    return log


def cleaned(log: Log) -> CleanedSegment:
    (segment,) = clean(job_of(log), log.disk).segments
    return segment


def leftovers(log: Log) -> list[str]:
    return [name for name in log.disk.names(log.directory) if name.endswith((".cleaned", ".swap", ".deleted"))]


def test_a_read_that_began_before_the_swap_finishes_in_the_old_segment() -> None:
    log = three_segments()
    region = log.read(3, size_bytes_max=1 << 20, end_offset=log.log_end_offset, at_least_one=True).region
    assert region is not None
    before = region.read()
    removal = swap_in(log, cleaned(log))
    assert removal is not None
    assert region.read() == before
    removal.finish()
    assert region.read() == before
    region.release()


def test_a_read_after_the_swap_sees_the_new_segment_from_any_offset() -> None:
    log = three_segments()
    everything = committed(log)
    swap_in(log, cleaned(log))
    assert base_offsets(log) == [0, 9]
    kept = [record.offset for record in committed(log)]
    assert kept == [2, 5, 6, 7, 8, 9]
    assert [record for record in everything if record.offset in kept] == committed(log)
    for offset in range(10):
        assert all_batches(log, start=offset) == [
            batch for batch, header in zip(all_batches(log), headers(log), strict=True) if header.last_offset >= offset
        ]


def test_old_files_wait_to_be_removed_and_a_crash_removes_them_too() -> None:
    log = three_segments()
    removal = swap_in(log, cleaned(log))
    assert removal is not None
    assert sorted(leftovers(log)) == sorted(path.rpartition("/")[2] for path in removal.paths)
    assert removal.segments == 3
    reopened = open_partition(log.disk.kill(), log.settings)  # type: ignore[attr-defined]
    assert leftovers(reopened) == []
    assert all_batches(reopened) == all_batches(log)
    removal.finish()
    assert leftovers(log) == []


def test_producer_snapshots_of_replaced_segments_are_removed() -> None:
    log = three_segments()
    assert list_snapshots(log.disk, log.directory) == [3, 6, 9]
    swap_in(log, cleaned(log))
    assert list_snapshots(log.disk, log.directory) == [9]


def test_a_log_truncated_during_the_cleaning_is_not_swapped() -> None:
    log = three_segments()
    segment = cleaned(log)
    log.truncate_to(8)
    before = all_batches(log)
    assert swap_in(log, segment) is None
    assert all_batches(log) == before
    assert leftovers(log) == []


def test_a_log_truncated_and_grown_during_the_cleaning_is_not_swapped() -> None:
    """The newer record that superseded an older one is gone, though every segment looks as
    before.
    """
    log = new_table()
    put(log, (b"a", b"old"))
    seal(log)
    put(log, (b"a", b"new"), (b"b", b"1"))
    seal(log)
    segments = clean(job_of(log, group_bytes_max=0), log.disk).segments
    log.truncate_to(1)
    put(log, (b"c", b"new"), (b"b", b"1"))
    seal(log)
    assert [swap_in(log, segment) for segment in segments] == [None, None]
    assert table(log) == {b"a": b"old", b"c": b"new", b"b": b"1"}
    assert leftovers(log) == []


def test_a_log_that_dropped_segments_during_the_cleaning_is_not_swapped() -> None:
    log = three_segments()
    segment = cleaned(log)
    log.retire(1, now_ms=0).finish()
    before = all_batches(log)
    assert swap_in(log, segment) is None
    assert all_batches(log) == before
    assert leftovers(log) == []


def test_records_appended_during_the_cleaning_stay() -> None:
    log = three_segments()
    segment = cleaned(log)
    put(log, (b"a", b"newest"))
    append(log, rows((b"z", b"1"), producer_id=4, sequence=0))
    swap_in(log, segment)
    assert table(log)[b"a"] == b"newest"
    append(log, rows((b"z", b"2"), producer_id=4, sequence=1))
    assert table(log)[b"z"] == b"2"


def test_a_cleaned_log_can_be_truncated_inside_the_cleaned_segment() -> None:
    log = three_segments()
    swap_in(log, cleaned(log))
    log.truncate_to(6)
    assert log.log_end_offset == 6
    put(log, (b"a", b"again"))
    assert [record.offset for record in committed(log)] == [2, 5, 6]
