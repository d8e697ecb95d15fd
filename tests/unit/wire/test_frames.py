"""Frames come out of a stream as they went in, however the network cut it, and cost no more memory
than the bytes sent.
"""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import chain

import pytest
from hypothesis import given, settings, strategies as st

from barnabas.wire.compiler import encode, encoder
from barnabas.wire.frames import FIRST_ALLOCATION_BYTES, RECEIVE_BUFFER_BYTES, FrameReader, OutFrame, ReceiveBuffer
from barnabas.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from barnabas.wire.types import RecordsSource

_LIMIT = 100 * 1024 * 1024
# The size at which a frame leaves the shared buffer for its own, and the size at which its own
# starts to grow.
_BOUNDARIES = [
    1,
    RECEIVE_BUFFER_BYTES // 2 - 4,
    RECEIVE_BUFFER_BYTES // 2,
    RECEIVE_BUFFER_BYTES // 2 + 1,
    RECEIVE_BUFFER_BYTES - 4,
    RECEIVE_BUFFER_BYTES - 3,
    RECEIVE_BUFFER_BYTES,
    RECEIVE_BUFFER_BYTES + 1,
]
_GROWING = [FIRST_ALLOCATION_BYTES - 1, FIRST_ALLOCATION_BYTES, FIRST_ALLOCATION_BYTES + 1, 5 * FIRST_ALLOCATION_BYTES + 7]


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big", signed=True) + body for body in bodies)


def feed(reader: FrameReader, stream: bytes, chunk_sizes: Iterable[int]) -> Iterator[bytes]:
    """Deliver the stream as a socket would: no read is longer than a chunk, nor than the room the
    reader offers.
    """
    rest = memoryview(stream)
    sizes = iter(chunk_sizes)
    while rest:
        target = reader.target
        assert len(target) > 0
        size = min(next(sizes), len(target), len(rest))
        target[:size] = rest[:size]
        rest = rest[size:]
        yield from map(bytes, reader.received(size))


def always(size: int) -> Iterator[int]:
    while True:
        yield size


def body(size: int, seed: int = 0) -> bytes:
    return random.Random(seed).randbytes(size)


def test_frames_cut_at_any_byte_come_out_whole() -> None:
    bodies = [body(1, 1), body(10, 2), body(300, 3), body(2, 4)]
    stream = framed(*bodies)
    for cut in range(1, len(stream)):
        reader = FrameReader(ReceiveBuffer(), _LIMIT)
        chunks = chain([cut], always(len(stream)))
        assert list(feed(reader, stream, chunks)) == bodies
        assert not reader.mid_frame


