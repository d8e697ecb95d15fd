"""Reading: regions of batches from an offset on, within bounds, across gaps, and by time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import assign_offset, read_header
from barnabas.records.batches import walk
from barnabas.records.compression import Codec
from barnabas.records.record import Record, open_batch
from barnabas.storage import finding_by_time
from barnabas.storage.finding_by_time import TimestampOffset
from barnabas.storage.log import REMEMBERED_READ_ENDS, Log, OffsetOutOfRange, Read
from barnabas.storage.log_settings import LogSettings
from tests.unit.records.made import repeatable, with_body, with_header
from tests.unit.storage.logs import (
    BATCH_BYTES,
    NOW_MS,
    SMALL,
    all_batches,
    append,
    base_offsets,
    data,
    fill,
    new_disk,
    offsets,
    open_partition,
    values,
)

EVERYTHING = 1 << 30


def filled(batches: int = 25) -> Log:
    log = open_partition(new_disk())
    fill(log, batches)
    return log


def read(log: Log, offset: int, *, size: int = EVERYTHING, end: int | None = None, at_least_one: bool = True) -> Read:
    return log.read(offset, size_bytes_max=size, end_offset=log.log_end_offset if end is None else end, at_least_one=at_least_one)


def offsets_in(found: Read) -> list[int]:
    assert found.region is not None
    return [header.base_offset for _, header in walk(found.region.read())]


def with_time_of_its_own(batch: bytearray, max_timestamp: int) -> bytearray:
    """A batch that claims a later time than its records have."""
    return bytearray(with_header(batch, max_timestamp=max_timestamp))


def test_a_batch_that_claims_a_time_which_no_record_has_stands_for_it_with_its_first_offset() -> None:
    log = open_partition(new_disk())
    append(log, data(2, timestamp=10))
    for _ in range(3):
        append(log, with_time_of_its_own(data(2, timestamp=10), 50))
    append(log, data(timestamp=50))
    assert log.offset_for_timestamp(40) == TimestampOffset(50, 2, 0)
    assert log.offset_of_max_timestamp() == TimestampOffset(50, 2, 0)


def test_a_search_by_time_opens_few_of_the_batches_that_claim_a_wrong_time(monkeypatch: pytest.MonkeyPatch) -> None:
    log = open_partition(new_disk(), LogSettings())
    for _ in range(20):
        append(log, with_time_of_its_own(data(timestamp=10), 50))
    opened: list[int] = []

    def counting(batch: bytes) -> Iterator[Record]:
        opened.append(read_header(batch).base_offset)
        return open_batch(batch)

    monkeypatch.setattr(finding_by_time, "open_batch", counting)
    log.offset_for_timestamp(40)
    log.offset_of_max_timestamp()
    assert len(opened) == 2


def test_a_search_by_time_looks_at_a_limited_number_of_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding_by_time, "SEARCHED_RECORDS_MAX", 5)
    log = open_partition(new_disk(), LogSettings())
    append(log, data(timestamp=10))
    append(log, build_batch([Record(number, 10 + number, b"k", b"v") for number in range(10)]))
    assert log.offset_for_timestamp(13) == TimestampOffset(13, 4, 0)
    assert log.offset_for_timestamp(18) == TimestampOffset(19, 1, 0)


def test_a_timestamp_beyond_64_bits_wraps_round_like_java_s() -> None:
    log = open_partition(new_disk())
    batch = build_batch([Record(0, 10, b"k", b"v"), Record(1, 20, b"k", b"v")])
    append(log, with_header(batch, base_timestamp=2**63 - 5, max_timestamp=50))
    (written,) = all_batches(log)
    assert [record.timestamp for record in open_batch(written)] == [2**63 - 5, -(2**63) + 5]
    assert log.offset_for_timestamp(40) == TimestampOffset(2**63 - 5, 0, 0)


def test_a_read_begins_with_the_batch_that_holds_the_offset_and_ends_with_its_segment() -> None:
    log = filled()
    assert offsets_in(read(log, 0)) == list(range(10))
    assert offsets_in(read(log, 7)) == [7, 8, 9]
    assert offsets_in(read(log, 10)) == list(range(10, 20))
    assert offsets_in(read(log, 24)) == [24]


def test_an_offset_inside_a_batch_gets_the_whole_batch() -> None:
    log = open_partition(new_disk())
    append(log, data(5))
    append(log, data(5))
    assert offsets_in(read(log, 3)) == [0, 5]
    assert offsets_in(read(log, 7)) == [5]


def test_a_read_at_the_log_end_is_empty() -> None:
    assert read(filled(), 25) == Read(None)
    assert read(open_partition(new_disk()), 0) == Read(None)


@pytest.mark.parametrize("offset", [-1, 26, 10**12])
def test_a_read_outside_the_log_is_out_of_range(offset: int) -> None:
    with pytest.raises(OffsetOutOfRange):
        read(filled(), offset)


def test_a_read_stops_at_its_bound() -> None:
    log = filled()
    assert offsets_in(read(log, 3, end=6)) == [3, 4, 5]
    assert offsets_in(read(log, 3, end=10)) == [3, 4, 5, 6, 7, 8, 9]
    assert offsets_in(read(log, 3, end=17)) == [3, 4, 5, 6, 7, 8, 9]
    assert offsets_in(read(log, 12, end=13)) == [12]
    assert read(log, 6, end=6) == Read(None)
    assert read(log, 8, end=6) == Read(None)


def test_a_bound_outside_the_log_does_not_make_an_offset_valid() -> None:
    with pytest.raises(OffsetOutOfRange):
        read(filled(), 26, end=26)
    with pytest.raises(OffsetOutOfRange):
        read(filled(), -1, end=-5)


def test_a_size_limit_still_returns_one_batch_when_required() -> None:
    log = filled()
    for size, expected in [(250, Read), (99, None), (0, None)]:
        found = read(log, 5, size=size, at_least_one=False)
        if expected is None:
            assert found == Read(None, oversized=True)
        else:
            assert found.region is not None
            assert (found.region.position, len(found.region), found.oversized) == (500, 250, False)
    forced = read(log, 5, size=99)
    assert forced.region is not None
    assert (forced.region.position, len(forced.region), forced.oversized) == (500, BATCH_BYTES, True)
    whole = read(log, 5, size=BATCH_BYTES)
    assert whole.region is not None
    assert (len(whole.region), whole.oversized) == (BATCH_BYTES, False)


def test_a_required_batch_never_passes_the_bound() -> None:
    log = filled()
    assert read(log, 5, size=1, end=5) == Read(None)
    forced = read(log, 5, size=1, end=6)
    assert forced.region is not None
    assert len(forced.region) == BATCH_BYTES


def test_offsets_below_the_log_start_are_out_of_range_even_in_an_existing_segment() -> None:
    log = filled()
    log.advance_start(15)
    assert (log.log_start_offset, base_offsets(log)) == (15, [0, 10, 20])
    assert offsets_in(read(log, 15)) == [15, 16, 17, 18, 19]
    with pytest.raises(OffsetOutOfRange, match="start 15"):
        read(log, 14)
    log.advance_start(3)
    assert log.log_start_offset == 15
    with pytest.raises(AssertionError):
        log.advance_start(26)


# -- gaps, as compaction leaves them


def put_at(log: Log, offset: int) -> None:
    """Append as if compaction had removed the records between the end and ``offset``."""
    batch = data()
    assign_offset(batch, offset, 0)
    log.segments.active.append(batch, last_offset=offset, max_timestamp=read_header(batch).max_timestamp)
    log.log_end_offset = offset + 1


def gappy() -> Log:
    """Offsets 0, 5, 9 in the first segment; 20, 22 in the second, which begins at 15."""
    log = open_partition(new_disk(), LogSettings(segment_bytes=10**6, index_interval_bytes=0))
    for offset in (0, 5, 9):
        put_at(log, offset)
    log.log_end_offset = 15
    log.roll(now_ms=NOW_MS)
    for offset in (20, 22):
        put_at(log, offset)
    return log


@pytest.mark.parametrize(
    ("asked", "found"), [(0, [0, 5, 9]), (1, [5, 9]), (6, [9]), (10, [20, 22]), (14, [20, 22]), (15, [20, 22]), (21, [22])]
)
def test_a_read_steps_over_a_gap_into_the_next_segment(asked: int, found: list[int]) -> None:
    assert offsets_in(read(gappy(), asked)) == found


def test_a_read_respects_a_bound_inside_a_gap() -> None:
    log = gappy()
    assert offsets_in(read(log, 0, end=7)) == [0, 5]
    assert read(log, 10, end=18) == Read(None)
    assert offsets_in(read(log, 10, end=21)) == [20]


def test_the_end_offset_of_a_region_is_known_behind_a_gap() -> None:
    log = gappy()
    for asked, size, end in [(0, EVERYTHING, 10), (0, 2 * BATCH_BYTES, 6), (0, 1, 1), (10, EVERYTHING, 23), (10, 1, 21)]:
        found = read(log, asked, size=size)
        assert found.region is not None
        assert log.end_of_region(found.region, asked) == end


def test_the_end_offset_of_a_region_is_the_end_of_its_last_batch() -> None:
    log = filled()
    found = read(log, 5, size=250)
    assert found.region is not None
    assert log.end_of_region(found.region, 5) == 8


# -- remembered ends


def reads_of(log: Log, offset: int) -> list[int]:
    return offsets_in(read(log, offset))


def test_a_reader_at_the_log_end_gets_the_next_batch() -> None:
    log = filled(3)
    assert reads_of(log, 0) == [0, 1, 2]
    for offset in range(3, 40):
        append(log)
        assert reads_of(log, offset) == [offset]


def test_a_remembered_end_is_dropped_when_the_log_is_truncated() -> None:
    log = filled(5)
    reads_of(log, 0)  # remembers that offset 5 begins at 500
    log.truncate_to(3)
    for value in (b"longer than before, so that offset 5 lies elsewhere", b"x", b"y"):
        append(log, data(value=value))
    assert reads_of(log, 5) == [5]
    assert values(log)[3:] == [b"longer than before, so that offset 5 lies elsewhere", b"x", b"y"]


def test_a_remembered_end_is_dropped_when_the_log_starts_over() -> None:
    log = filled(5)
    reads_of(log, 0)
    log.truncate_fully(5)
    append(log, data(value=b"new"))
    assert reads_of(log, 5) == [5]
    assert values(log) == [b"new"]


def test_a_remembered_end_leads_over_a_roll() -> None:
    log = filled(5)
    reads_of(log, 0)
    log.roll(now_ms=NOW_MS)
    append(log)
    assert reads_of(log, 5) == [5]


def test_the_number_of_remembered_ends_is_bounded() -> None:
    log = open_partition(new_disk(), LogSettings())
    for _ in range(3 * REMEMBERED_READ_ENDS):
        append(log)
        read(log, log.log_end_offset - 1)
    assert len(log._read_ends) == REMEMBERED_READ_ENDS
    assert [reads_of(log, offset)[0] for offset in range(log.log_end_offset)] == list(range(log.log_end_offset))


@repeatable
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=30),
    st.lists(st.tuples(st.integers(0, 130), st.integers(0, 600), st.integers(0, 130), st.booleans()), min_size=1, max_size=8),
)
def test_any_read_is_a_range_of_the_appended_bytes(counts: list[int], asked: list[tuple[int, int, int, bool]]) -> None:
    log = open_partition(new_disk())
    for count in counts:
        append(log, data(count))
    everything = all_batches(log)
    spans = offsets(everything)
    for offset, size, end, at_least_one in asked:
        if offset > log.log_end_offset:
            continue
        found = read(log, offset, size=size, end=end, at_least_one=at_least_one)
        if found.region is None:
            continue
        chunk = found.region.read()
        whole = [header for _, header in walk(chunk)]
        first = next(slot for slot, (_, last) in enumerate(spans) if last >= offset)
        assert b"".join(everything[first:]).startswith(chunk)
        assert len(chunk) <= size or (at_least_one and found.oversized and len(whole) == 1)
        assert all(header.last_offset < end for header in whole)
        if at_least_one:
            assert whole or len(chunk) < len(everything[first])


# -- by time


def timed(*stamps: int) -> Log:
    log = open_partition(new_disk(), SMALL)
    for stamp in stamps:
        append(log, data(timestamp=stamp), leader_epoch=3)
    return log


def test_the_first_record_at_or_after_a_time_is_found() -> None:
    log = timed(50, 40, 60, 60, 45, 70)
    expected = {0: (50, 0), 50: (50, 0), 51: (60, 2), 60: (60, 2), 61: (70, 5)}
    for asked, (timestamp, offset) in expected.items():
        assert log.offset_for_timestamp(asked) == TimestampOffset(timestamp, offset, 3)
    assert log.offset_for_timestamp(71) is None


def test_a_search_by_time_finds_the_record_inside_a_batch() -> None:
    log = open_partition(new_disk())

    append(log, build_batch([Record(0, 10, None, b""), Record(1, 30, None, b""), Record(2, 20, None, b"")]))
    assert log.offset_for_timestamp(15) == TimestampOffset(30, 1, 0)
    assert log.offset_of_max_timestamp() == TimestampOffset(30, 1, 0)


@repeatable
@given(st.lists(st.integers(0, 60), min_size=1, max_size=45), st.integers(-1, 62), st.integers(0, 45), st.booleans())
def test_a_search_by_time_covers_all_segments(stamps: list[int], asked: int, start: int, reopened: bool) -> None:
    log = timed(*stamps)
    log.advance_start(min(start, len(stamps)))
    if reopened:
        log.close()
        log = open_partition(log.disk, clean=True, log_start_offset=log.log_start_offset)
    expected = next((offset for offset in range(log.log_start_offset, len(stamps)) if stamps[offset] >= asked), None)
    found = log.offset_for_timestamp(asked)
    assert (found.offset if found else None) == expected
    largest = log.offset_of_max_timestamp()
    assert largest is not None
    assert (largest.timestamp, largest.offset) == (max(stamps), stamps.index(max(stamps)))


def test_a_batch_below_the_log_start_does_not_hide_the_next_match() -> None:

    log = open_partition(new_disk())
    append(log, build_batch([Record(0, 90, None, b""), Record(1, 10, None, b"")]))
    append(log, data(timestamp=95))
    log.advance_start(1)
    assert log.offset_for_timestamp(80) == TimestampOffset(95, 2, 0)


def test_a_search_by_time_in_an_empty_log_finds_nothing() -> None:
    log = open_partition(new_disk())
    assert log.offset_for_timestamp(0) is None
    assert log.offset_of_max_timestamp() is None


def test_a_batch_that_cannot_be_opened_stands_for_its_first_record() -> None:
    # Compressed batches are accepted closed, so a log can hold such a batch.

    log = open_partition(new_disk())
    append(log, data(timestamp=10))
    append(log, with_header(with_body(data(2, timestamp=20), b"\x1f\x8bgarbage that is not gzip"), attributes=Codec.GZIP))
    assert log.offset_for_timestamp(15) == TimestampOffset(20, 1, 0)
    log.advance_start(2)
    assert log.offset_for_timestamp(15) == TimestampOffset(20, 2, 0)
