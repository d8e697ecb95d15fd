"""The records that a cleaned log still holds."""

from __future__ import annotations

import pytest

from barnabas.records.batch_header import DELETE_HORIZON_BIT, TimestampType, read_header
from barnabas.records.compression import Codec
from barnabas.records.record import open_batch
from tests.unit.both_scanners import BOTH_SCANNERS
from tests.unit.storage.compaction.tables import (
    DAY_MS,
    clean_all,
    clean_and_swap,
    committed,
    headers,
    job_of,
    new_table,
    put,
    rows,
    seal,
    table,
)
from tests.unit.storage.logs import NOW_MS, all_batches, append, files

pytestmark = BOTH_SCANNERS


def test_the_last_record_of_every_key_keeps_its_offset() -> None:
    log = new_table()
    put(log, (b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", b"1"), (b"b", b"2"), (b"a", b"3"))
    seal(log)
    clean_all(log)
    assert [(record.offset, record.key, record.value) for record in committed(log)] == [(3, b"c", b"1"), (4, b"b", b"2"), (5, b"a", b"3")]
    assert log.log_end_offset == 6


def test_only_the_last_record_of_a_key_in_a_batch_stays() -> None:
    log = new_table()
    append(log, rows((b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"a", b"3"), (b"c", b"1")))
    seal(log)
    clean_all(log)
    assert [(record.offset, record.key) for record in committed(log)] == [(1, b"b"), (3, b"a"), (4, b"c")]
    assert [(header.base_offset, header.last_offset, header.record_count) for header in headers(log)] == [(0, 4, 3)]


def test_a_batch_that_loses_nothing_is_copied_byte_for_byte() -> None:
    log = new_table()
    append(log, rows((b"old", b"1"), codec=Codec.ZSTD))
    append(log, rows((b"a", b"1"), (b"b", b"1"), codec=Codec.ZSTD))
    append(log, rows((b"old", b"2"), codec=Codec.ZSTD))
    untouched = all_batches(log)[1:]
    seal(log)
    clean_all(log)
    assert all_batches(log) == untouched


def test_a_segment_that_loses_nothing_is_left_alone() -> None:
    log = new_table()
    put(log, (b"a", b"1"), (b"b", b"1"))
    seal(log)
    before = files(log.disk)
    (result,) = clean_all(log)
    assert [segment.unchanged for segment in result.segments] == [True]
    assert files(log.disk) == before


def test_neighbours_become_one_segment() -> None:
    log = new_table()
    for _ in range(4):
        put(log, (b"a", b"1"), (b"b", b"1"))
        seal(log)
    put(log, (b"c", b"1"))
    clean_all(log)
    assert [segment.base_offset for segment in log.segments] == [0, 8]
    assert [record.offset for record in committed(log)] == [6, 7, 8]
    names = {name.partition(".")[0] for name in log.disk.names(log.directory) if name.endswith((".log", ".index", ".snapshot"))}
    assert names == {f"{offset:020d}" for offset in (0, 8)}


@pytest.mark.parametrize("codec", Codec)
def test_a_rewritten_batch_keeps_its_codec_and_its_timestamps(codec: Codec) -> None:
    log = new_table()
    append(log, rows((b"a", b"1"), (b"b", b"1" * 300), (b"c", b"1"), timestamps=[NOW_MS + 500, NOW_MS - 70, NOW_MS + 3], codec=codec))
    put(log, (b"a", b"2"))
    seal(log)
    clean_all(log)
    (header, *_), records = headers(log), committed(log)
    assert header.codec == codec
    assert [record.timestamp for record in records[:2]] == [NOW_MS - 70, NOW_MS + 3]
    assert header.max_timestamp == NOW_MS + 3


def test_a_rewritten_batch_keeps_its_append_time() -> None:
    log = new_table()
    append(
        log,
        rows((b"a", b"1"), (b"b", None), timestamps=[NOW_MS, NOW_MS + 9], timestamp_type=TimestampType.LOG_APPEND_TIME),
    )
    put(log, (b"a", b"2"))
    seal(log)
    clean_all(log)
    assert headers(log)[0].max_timestamp == NOW_MS + 9
    assert committed(log)[0].timestamp == NOW_MS + 9


def test_a_tombstone_stays_until_its_delete_horizon() -> None:
    log = new_table()
    append(log, rows((b"a", b"1"), (b"gone", b"1"), (b"b", b"1")))
    append(log, rows((b"gone", None), (b"b", b"2"), timestamps=[NOW_MS + 5, NOW_MS + 6]))
    seal(log)
    clean_all(log, now_ms=NOW_MS)
    horizon = headers(log)[1]
    assert horizon.attributes & DELETE_HORIZON_BIT
    assert horizon.base_timestamp == NOW_MS + DAY_MS
    assert [(record.key, record.value, record.timestamp) for record in committed(log)] == [
        (b"a", b"1", NOW_MS),
        (b"gone", None, NOW_MS + 5),
        (b"b", b"2", NOW_MS + 6),
    ]

    put(log, (b"x", b"1"))
    seal(log)
    clean_and_swap(log, job_of(log, first_dirty=5, now_ms=NOW_MS + DAY_MS - 1))
    assert headers(log)[1] == horizon
    clean_and_swap(log, job_of(log, first_dirty=5, now_ms=NOW_MS + DAY_MS))
    assert [record.key for record in committed(log)] == [b"a", b"b", b"x"]
    assert [record.timestamp for record in committed(log)][1] == NOW_MS + 6


def test_an_overwritten_tombstone_is_removed_at_once() -> None:
    log = new_table()
    put(log, (b"a", b"1"), (b"a", None), (b"a", b"2"))
    seal(log)
    clean_all(log)
    assert [(record.offset, record.value) for record in committed(log)] == [(2, b"2")]


def test_records_without_a_key_are_removed() -> None:
    log = new_table()
    append(log, rows((None, b"1"), (b"a", b"1"), (None, None)))
    append(log, rows((None, b"2")))
    put(log, (b"b", b"1"))
    seal(log)
    (result,) = clean_all(log)
    assert [record.key for record in committed(log)] == [b"a", b"b"]
    assert result.stats.keyless_records == 3


def test_the_last_batch_of_a_segment_stays_even_when_it_is_empty() -> None:
    log = new_table()
    put(log, (b"a", b"1"))
    append(log, rows((b"b", b"1"), (b"a", b"2")))
    seal(log)
    put(log, (b"a", b"3"), (b"b", b"3"))
    seal(log)
    clean_all(log, group_bytes_max=0)
    assert [(header.base_offset, header.last_offset, header.record_count) for header in headers(log)] == [(1, 2, 0), (3, 3, 1), (4, 4, 1)]
    assert [segment.next_offset for segment in log.segments] == [3, 5, 5]
    assert log.segments.first.max_timestamp == -1, "an empty batch has no youngest record"
    clean_and_swap(log, job_of(log))
    assert [header.base_offset for header in headers(log)] == [3, 4], "inside a segment an empty batch is not needed"


def test_every_offset_can_be_read_from_afterwards() -> None:
    log = new_table()
    for round_number in range(30):
        append(log, rows((b"k%d" % (round_number % 7), b"x" * 30), (b"k%d" % (round_number % 3), b"y")))
    seal(log)
    put(log, (b"last", b"1"))
    clean_all(log, group_bytes_max=900)
    everything = committed(log)
    for offset in range(log.log_end_offset):
        batch = all_batches(log, start=offset)[0]
        assert read_header(batch).last_offset >= offset
        found = [record.offset for each in all_batches(log, start=offset) for record in open_batch(each) if record.offset >= offset]
        assert found == [record.offset for record in everything if record.offset >= offset]
    assert table(log)[b"k0"]


def test_a_second_cleaning_finds_nothing_to_do() -> None:
    log = new_table()
    for number in range(40):
        append(log, rows((b"k%d" % (number % 9), b"v%d" % number), (b"t%d" % (number % 5), None)))
    seal(log)
    clean_all(log)
    before = files(log.disk)
    (result,) = clean_all(log)
    assert all(segment.unchanged for segment in result.segments)
    assert files(log.disk) == before


def test_times_are_found_in_a_cleaned_log() -> None:
    log = new_table()
    for number in range(40):
        append(log, rows((b"k%d" % (number % 11), b"x" * 40), timestamps=[NOW_MS + 10 * number]))
    seal(log)
    clean_all(log)
    found = log.offset_for_timestamp(NOW_MS + 305)
    assert found is not None
    assert (found.offset, found.timestamp) == (31, NOW_MS + 310)
    largest = log.offset_of_max_timestamp()
    assert largest is not None
    assert largest.offset == 39