def test_frames_arriving_byte_by_byte_come_out_whole() -> None:
    bodies = [body(40, 1), body(RECEIVE_BUFFER_BYTES // 2 + 50, 2), body(3, 3)]
    assert list(feed(FrameReader(ReceiveBuffer(), _LIMIT), framed(*bodies), always(1))) == bodies


def test_many_frames_in_one_read_come_out_in_order() -> None:
    bodies = [body(100, seed) for seed in range(500)]
    reader = FrameReader(ReceiveBuffer(), _LIMIT)
    stream = framed(*bodies)
    assert len(stream) < RECEIVE_BUFFER_BYTES
    reader.target[: len(stream)] = stream
    assert reader.received(len(stream)) == bodies


@pytest.mark.parametrize("size", _BOUNDARIES + _GROWING)
def test_frames_of_awkward_sizes_come_out_whole_between_small_ones(size: int) -> None:
    bodies = [b"before", body(size), b"after", body(size, 1), b"last"]
    assert list(feed(FrameReader(ReceiveBuffer(), _LIMIT), framed(*bodies), always(RECEIVE_BUFFER_BYTES - 1))) == bodies
    assert list(feed(FrameReader(ReceiveBuffer(), _LIMIT), framed(*bodies), always(_LIMIT))) == bodies


@settings(max_examples=60, derandomize=True, database=None, deadline=None)
@given(
    sizes=st.lists(st.sampled_from(_BOUNDARIES) | st.integers(1, 2000), max_size=8),
    chunk_sizes=st.lists(st.integers(1, 70_000) | st.integers(1, 8), min_size=1, max_size=20),
    whole=st.integers(1000, _LIMIT),
)
def test_frames_come_out_as_they_went_in_however_the_stream_was_cut(sizes: list[int], chunk_sizes: list[int], whole: int) -> None:
    bodies = [body(size, seed) for seed, size in enumerate(sizes)]

    def chunks() -> Iterator[int]:
        yield from chunk_sizes
        yield from always(whole)

    reader = FrameReader(ReceiveBuffer(), _LIMIT)
    assert list(feed(reader, framed(*bodies), chunks())) == bodies
    assert not reader.mid_frame


def test_a_frame_keeps_its_bytes_while_later_ones_arrive() -> None:
    reader = FrameReader(ReceiveBuffer(), _LIMIT)
    kept = []
    for letter in b"abcdef":
        stream = framed(bytes([letter]) * 1000)
        reader.target[: len(stream)] = stream
        kept += reader.received(len(stream))
    assert [bytes(each) for each in kept] == [bytes([letter]) * 1000 for letter in b"abcdef"]


@pytest.mark.parametrize("size", [10, RECEIVE_BUFFER_BYTES * 2])
def test_a_receiver_can_patch_its_frame(size: int) -> None:
    reader = FrameReader(ReceiveBuffer(), _LIMIT)
    stream = framed(bytes(size))
    frames: list[memoryview] = []
    while stream:
        target = reader.target
        count = min(len(target), len(stream))
        target[:count] = stream[:count]
        stream = stream[count:]
        frames += reader.received(count)
    (frame,) = frames
    assert not frame.readonly
    frame[0] = 7
    assert frame[0] == 7


def test_the_next_big_frame_of_a_peer_is_received_straight_into_its_whole_buffer() -> None:
    size = 1_000_000
    reader = FrameReader(ReceiveBuffer(), _LIMIT)
    assert list(feed(reader, framed(bytes(size)), always(_LIMIT))) == [bytes(size)]
    reader.target[:6] = framed(bytes(size))[:6]
    assert reader.received(6) == []
    assert len(reader.target) == size - 2


def test_a_buffer_doubles_only_as_bytes_arrive_and_ends_at_the_announced_length() -> None:
    size = 3 * FIRST_ALLOCATION_BYTES
    reader = FrameReader(ReceiveBuffer(), _LIMIT)
    reader.target[:4] = size.to_bytes(4, "big")
    reader.received(4)
    assert len(reader.target) == FIRST_ALLOCATION_BYTES
    reader.received(FIRST_ALLOCATION_BYTES)
    assert len(reader.target) == FIRST_ALLOCATION_BYTES
    reader.received(FIRST_ALLOCATION_BYTES)
    assert len(reader.target) == FIRST_ALLOCATION_BYTES
    (frame,) = reader.received(FIRST_ALLOCATION_BYTES)
    assert len(frame) == size


def test_a_peer_that_announces_100_megabytes_and_sends_nothing_costs_one_first_allocation() -> None:
    reader = FrameReader(ReceiveBuffer(), _LIMIT)
    reader.target[:4] = _LIMIT.to_bytes(4, "big")
    tracemalloc.start()
    try:
        reader.received(4)
        assert len(reader.target) > 0
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < FIRST_ALLOCATION_BYTES + 100_000


@pytest.mark.parametrize("length", [0, -1, -(2**31), 1001, 2**31 - 1])
def test_a_length_outside_the_limit_ends_the_stream(length: int) -> None:
    reader = FrameReader(ReceiveBuffer(), 1000)
    reader.target[:4] = length.to_bytes(4, "big", signed=True)
    assert reader.received(4) == []
    assert reader.fault == f"frame of {length} bytes where 1 to 1000 are allowed"


def test_good_frames_in_front_of_an_impossible_length_still_come_out() -> None:
    reader = FrameReader(ReceiveBuffer(), 1000)
    stream = framed(b"good", b"too") + (-5).to_bytes(4, "big", signed=True)
    reader.target[: len(stream)] = stream
    assert [bytes(frame) for frame in reader.received(len(stream))] == [b"good", b"too"]
    assert reader.fault is not None


def test_readers_of_one_buffer_do_not_disturb_each_other() -> None:
    buffer = ReceiveBuffer()
    readers = [FrameReader(buffer, _LIMIT) for _ in range(3)]
    streams = [framed(body(1000, seed), body(50, seed + 10)) for seed in range(3)]
    out: list[list[bytes]] = [[], [], []]
    for start in range(0, len(streams[0]), 7):
        for reader, stream, frames in zip(readers, streams, out, strict=True):
            frames += feed(reader, stream[start : start + 7], always(7))
    assert out == [[body(1000, seed), body(50, seed + 10)] for seed in range(3)]


@pytest.mark.parametrize("size", [1000, RECEIVE_BUFFER_BYTES * 3])
def test_a_frame_of_exactly_the_limit_is_accepted(size: int) -> None:
    assert list(feed(FrameReader(ReceiveBuffer(), size), framed(body(size)), always(10_000))) == [body(size)]


@pytest.mark.parametrize("size", [10, RECEIVE_BUFFER_BYTES * 2])
def test_a_reader_knows_that_it_is_inside_a_frame(size: int) -> None:
    reader = FrameReader(ReceiveBuffer(), _LIMIT)
    stream = framed(body(size))
    answers = [reader.mid_frame]
    for part in (stream[:2], stream[2:-1], stream[-1:]):
        list(feed(reader, part, always(_LIMIT)))
        answers.append(reader.mid_frame)
    assert answers == [False, True, True, False]


def test_a_reader_knows_how_much_of_a_frame_is_missing() -> None:
    reader = FrameReader(ReceiveBuffer(), _LIMIT)
    stream = framed(body(1000))
    answers = [reader.missing_bytes]
    for part in (stream[:2], stream[2:104], stream[104:-1], stream[-1:]):
        list(feed(reader, part, always(_LIMIT)))
        answers.append(reader.missing_bytes)
    assert answers == [0, 0, 900, 1, 0]


class Region(RecordsSource):
    """A region of records that stays in its file."""

    __slots__ = ("content",)

    def __init__(self, content: bytes) -> None:
        self.content = content

    def __len__(self) -> int:
        return len(self.content)


def fetch_response(*records: bytes | RecordsSource | None) -> FetchResponse:
    partitions = [
        PartitionData(partition_index=index, high_watermark=9, error_code=0, aborted_transactions=None, records=each)
        for index, each in enumerate(records)
    ]
    return FetchResponse(throttle_time_ms=0, responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


def sent(frame: OutFrame) -> bytes:
    """The bytes that the peer receives: buffered bytes and regions in turn."""
    pieces, position = [], 0
    for at, source in frame.cuts:
        assert isinstance(source, Region)
        pieces += [bytes(frame[position:at]), source.content]
        position = at
    return b"".join([*pieces, bytes(frame[position:])])


@pytest.mark.parametrize("version", [4, 12])
def test_regions_are_sent_in_the_places_cut_for_them(version: int) -> None:
    contents = [b"first", b"second" * 100, b"third"]
    frame = OutFrame(4)
    encoder(FetchResponse, version)(fetch_response(*map(Region, contents)), frame)
    frame.seal()
    assert len(frame.cuts) == len(contents)
    assert not any(bytes(frame).count(content) for content in contents)
    assert sent(frame) == framed(encode(fetch_response(*contents), version))


def test_an_empty_region_and_no_records_leave_no_cut() -> None:
    frame = OutFrame(4)
    encoder(FetchResponse, 12)(fetch_response(Region(b""), None, b"in memory"), frame)
    frame.seal()
    assert not frame.cuts
    assert bytes(frame) == framed(encode(fetch_response(b"", None, b"in memory"), 12))


def test_a_sealed_frame_without_cuts_announces_its_own_length() -> None:
    frame = OutFrame(4)
    frame += b"hello"
    frame.seal()
    assert bytes(frame) == framed(b"hello")
