"""One segment: append, search, scan, truncate and rebuild."""

from __future__ import annotations

import errno
import struct

import pytest
from hypothesis import given, strategies as st

from barnabas.records.batch_header import assign_offset, read_header
from barnabas.records.batches import CorruptBatch
from barnabas.simulation.disk import Operation, SimulatedDisk
from barnabas.storage.segment import RELATIVE_OFFSET_MAX, SCAN_READ_BYTES, SEARCH_READ_BYTES, Segment
from barnabas.storage.segment_list import SegmentList
from barnabas.storage.transaction_index import AbortedTransaction
from tests.unit.records.made import repeatable
from tests.unit.storage.logs import BATCH_BYTES, DIRECTORY, NOW_MS, data, files, new_disk

BASE = 500


def segment_of(disk: SimulatedDisk, *, interval: int = 2 * BATCH_BYTES) -> Segment:
    return Segment.create(disk, DIRECTORY, BASE, index_interval_bytes=interval, created_ms=NOW_MS)


def put(segment: Segment, batch: bytearray, *, offset: int | None = None) -> int:
    base_offset = segment.next_offset if offset is None else offset
    assign_offset(batch, base_offset, 0)
    header = read_header(batch)
    return segment.append(batch, last_offset=header.last_offset, max_timestamp=header.max_timestamp)


def filled(disk: SimulatedDisk, counts: list[int], *, interval: int = 2 * BATCH_BYTES) -> tuple[Segment, list[int]]:
    """A segment with batches of that many records each, and their positions."""
    segment = segment_of(disk, interval=interval)
    return segment, [put(segment, data(count, timestamp=NOW_MS + slot)) for slot, count in enumerate(counts)]


def opened(disk: SimulatedDisk) -> Segment:
    return Segment(disk, DIRECTORY, BASE, index_interval_bytes=2 * BATCH_BYTES, created_ms=NOW_MS)


def test_a_new_segment_has_its_files_and_nothing_in_them() -> None:
    disk = new_disk()
    segment = segment_of(disk)
    assert disk.names(DIRECTORY) == [f"{BASE:020d}{suffix}" for suffix in (".index", ".log", ".timeindex")]
    assert (segment.size_bytes, segment.next_offset, segment.max_timestamp, segment.first_timestamp) == (0, BASE, -1, -1)
    assert segment.locate(BASE) is None


def test_creating_a_segment_over_existing_data_fails() -> None:
    disk = new_disk()
    put(segment_of(disk), data())
    with pytest.raises(AssertionError, match="already holds"):
        segment_of(disk)


def test_batches_follow_each_other_without_a_gap() -> None:
    disk = new_disk()
    segment, positions = filled(disk, [1, 3, 2])
    sizes = [len(data(count)) for count in (1, 3, 2)]
    assert positions == [0, sizes[0], sizes[0] + sizes[1]]
    assert (segment.size_bytes, segment.next_offset) == (sum(sizes), BASE + 6)
    assert disk.size_bytes(segment.file.path) == segment.size_bytes


def test_appending_a_lower_offset_fails() -> None:
    segment, _ = filled(new_disk(), [3])
    with pytest.raises(AssertionError, match="below"):
        put(segment, data(), offset=BASE + 1)


def test_an_index_entry_holds_the_last_offset_of_the_batch_behind_an_interval() -> None:
    segment, positions = filled(new_disk(), [1] * 9)
    # An entry follows after more than 200 bytes: the fourth batch is the first with more than that
    # before it.
    assert segment.index.file.read_all() == [(3, positions[3]), (6, positions[6])]
    assert segment.time_index.file.read_all() == [(NOW_MS + 3, 3), (NOW_MS + 6, 6)]


def test_the_largest_timestamp_is_remembered_with_the_end_of_its_batch() -> None:
    segment = segment_of(new_disk())
    for timestamp in (5, 9, 9, 2):
        put(segment, data(2, timestamp=timestamp))
    assert (segment.max_timestamp, segment.offset_of_max_timestamp, segment.first_timestamp) == (9, BASE + 3, 5)


