"""Pieces of remote logs that are read ahead into memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Lock

import pytest

from barnabas.tiered.metadata.segment_metadata import RemoteSegmentMetadata
from barnabas.tiered.reading.read_ahead import PIECES_AHEAD, ReadAhead
from barnabas.tiered.store.object_names import ObjectKind
from barnabas.tiered.store.store import RemoteDataDamaged, StoreUnavailable
from tests.unit.tiered.made import segment
from tests.unit.tiered.worlds import NAMES

PIECE = 100


class MemoryStore:
    """The methods that a reader needs; counts the requests, and blocks while ``open`` is clear."""

    def __init__(self, *segments: RemoteSegmentMetadata) -> None:
        self.content = {NAMES.name(each, ObjectKind.LOG): bytes([n + 1]) * each.size_bytes for n, each in enumerate(segments)}
        self.lock = Lock()
        self.asked: list[tuple[int, int]] = []
        self.open = Event()
        self.open.set()
        self.down = False

    def get_range(self, name: str, start: int, size_bytes: int) -> bytes:
        with self.lock:
            self.asked.append((self.content[name][0], start // PIECE))
        assert self.open.wait(10)
        if self.down:
            raise StoreUnavailable("down")
        return self.content[name][start : start + size_bytes]


def world(*segments: RemoteSegmentMetadata, bytes_max: int = 10_000, threads: int = 2) -> tuple[MemoryStore, ReadAhead]:
    store = MemoryStore(*segments)
    return store, ReadAhead(store, NAMES, piece_bytes=PIECE, bytes_max=bytes_max, threads=threads)  # type: ignore[arg-type]


def settle(ahead: ReadAhead) -> None:
    """Wait until all pieces that were requested ahead have arrived."""
    ahead._executor.shutdown(wait=True)


def test_a_read_of_the_first_piece_fetches_the_next_ones() -> None:
    one = segment(1, 0, 9, size=1000)
    store, ahead = world(one)
    assert ahead.piece(one, 0) == b"\1" * PIECE
    settle(ahead)
    assert sorted(store.asked) == [(1, number) for number in range(1 + PIECES_AHEAD)]


def test_a_read_in_the_middle_fetches_one_piece() -> None:
    one = segment(1, 0, 9, size=1000)
    store, ahead = world(one)
    ahead.piece(one, 5)
    settle(ahead)
    assert store.asked == [(1, 5)]


def test_the_next_segment_is_fetched_before_this_one_ends() -> None:
    one, two = segment(1, 0, 9, size=250), segment(2, 10, 19, size=250)
    store, ahead = world(one, two)
    ahead.piece(one, 1, two)
    ahead.piece(one, 2, two)
    settle(ahead)
    assert sorted(store.asked) == [(1, 1), (1, 2), (2, 0)]


def test_many_readers_of_one_piece_make_one_request() -> None:
    one = segment(1, 0, 9, size=PIECE)
    store, ahead = world(one)
    store.open.clear()
    barrier = Barrier(8)

    def ask() -> bytes:
        barrier.wait(10)
        return ahead.piece(one, 0)

    with ThreadPoolExecutor(8) as executor:
        asked = [executor.submit(ask) for _ in range(8)]
        store.open.set()
        assert {each.result(10) for each in asked} == {b"\1" * PIECE}
    assert store.asked == [(1, 0)]


def test_memory_is_bounded() -> None:
    one = segment(1, 0, 9, size=100_000)
    _, ahead = world(one, bytes_max=1000)
    for number in range(0, 1000, 7):
        ahead.piece(one, number)
        assert ahead.size_bytes <= 1000


def test_nothing_is_fetched_ahead_with_too_many_readers() -> None:
    many = [segment(number, 0, 9, size=1000) for number in range(1, 21)]
    store, ahead = world(*many, bytes_max=600)
    for _ in range(3):
        for each in many:
            ahead.piece(each, 0)
    settle(ahead)
    in_vain = [each for each in store.asked if each[1] > 0]
    assert len(in_vain) <= 4


def test_a_failure_is_forgotten() -> None:
    one = segment(1, 0, 9, size=1000)
    store, ahead = world(one)
    store.down = True
    with pytest.raises(StoreUnavailable):
        ahead.piece(one, 5)
    assert ahead.size_bytes == 0
    store.down = False
    assert ahead.piece(one, 5) == b"\1" * PIECE


def test_an_object_that_is_too_short_raises() -> None:
    one = segment(1, 0, 9, size=1000)
    store, ahead = world(one)
    store.content = {name: content[:550] for name, content in store.content.items()}
    with pytest.raises(RemoteDataDamaged):
        ahead.piece(one, 5)


def test_a_reader_fetches_a_piece_that_still_waits_in_the_queue() -> None:
    one = segment(1, 0, 9, size=1000)
    store, ahead = world(one, threads=1)
    store.open.clear()
    with ThreadPoolExecutor(1) as executor:
        first = executor.submit(ahead.piece, one, 0)
        store.open.set()
        first.result(10)
    ahead.close()
    # The threads are gone, and the reader itself fetches the pieces that they did not begin.
    assert ahead.piece(one, 1) == ahead.piece(one, 2) == b"\1" * PIECE
    assert sorted(store.asked) == [(1, 0), (1, 1), (1, 2)]
