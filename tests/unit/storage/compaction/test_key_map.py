"""The key maps: latest offsets, within their memory."""

from __future__ import annotations

import tracemalloc

import pytest

from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import BatchHeader, read_header
from barnabas.records.record import MalformedRecord, Record
from barnabas.records.record_scan import body_of
from barnabas.storage.compaction.compiled_key_map import ENTRY_BYTES, CompiledKeyMap
from barnabas.storage.compaction.dict_key_map import DIGEST_BYTES, KEY_BYTES_MAX, DictKeyMap, map_key
from barnabas.storage.compaction.key_map import KeyMap
from barnabas.storage.compaction.new_key_map import new_key_map
from tests.unit.both_scanners import BOTH_SCANNERS

pytestmark = BOTH_SCANNERS

Key = bytes | None
# Ample for the keys of these tests, in either map.
ROOM = 1 << 20


def batch(keys: list[Key], *, offset: int, tombstones: tuple[int, ...] = (), step: int = 1) -> tuple[BatchHeader, bytes]:
    records = [Record(offset + step * index, 0, key, None if index in tombstones else b"v") for index, key in enumerate(keys)]
    made = bytes(build_batch(records, base_offset=offset))
    header = read_header(made)
    return header, bytes(body_of(made, header))


def add(target: KeyMap, keys: list[Key], *, offset: int, tombstones: tuple[int, ...] = ()) -> bool:
    return target.add(*batch(keys, offset=offset, tombstones=tombstones)) is not None


def numbered(count: int, prefix: bytes = b"") -> list[Key]:
    return [b"%s%d" % (prefix, number) for number in range(count)]


def room_for(keys: int) -> int:
    """Bytes for about this many keys, and fewer than four times as many."""
    return keys * ENTRY_BYTES if isinstance(new_key_map(0, size_bytes_max=ROOM), CompiledKeyMap) else keys * 250


def test_the_map_holds_the_latest_offset_of_each_key() -> None:
    latest = new_key_map(10, size_bytes_max=ROOM)
    assert add(latest, [b"a", b"b", b"a"], offset=10)
    assert add(latest, [b"b"], offset=20)
    latest.end_offset = 21
    assert latest.survivors(10, 21) == [2, 10]
    assert latest.survivors(13, 20) == []
    assert latest.staying(*batch([b"b", b"a", b"unknown"], offset=0), without_tombstones=False) == ([2], False)
    assert latest.staying(*batch([b"b"], offset=20), without_tombstones=False) == ([0], False)


def test_the_map_distinguishes_tombstones() -> None:
    latest = new_key_map(0, size_bytes_max=ROOM)
    assert add(latest, [b"a", b"b"], offset=0, tombstones=(1,))
    assert add(latest, [b"b", b"c"], offset=2)
    assert latest.survivors(0, 4) == [0, 2, 3], "an overwritten tombstone does not count"
    latest = new_key_map(0, size_bytes_max=ROOM)
    assert add(latest, [b"a", b"b", b"c"], offset=5, tombstones=(1,))
    latest.end_offset = 8
    assert latest.survivors(5, 6) == [0]
    assert latest.survivors(5, 7) is None
    again = batch([b"a", b"b", b"c"], offset=5, tombstones=(1,))
    assert latest.staying(*again, without_tombstones=False) == ([0, 1, 2], True)
    assert latest.staying(*again, without_tombstones=True) == ([0, 2], False)


def test_records_without_a_key_or_below_the_start_do_not_count() -> None:
    latest = new_key_map(11, size_bytes_max=ROOM)
    assert latest.add(*batch([b"a", None, b"b", None], offset=10)) == 2
    latest.end_offset = 13
    assert len(latest) == 1
    assert latest.survivors(10, 14) == [2]
    assert latest.staying(*batch([b"a", None, b"b", None], offset=10), without_tombstones=False) == ([0, 2, 3], False)


def test_a_batch_is_added_whole_or_not_at_all() -> None:
    latest = new_key_map(0, size_bytes_max=room_for(4))
    assert add(latest, numbered(4), offset=0)
    assert not add(latest, numbered(40, b"x"), offset=4)
    assert len(latest) == 4


def test_a_batch_of_very_many_keys_is_added_whole_or_not_at_all() -> None:
    latest = new_key_map(0, size_bytes_max=room_for(1400))
    assert add(latest, [b"first"], offset=0)
    assert not add(latest, numbered(8000), offset=1)
    assert add(latest, numbered(1000), offset=1)
    assert len(latest) == 1001


def test_known_keys_take_no_more_room() -> None:
    latest = new_key_map(0, size_bytes_max=room_for(4))
    for start in range(0, 400, 4):
        assert add(latest, numbered(4), offset=start)
    assert latest.survivors(0, 400) == [396, 397, 398, 399]


def test_the_first_batch_is_added_however_little_room_there_is() -> None:
    latest = new_key_map(0, size_bytes_max=1)
    assert add(latest, numbered(100), offset=0)
    assert not add(latest, [b"another"], offset=100)
    assert latest.survivors(0, 100) == list(range(100))


def test_a_malformed_batch_raises_what_is_wrong() -> None:
    latest = new_key_map(0, size_bytes_max=ROOM)
    header, body = batch([b"a", b"b"], offset=0)
    for damaged in (body[:-1], body + b"\0", b"\x01" + body[1:], b""):
        with pytest.raises(MalformedRecord):
            latest.add(header, damaged)
        with pytest.raises(MalformedRecord):
            latest.staying(header, damaged, without_tombstones=False)


def test_a_long_key_costs_no_more_than_a_digest() -> None:
    latest = DictKeyMap(0, size_bytes_max=ROOM)
    long = b"k" * 100_000
    assert add(latest, [long, long + b"2"], offset=0)
    assert latest.size_bytes < 2000
    assert latest.latest[map_key(long)] == 0
    assert len(map_key(long)) == DIGEST_BYTES > KEY_BYTES_MAX, "no key that is stored as it is has the length of a digest"


def test_the_counted_size_of_the_dict_is_its_real_size() -> None:
    for key_bytes in (8, 40, 200):
        keys: list[Key] = [b"%0*d" % (key_bytes, number) for number in range(8_000)]
        batches = [batch(keys[start : start + 100], offset=1000 + start) for start in range(0, len(keys), 100)]
        tracemalloc.start()
        latest = DictKeyMap(0, size_bytes_max=1 << 30)
        for each in batches:
            assert latest.add(*each) is not None
        latest.survivors(0, 1)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 0.6 * latest.size_bytes < held <= latest.size_bytes