@repeatable
@given(st.lists(st.integers(1, 4), min_size=1, max_size=15), st.integers(0, 50), st.booleans())
def test_every_offset_is_found_in_its_batch(counts: list[int], asked: int, sealed: bool) -> None:
    segment, positions = filled(new_disk(), counts)
    if sealed:
        segment.seal()
    offset = BASE + asked
    found = segment.locate(offset)
    if asked >= sum(counts):
        assert found is None
        return
    slot = next(slot for slot in range(len(counts)) if sum(counts[: slot + 1]) > asked)
    assert found is not None
    assert found.position == positions[slot]
    assert (found.base_offset, found.last_offset) == (BASE + sum(counts[:slot]), BASE + sum(counts[: slot + 1]) - 1)
    assert found.size_bytes == len(data(counts[slot]))


def test_locating_an_offset_in_a_gap_finds_the_next_batch() -> None:
    segment = segment_of(new_disk())
    put(segment, data(), offset=BASE)
    position = put(segment, data(2), offset=BASE + 10)
    found = segment.locate(BASE + 4)
    assert found is not None
    assert (found.position, found.base_offset) == (position, BASE + 10)


def test_large_batches_are_stepped_over() -> None:
    segment = segment_of(new_disk(), interval=1 << 30)
    positions = [put(segment, data(value=bytes(size))) for size in (SEARCH_READ_BYTES * 3, 10, SEARCH_READ_BYTES, 10)]
    assert [location.position for location in segment.steps(0)] == positions
    assert [position for position, _ in segment.headers()] == positions
    found = segment.locate(BASE + 3)
    assert found is not None
    assert found.position == positions[3]


def test_stepping_onto_garbage_raises_with_its_position() -> None:
    segment, positions = filled(new_disk(), [1, 1, 1])
    segment.file.write_at(positions[1], bytes(70))
    with pytest.raises(CorruptBatch, match=f"position {positions[1]}"):
        list(segment.steps(0))
    with pytest.raises(CorruptBatch, match=f"position {positions[1]}"):
        list(segment.headers())


# -- scanning


def test_a_scan_yields_every_batch_with_its_bytes() -> None:
    segment, positions = filled(new_disk(), [1, 3, 2])
    found = list(segment.scan())
    assert [position for position, _, _ in found] == positions
    assert b"".join(bytes(batch) for _, _, batch in found) == segment.file.read_at(0, segment.size_bytes)


def test_a_scan_reads_batches_larger_than_one_chunk() -> None:
    segment = segment_of(new_disk(), interval=1 << 30)
    sizes = [10, SCAN_READ_BYTES - 500, SCAN_READ_BYTES * 2, 10, SCAN_READ_BYTES + 1]
    positions = [put(segment, data(value=bytes(size))) for size in sizes]
    assert [position for position, _, _ in segment.scan()] == positions


def scan_until_damage(segment: Segment) -> tuple[int, str]:
    found: list[int] = []
    with pytest.raises(CorruptBatch) as damage:
        found.extend(position for position, _, _ in segment.scan())
    return len(found), str(damage.value)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("cut the last byte", "ends inside"),
        ("cut in a header", "ends inside"),
        ("zeros behind", "length 0"),
        ("one byte behind", "ends inside"),
        ("a length of 2 GB", "ends inside"),
        ("flip a bit in a body", "crc"),
        ("flip a bit of the magic", "magic"),
        ("an offset that goes back", "follows"),
    ],
)
def test_a_scan_stops_at_the_first_incomplete_batch(damage: str, said: str) -> None:
    disk = new_disk()
    segment, positions = filled(disk, [2, 2, 2, 2])
    path, size, third = segment.file.path, segment.size_bytes, positions[2]
    good = 3 if damage.startswith("cut") else 4 if "behind" in damage else 2
    match damage:
        case "cut the last byte":
            segment.file.truncate(size - 1)
        case "cut in a header":
            segment.file.truncate(positions[3] + 30)
        case "zeros behind":
            segment.file.write_at(size, bytes(5000))
        case "one byte behind":
            segment.file.write_at(size, b"\x01")
        case "a length of 2 GB":
            segment.file.write_at(third + 8, b"\x7f\xff\xff\x00")
        case "flip a bit in a body":
            disk.flip_bit(path, third + 80)
        case "flip a bit of the magic":
            disk.flip_bit(path, third + 16)
        case "an offset that goes back":
            segment.file.write_at(third, bytes(8))
    segment = opened(disk)
    found, message = scan_until_damage(segment)
    assert found == good
    assert said in message


# -- cutting and deriving again


