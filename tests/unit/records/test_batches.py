"""Walking over concatenated batches without opening them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from barnabas.records.batch_header import HEADER_BYTES, assign_offset, read_header
from barnabas.records.batches import CorruptBatch, check_crc, check_shape, walk
from tests.unit.records.made import plain_batch, repeatable, with_header


def three_batches() -> tuple[bytes, list[int]]:
    data, starts, offset = bytearray(), [], 0
    for count in (1, 3, 2):
        batch = plain_batch(count)
        assign_offset(batch, offset, 7)
        starts.append(len(data))
        data += batch
        offset += count
    return bytes(data), starts


def test_a_walk_finds_every_batch_and_its_header() -> None:
    data, starts = three_batches()
    assert [(position, header.base_offset, header.last_offset) for position, header in walk(data)] == [
        (starts[0], 0, 0),
        (starts[1], 1, 3),
        (starts[2], 4, 5),
    ]
    assert [position for position, _ in walk(memoryview(data), starts[1])] == starts[1:]


@repeatable
@given(st.integers(0, 700))
def test_a_walk_stops_before_a_batch_that_is_cut_off(kept: int) -> None:
    data, starts = three_batches()
    kept = min(kept, len(data))
    ends = [*starts[1:], len(data)]
    assert [position for position, _ in walk(data[:kept])] == [start for start, end in zip(starts, ends, strict=True) if end <= kept]


def test_an_empty_buffer_has_no_batches() -> None:
    assert list(walk(b"")) == []
    assert list(walk(bytes(HEADER_BYTES - 1))) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"batch_length": 48}, "length 48"),
        ({"batch_length": -1}, "length -1"),
        ({"magic": 0}, "magic 0"),
        ({"magic": 1}, "magic 1"),
        ({"magic": 3}, "magic 3"),
        ({"last_offset_delta": -1}, "not a range"),
        ({"base_offset": -5}, "not a range"),
    ],
)
def test_an_invalid_header_ends_the_walk_with_its_position(changes: dict[str, int], said: str) -> None:
    good, bad = plain_batch(), with_header(plain_batch(), **changes)
    found: list[int] = []
    with pytest.raises(CorruptBatch, match=f"position {len(good)} .*{said}"):
        found.extend(position for position, _ in walk(bytes(good + bad)))
    assert found == [0]
    with pytest.raises(CorruptBatch, match=said):
        check_shape(read_header(bad), 0)


def test_zeros_are_not_a_batch() -> None:
    with pytest.raises(CorruptBatch, match="length 0"):
        list(walk(bytes(100)))


@repeatable
@given(st.data())
def test_any_flipped_bit_under_the_checksum_is_detected(data: st.DataObject) -> None:
    batch = plain_batch()
    check_crc(batch, read_header(batch))
    position = data.draw(st.integers(17, len(batch) - 1))
    batch[position] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(CorruptBatch, match="crc"):
        check_crc(batch, read_header(batch))
