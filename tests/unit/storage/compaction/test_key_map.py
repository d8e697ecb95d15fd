"""The key map: latest offsets, within its memory."""

from __future__ import annotations

import tracemalloc

from barnabas.storage.compaction.key_map import DIGEST_BYTES, KEY_BYTES_MAX, KeyMap, map_key


def test_the_map_holds_the_latest_offset_of_each_key() -> None:
    latest = KeyMap(10, size_bytes_max=1 << 20)
    assert latest.add([b"a", b"b", b"a"], [10, 11, 12])
    assert latest.add([b"b"], [20])
    assert latest.survivors(10, 21) == [12, 20]
    assert latest.survivors(13, 20) == []
    assert latest.is_superseded(b"b", 19)
    assert not latest.is_superseded(b"b", 20)
    assert not latest.is_superseded(b"unknown", 0)


def test_the_map_distinguishes_tombstones() -> None:
    latest = KeyMap(0, size_bytes_max=1 << 20)
    assert latest.add([b"a", b"b"], [0, 1], [1])
    assert latest.add([b"b", b"c"], [2, 3])
    assert latest.survivors(0, 4) == [0, 2, 3], "an overwritten tombstone does not count"
    latest = KeyMap(0, size_bytes_max=1 << 20)
    assert latest.add([b"a", b"b", b"c"], [5, 6, 7], [1])
    assert latest.survivors(5, 6) == [5]
    assert latest.survivors(5, 7) is None


def test_a_batch_is_added_whole_or_not_at_all() -> None:
    latest = KeyMap(0, size_bytes_max=1000)
    assert latest.add([b"%d" % number for number in range(4)], range(4))
    assert not latest.add([b"x%d" % number for number in range(4)], range(4, 8))
    assert len(latest) == 4
    assert latest.size_bytes <= 1000


def test_a_batch_of_very_many_keys_is_added_whole_or_not_at_all() -> None:
    latest = KeyMap(0, size_bytes_max=400_000)
    assert latest.add([b"first"], [0])
    assert not latest.add([b"%d" % number for number in range(5000)], range(1, 5001))
    assert latest.add([b"%d" % number for number in range(1000)], range(1, 1001))
    assert latest.size_bytes <= 400_000


def test_known_keys_take_no_more_room() -> None:
    latest = KeyMap(0, size_bytes_max=1000)
    keys = [b"%d" % number for number in range(4)]
    for start in range(0, 400, 4):
        assert latest.add(keys, range(start, start + 4))
    assert latest.survivors(0, 400) == [396, 397, 398, 399]


def test_the_first_batch_is_added_however_little_room_there_is() -> None:
    latest = KeyMap(0, size_bytes_max=1)
    assert latest.add([b"%d" % number for number in range(100)], range(100))
    assert not latest.add([b"another"], [100])


def test_a_long_key_costs_no_more_than_a_digest() -> None:
    latest = KeyMap(0, size_bytes_max=1 << 20)
    long = b"k" * 100_000
    assert latest.add([long, long + b"2"], [0, 1])
    assert latest.size_bytes < 2000
    assert latest.latest[map_key(long)] == 0
    assert len(map_key(long)) == DIGEST_BYTES > KEY_BYTES_MAX, "no key that is stored as it is has the length of a digest"


def test_the_counted_size_of_the_map_is_its_real_size() -> None:
    for key_bytes in (8, 40, 200):
        keys = [b"%0*d" % (key_bytes, number) for number in range(8_000)]
        tracemalloc.start()
        latest = KeyMap(0, size_bytes_max=1 << 30)
        for start in range(0, len(keys), 100):
            # Copies, as a reader makes them.
            assert latest.add([bytes(bytearray(key)) for key in keys[start : start + 100]], range(1000 + start, 1100 + start))
        latest.survivors(0, 1)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert 0.6 * latest.size_bytes < held <= latest.size_bytes
