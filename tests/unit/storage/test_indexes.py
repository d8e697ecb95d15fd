"""The three indexes of a segment: lookups, truncation, and their bytes."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right

import pytest
from hypothesis import given, strategies as st

from barnabas.simulation.disk import SimulatedDisk
from barnabas.storage.index_file import WAITING_BYTES_MAX, IndexFile
from barnabas.storage.offset_index import OffsetIndex
from barnabas.storage.time_index import TimeIndex
from barnabas.storage.transaction_index import AbortedTransaction, TransactionIndex
from tests.unit.records.made import repeatable
from tests.unit.storage.logs import DIRECTORY, new_disk

PATH = f"{DIRECTORY}/index"
PAIR = struct.Struct(">ii")

rising = st.lists(st.integers(1, 50), max_size=30).map(lambda gaps: [sum(gaps[: n + 1]) for n in range(len(gaps))])


# -- the common file of all indexes


def test_entries_waiting_in_memory_are_visible() -> None:
    disk = new_disk()
    file = IndexFile(disk, PATH, PAIR)
    file.create()
    operations = disk.operations
    for n in range(10):
        file.append(n, -n)
    assert disk.operations == operations
    assert len(file) == 10
    assert [file[n] for n in range(10)] == [(n, -n) for n in range(10)]
    assert disk.read(PATH) == b""
    file.write_out()
    assert disk.read(PATH) == b"".join(PAIR.pack(n, -n) for n in range(10))
    assert file.read_all() == [(n, -n) for n in range(10)]


def test_a_page_of_entries_is_written_at_once() -> None:
    disk = new_disk()
    file = IndexFile(disk, PATH, PAIR)
    for n in range(WAITING_BYTES_MAX // PAIR.size):
        file.append(n, n)
    assert disk.size_bytes(PATH) == WAITING_BYTES_MAX


def test_closing_writes_waiting_entries_and_abandoning_does_not() -> None:
    disk = new_disk()
    for end, size in (("abandon", 0), ("close", PAIR.size)):
        file = IndexFile(disk, f"{PATH}-{end}", PAIR)
        file.create()
        file.append(1, 1)
        getattr(file, end)()
        assert disk.size_bytes(f"{PATH}-{end}") == size


def test_a_partial_entry_does_not_count_and_can_be_trimmed() -> None:
    disk = new_disk()
    disk.open(PATH).write_at(0, PAIR.pack(1, 2) + b"xyz")
    file = IndexFile(disk, PATH, PAIR)
    assert len(file) == 1
    assert file.read_all() == [(1, 2)]
    file.trim()
    assert disk.size_bytes(PATH) == PAIR.size


def test_an_entry_is_appended_after_the_last_whole_one() -> None:
    disk = new_disk()
    disk.open(PATH).write_at(0, PAIR.pack(1, 2) + b"xyz")
    file = IndexFile(disk, PATH, PAIR)
    file.append(3, 4)
    assert file.read_all() == [(1, 2), (3, 4)]


def test_truncating_counts_waiting_entries() -> None:
    disk = new_disk()
    file = IndexFile(disk, PATH, PAIR)
    for n in range(6):
        file.append(n, n)
        if n == 2:
            file.write_out()
    file.truncate(9)
    assert len(file) == 6
    file.truncate(4)
    assert file.read_all() == [(n, n) for n in range(4)]
    file.write_out()
    assert disk.size_bytes(PATH) == 4 * PAIR.size


def test_a_moved_index_is_found_at_its_new_path() -> None:
    disk = new_disk()
    file = IndexFile(disk, PATH, PAIR)
    file.append(1, 1)
    file.write_out()
    disk.rename(PATH, PATH + "2")
    file.moved_to(PATH + "2")
    file.close()
    file.append(2, 2)
    file.close()
    assert disk.size_bytes(PATH + "2") == 2 * PAIR.size
    assert not disk.exists(PATH)


# -- from offsets to positions


def offset_index(disk: SimulatedDisk, entries: list[tuple[int, int]], *, base_offset: int = 1000) -> OffsetIndex:
    index = OffsetIndex(disk, PATH, base_offset)
    index.reset()
    for relative, position in entries:
        index.append(base_offset + relative, position)
    return index


@repeatable
@given(rising, st.integers(-5, 1600))
def test_a_lookup_gives_the_last_entry_at_or_below(relatives: list[int], asked: int) -> None:
    disk = new_disk()
    entries = [(relative, 10 * relative) for relative in relatives]
    active = offset_index(disk, entries)
    slot = bisect_right(relatives, asked) - 1
    expected = (1000 + relatives[slot], 10 * relatives[slot]) if slot >= 0 else (1000, 0)
    assert active.lookup(1000 + asked) == expected
    # The same from disk, for a closed segment.
    active.file.write_out()
    active.seal()
    assert active.lookup(1000 + asked) == expected
    assert OffsetIndex(disk, PATH, 1000).lookup(1000 + asked) == expected


@repeatable
@given(rising, st.integers(0, 1600))
def test_truncating_drops_offsets_at_and_above(relatives: list[int], cut: int) -> None:
    index = offset_index(new_disk(), [(relative, relative) for relative in relatives])
    index.truncate_to(1000 + cut)
    kept = relatives[: bisect_left(relatives, cut)]
    assert index.file.read_all() == [(relative, relative) for relative in kept]
    assert index.last() == ((1000 + kept[-1], kept[-1]) if kept else (1000, 0))
    index.append(1000 + cut, 99_999)
    assert index.lookup(1000 + cut) == (1000 + cut, 99_999)


def test_the_bytes_are_kafkas() -> None:
    disk = new_disk()
    offset_index(disk, [(3, 4096), (7, 8200)]).file.write_out()
    assert disk.read(PATH) == bytes.fromhex("00000003 00001000 00000007 00002008")


def test_offsets_must_rise() -> None:
    index = offset_index(new_disk(), [(3, 10)])
    with pytest.raises(AssertionError, match="does not rise"):
        index.append(1003, 20)


def test_a_closed_segments_index_is_not_appended_to() -> None:
    index = offset_index(new_disk(), [])
    index.seal()
    with pytest.raises(AssertionError, match="active"):
        index.append(1001, 1)


@pytest.mark.parametrize(
    ("entries", "log_bytes", "sound"),
    [
        ([], 0, True),
        ([(1, 0), (2, 100)], 101, True),
        ([(1, 0), (2, 100)], 100, False),  # points behind the log
        ([(2, 0), (1, 100)], 500, False),
        ([(1, 0), (1, 100)], 500, False),
        ([(1, 100), (2, 100)], 500, False),
        ([(1, 10), (0, 0), (0, 0)], 500, False),  # zeros, as a preallocated file has them
        ([(-1, 10)], 500, False),
    ],
)
def test_an_offset_index_that_does_not_match_its_log_has_a_fault(entries: list[tuple[int, int]], log_bytes: int, sound: bool) -> None:
    disk = new_disk()
    disk.open(PATH).write_at(0, b"".join(PAIR.pack(*entry) for entry in entries))
    assert (OffsetIndex(disk, PATH, 1000).fault(log_bytes) is None) == sound


def test_activating_loads_a_closed_index() -> None:
    disk = new_disk()
    index = offset_index(disk, [(3, 10), (5, 20)])
    index.file.write_out()
    index.seal()
    index.activate()
    index.append(1009, 30)
    assert [index.lookup(1000 + n)[1] for n in (2, 3, 4, 5, 8, 9)] == [0, 10, 10, 20, 20, 30]


# -- from time to offsets


def time_index(disk: SimulatedDisk, entries: list[tuple[int, int]], *, base_offset: int = 1000) -> TimeIndex:
    index = TimeIndex(disk, PATH, base_offset)
    index.reset()
    for timestamp, relative in entries:
        index.maybe_append(timestamp, base_offset + relative)
    return index


@repeatable
@given(rising, st.integers(-5, 1600))
def test_a_lookup_by_time_gives_an_offset_before_which_all_records_are_older(times: list[int], asked: int) -> None:
    disk = new_disk()
    active = time_index(disk, [(time, 2 * slot) for slot, time in enumerate(times)])
    slot = bisect_left(times, asked) - 1
    expected = 1000 + (2 * slot if slot >= 0 else 0)
    assert active.lookup(asked) == expected
    active.file.write_out()
    active.seal()
    assert active.lookup(asked) == expected
    assert TimeIndex(disk, PATH, 1000).lookup(asked) == expected


def test_only_a_larger_timestamp_makes_an_entry() -> None:
    index = time_index(new_disk(), [(50, 1), (50, 2), (40, 3), (51, 4)])
    assert index.file.read_all() == [(50, 1), (51, 4)]
    assert index.last() == (51, 1004)


def test_an_empty_time_index_has_no_last_entry() -> None:
    disk = new_disk()
    index = time_index(disk, [])
    assert index.last() == (-1, 1000)
    index.seal()
    assert index.last() == (-1, 1000)
    assert index.lookup(0) == 1000


def test_the_last_entry_is_known_without_memory() -> None:
    index = time_index(new_disk(), [(50, 1), (60, 9)])
    index.file.write_out()
    index.seal()
    assert index.last() == (60, 1009)


def test_a_closed_time_index_takes_one_more_entry() -> None:
    disk = new_disk()
    index = time_index(disk, [(50, 1)])
    index.file.write_out()
    index.seal()
    index.maybe_append(60, 1004)
    assert index.file.read_all() == [(50, 1), (60, 4)]


@repeatable
@given(rising, st.integers(0, 80))
def test_truncating_by_offset_drops_times_at_and_above(times: list[int], cut: int) -> None:
    index = time_index(new_disk(), [(time, 2 * slot) for slot, time in enumerate(times)])
    index.truncate_to(1000 + cut)
    assert index.file.read_all() == [(time, 2 * slot) for slot, time in enumerate(times) if 2 * slot < cut]


def test_the_time_index_bytes_are_kafkas() -> None:
    disk = new_disk()
    time_index(disk, [(0x0102030405, 7)]).file.write_out()
    assert disk.read(PATH) == bytes.fromhex("0000000102030405 00000007")


@pytest.mark.parametrize(
    ("entries", "sound"),
    [
        ([], True),
        ([(50, 0), (60, 0), (70, 4)], True),
        ([(50, 0), (50, 1)], False),
        ([(50, 3), (60, 2)], False),
        ([(50, 5)], False),  # behind the end
        ([(50, 3), (0, 0)], False),  # zeros, as a preallocated file has them
        ([(-2, 0)], False),
    ],
)
def test_a_time_index_that_does_not_match_its_segment_has_a_fault(entries: list[tuple[int, int]], sound: bool) -> None:
    disk = new_disk()
    disk.open(PATH).write_at(0, b"".join(struct.pack(">qi", *entry) for entry in entries))
    assert (TimeIndex(disk, PATH, 1000).fault(next_offset=1005) is None) == sound


# -- aborted transactions

ABORTS = [AbortedTransaction(7, 10, 19, 5), AbortedTransaction(8, 5, 30, 31), AbortedTransaction(7, 35, 40, 41)]


def transaction_index(disk: SimulatedDisk) -> TransactionIndex:
    index = TransactionIndex(disk, PATH)
    for aborted in ABORTS:
        index.append(aborted)
    return index


def test_without_aborts_there_is_no_file() -> None:
    disk = new_disk()
    index = TransactionIndex(disk, PATH)
    assert index.entries() == []
    assert index.collect(0, 100) == ([], False)
    index.truncate_to(0)
    index.reset()
    index.file.close()
    assert not disk.exists(PATH)


def test_an_abort_is_written_at_once_and_read_back() -> None:
    disk = new_disk()
    transaction_index(disk)
    assert TransactionIndex(disk.kill(), PATH).entries() == ABORTS


def test_the_transaction_index_bytes_are_kafkas() -> None:
    disk = new_disk()
    TransactionIndex(disk, PATH).append(AbortedTransaction(1, 2, 3, 4))
    assert disk.read(PATH) == struct.pack(">hqqqq", 0, 1, 2, 3, 4)
    assert disk.size_bytes(PATH) == 34


@pytest.mark.parametrize(
    ("start", "end", "found", "complete"),
    [
        (0, 100, [0, 1, 2], False),
        (20, 100, [1, 2], False),
        (19, 20, [0, 1], True),  # the second means that no transaction below 31 was open any more
        (0, 5, [], True),  # and the first that none below 5 was
        (0, 6, [1], True),
        (31, 34, [], True),
        (31, 36, [2], True),
        (41, 50, [], False),
    ],
)
def test_readers_get_the_aborts_that_touch_their_range(start: int, end: int, found: list[int], complete: bool) -> None:
    assert transaction_index(new_disk()).collect(start, end) == ([ABORTS[slot] for slot in found], complete)


@pytest.mark.parametrize(("offset", "kept"), [(0, 0), (19, 0), (20, 1), (30, 1), (31, 2), (41, 3)])
def test_truncating_drops_aborts_with_a_truncated_marker(offset: int, kept: int) -> None:
    disk = new_disk()
    index = transaction_index(disk)
    index.truncate_to(offset)
    assert index.entries() == TransactionIndex(disk, PATH).entries() == ABORTS[:kept]


def test_markers_are_indexed_in_order() -> None:
    index = transaction_index(new_disk())
    with pytest.raises(AssertionError, match="order"):
        index.append(AbortedTransaction(9, 1, 40, 50))


@pytest.mark.parametrize(
    ("aborts", "sound"),
    [
        (ABORTS, True),
        ([ABORTS[1], ABORTS[0]], False),
        ([AbortedTransaction(1, 20, 10, 30)], False),
        ([AbortedTransaction(0, 0, 0, 0), AbortedTransaction(0, 0, 0, 0)], False),
    ],
)
def test_a_transaction_index_out_of_order_has_a_fault(aborts: list[AbortedTransaction], sound: bool) -> None:
    disk = new_disk()
    disk.open(PATH).write_at(0, b"".join(struct.pack(">hqqqq", 0, *each) for each in aborts))
    assert (TransactionIndex(disk, PATH).fault() is None) == sound


def test_a_reset_transaction_index_is_empty_and_usable() -> None:
    disk = new_disk()
    index = transaction_index(disk)
    index.reset()
    assert index.entries() == []
    index.append(ABORTS[0])
    assert TransactionIndex(disk, PATH).entries() == ABORTS[:1]