@repeatable
@given(st.lists(st.integers(1, 3), min_size=1, max_size=14), st.integers(0, 45), st.booleans())
def test_truncating_leaves_the_files_of_a_segment_without_the_removed_batches(counts: list[int], cut: int, sealed: bool) -> None:
    disk, expected_disk = new_disk(), new_disk()
    segment, _ = filled(disk, counts)
    if sealed:
        segment.seal()
    segment.truncate_to(BASE + cut)
    kept = [count for slot, count in enumerate(counts) if sum(counts[: slot + 1]) <= cut]
    expected, _ = filled(expected_disk, kept)
    for each in (segment, expected):
        # The forced last entry of a sealed time index may or may not have survived the truncation;
        # it adds nothing.
        each.seal()
    for name in expected_disk.names(DIRECTORY):
        assert disk.read(f"{DIRECTORY}/{name}") == expected_disk.read(f"{DIRECTORY}/{name}") or (sealed and name.endswith(".timeindex"))
    for field in ("size_bytes", "next_offset", "max_timestamp", "offset_of_max_timestamp", "first_timestamp"):
        assert getattr(segment, field) == getattr(expected, field), field


def test_a_truncation_is_durable_when_it_returns() -> None:
    disk = new_disk()
    segment, _ = filled(disk, [1, 1, 1])
    segment.sync()
    disk.sync_directory(DIRECTORY)
    segment.truncate_to(BASE + 1)
    for _ in range(20):
        assert disk.crash().size_bytes(segment.file.path) == BATCH_BYTES


@repeatable
@given(st.lists(st.integers(1, 4), max_size=20))
def test_the_end_of_a_segment_is_loaded_from_its_files(counts: list[int]) -> None:
    disk = new_disk()
    segment, _ = filled(disk, counts)
    segment.write_out()
    segment.index.file.remove_placeholder()
    again = opened(disk)
    again.activate()
    again.load_tail()
    for field in ("size_bytes", "next_offset", "max_timestamp", "offset_of_max_timestamp", "first_timestamp"):
        assert getattr(again, field) == getattr(segment, field), field
    # And it continues indexing at the same positions.
    for each in (segment, again):
        for _ in range(4):
            put(each, data())
    assert again.index.file.read_all() == segment.index.file.read_all()


@repeatable
@given(st.lists(st.integers(1, 4), max_size=20))
def test_derived_indexes_equal_those_of_appending(counts: list[int]) -> None:
    disk = new_disk()
    segment, _ = filled(disk, counts)
    segment.seal()
    expected = {suffix: disk.read(f"{DIRECTORY}/{BASE:020d}{suffix}") for suffix in (".index", ".timeindex")}
    again = opened(disk)
    for file in (again.index.file, again.time_index.file):
        file.create()
    assert [header.last_offset_delta + 1 for header, _ in again.rebuild()] == counts
    assert {suffix: disk.read(f"{DIRECTORY}/{BASE:020d}{suffix}") for suffix in expected} == expected
    assert again.damage is None
    assert (again.next_offset, again.max_timestamp) == (segment.next_offset, segment.max_timestamp)


def test_a_rebuild_truncates_the_file_at_the_damage_and_records_it() -> None:
    disk = new_disk()
    segment, positions = filled(disk, [1, 1, 1])
    disk.flip_bit(segment.file.path, positions[1] + 70)
    again = opened(disk)
    seen: list[int] = []
    assert [header.base_offset for header, _ in again.rebuild(before_cut=lambda: seen.append(disk.size_bytes(again.file.path)))] == [BASE]
    assert seen == [3 * BATCH_BYTES], "before_cut is called before the truncation"
    assert disk.size_bytes(again.file.path) == again.size_bytes == BATCH_BYTES
    assert again.damage is not None
    assert "crc" in again.damage


def test_an_offset_beyond_the_relative_range_counts_as_damage() -> None:
    disk = new_disk()
    segment = segment_of(disk)
    put(segment, data(), offset=BASE)
    put(segment, data(), offset=BASE + RELATIVE_OFFSET_MAX + 1)
    again = opened(disk)
    assert len(list(again.rebuild())) == 1
    assert again.next_offset == BASE + 1


def test_sealing_writes_the_largest_timestamp_last() -> None:
    disk = new_disk()
    segment, _ = filled(disk, [1, 1])
    assert disk.size_bytes(f"{DIRECTORY}/{BASE:020d}.timeindex") == 0
    segment.seal()
    assert segment.time_index.last() == (NOW_MS + 1, BASE + 1)
    assert disk.size_bytes(f"{DIRECTORY}/{BASE:020d}.timeindex") == 12


def test_synced_data_is_durable_together_with_the_names_of_new_files() -> None:
    disk = new_disk()
    segment, _ = filled(disk, [1] * 9)
    disk.sync_directory(DIRECTORY)
    segment.transaction_index.append(AbortedTransaction(1, BASE, BASE + 3, BASE))
    segment.write_out()
    segment.sync()
    expected = files(disk)
    for _ in range(30):
        assert files(disk.crash()) == expected


def test_batches_by_time_are_those_that_reach_it_from_an_offset_on() -> None:
    segment = segment_of(new_disk())
    for timestamp in (50, 40, 60, 45, 60):
        put(segment, data(2, timestamp=timestamp))

    def found(timestamp: int, start: int) -> list[int]:
        return [header.base_offset - BASE for _, header in segment.batches_at_or_after(timestamp, BASE + start)]

    assert found(45, 0) == [0, 4, 6, 8]
    assert found(51, 0) == [4, 8]
    assert found(51, 5) == [4, 8]
    assert found(51, 6) == [8]
    assert found(61, 0) == []
    assert found(0, 10) == []


# -- several


def test_segments_are_found_by_offset() -> None:
    disk = new_disk()
    made = [Segment.create(disk, DIRECTORY, base, index_interval_bytes=4096, created_ms=0) for base in (10, 0, 25)]
    segments = SegmentList(made)
    assert [segment.base_offset for segment in segments] == [0, 10, 25]
    assert (segments.first.base_offset, segments.active.base_offset, len(segments)) == (0, 25, 3)
    assert [segments.holding(offset).base_offset for offset in (-1, 0, 9, 10, 24, 25, 99)] == [0, 0, 0, 10, 10, 25, 25]
    assert [[each.base_offset for each in segments.starting_with(offset)] for offset in (-1, 5, 10, 99)] == [
        [0, 10, 25],
        [0, 10, 25],
        [10, 25],
        [25],
    ]


def test_a_segment_can_only_be_added_after_the_active_one() -> None:
    disk = new_disk()
    segments = SegmentList([segment_of(disk)])
    later = Segment.create(disk, DIRECTORY, BASE + 5, index_interval_bytes=4096, created_ms=0)
    segments.add(later)
    assert segments.active is later
    with pytest.raises(AssertionError, match="does not follow"):
        segments.add(later)
    segments.remove(later)
    assert segments.active.base_offset == BASE
    with pytest.raises(AssertionError, match="last segment"):
        segments.remove(segments.active)
    segments.replace_all(later)
    assert [each.base_offset for each in segments] == [BASE + 5]


def test_a_log_has_at_least_one_segment() -> None:
    with pytest.raises(AssertionError):
        SegmentList([])


def index_bytes(disk: SimulatedDisk) -> bytes:
    return disk.read(f"{DIRECTORY}/{BASE:020d}.index")


def test_the_index_of_an_active_segment_holds_the_last_offset_of_the_first_batch_while_it_has_no_entry() -> None:
    disk = new_disk()
    segment, _ = filled(disk, [])
    assert index_bytes(disk) == b""
    put(segment, data(3))
    assert index_bytes(disk) == struct.pack(">ii", 2, 0)
    assert len(segment.index) == 0
    assert segment.index.lookup(BASE + 2) == (BASE, 0)


def test_a_seal_removes_the_placeholder_of_an_index_without_entries() -> None:
    disk = new_disk()
    segment, _ = filled(disk, [3])
    segment.seal()
    assert index_bytes(disk) == b""


def test_entries_overwrite_the_placeholder_of_an_index() -> None:
    disk = new_disk()
    segment, _ = filled(disk, [3] * 9)
    assert len(segment.index) > 0
    segment.write_out()
    assert index_bytes(disk) == b"".join(struct.pack(">ii", *entry) for entry in segment.index.file.read_all())


def test_a_truncation_to_nothing_removes_the_placeholder_of_an_index() -> None:
    disk = new_disk()
    segment, _ = filled(disk, [3, 2])
    segment.truncate_to(BASE + 3)
    assert index_bytes(disk) == struct.pack(">ii", 2, 0)
    segment.truncate_to(BASE)
    assert index_bytes(disk) == b""


def test_a_full_disk_does_not_fail_the_append_that_writes_a_placeholder() -> None:
    disk = new_disk()
    segment, _ = filled(disk, [])
    disk.fail_with(errno.ENOSPC, (Operation.WRITE,), path_part=".index", times=1)
    put(segment, data(3))
    segment.seal()
    assert index_bytes(disk) == b""
