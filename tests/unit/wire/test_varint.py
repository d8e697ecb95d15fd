"""Varints read back as they were written, in as few bytes as Kafka uses, and never beyond the bytes
a number can have.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings, strategies as st

from barnabas.model.buffers import Buffer
from barnabas.wire.varint import (
    MalformedVarint,
    read_uvarint,
    read_varint,
    read_varlong,
    uvarint_size,
    write_uvarint,
    write_varint,
)
from tests.unit.both_scanners import BOTH_SCANNERS

pytestmark = BOTH_SCANNERS

_repeatable = settings(derandomize=True, database=None, deadline=None)
Reader = Callable[[Buffer, int], tuple[int, int]]


def unsigned(value: int) -> bytes:
    out = bytearray()
    write_uvarint(out, value)
    return bytes(out)


def zig_zag(value: int) -> bytes:
    out = bytearray()
    write_varint(out, value)
    return bytes(out)


@pytest.mark.parametrize(
    ("value", "written"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (300, "ac02"), (16383, "ff7f"), (16384, "808001"), (2**32 - 1, "ffffffff0f")],
)
def test_unsigned_varints_have_kafkas_bytes(value: int, written: str) -> None:
    assert unsigned(value).hex() == written
    assert read_uvarint(bytes.fromhex(written), 0) == (value, len(written) // 2)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0, "00"),
        (-1, "01"),
        (1, "02"),
        (63, "7e"),
        (-64, "7f"),
        (64, "8001"),
        (-65, "8101"),
        (2**31 - 1, "feffffff0f"),
        (-(2**31), "ffffffff0f"),
    ],
)
def test_zig_zag_varints_have_kafkas_bytes_in_both_widths(value: int, written: str) -> None:
    assert zig_zag(value).hex() == written
    assert read_varint(bytes.fromhex(written), 0) == (value, len(written) // 2)
    assert read_varlong(bytes.fromhex(written), 0) == (value, len(written) // 2)


@_repeatable
@given(st.integers(0, 2**32 - 1), st.binary(max_size=3), st.sampled_from([bytes, bytearray, memoryview]))
def test_unsigned_varints_read_back_from_any_buffer_and_place(value: int, before: bytes, kind: Callable[[bytes], Buffer]) -> None:
    written = unsigned(value)
    assert read_uvarint(kind(before + written + b"\xff"), len(before)) == (value, len(before) + len(written))
    assert uvarint_size(value) == len(written)


@_repeatable
@given(st.integers(-(2**31), 2**31 - 1))
def test_varints_read_back(value: int) -> None:
    assert read_varint(zig_zag(value), 0) == (value, len(zig_zag(value)))


@_repeatable
@given(st.integers(-(2**63), 2**63 - 1))
def test_varlongs_read_back(value: int) -> None:
    assert read_varlong(zig_zag(value), 0) == (value, len(zig_zag(value)))
    assert len(zig_zag(value)) <= 10


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63)])
def test_the_longest_varlongs_take_ten_bytes(value: int) -> None:
    assert len(zig_zag(value)) == 10
    assert read_varlong(zig_zag(value), 0) == (value, 10)


@pytest.mark.parametrize(("reader", "bytes_max"), [(read_uvarint, 5), (read_varint, 5), (read_varlong, 10)])
def test_an_overlong_varint_is_refused(reader: Reader, bytes_max: int) -> None:
    with pytest.raises(MalformedVarint, match=f"longer than {bytes_max} bytes"):
        reader(b"\x80" * bytes_max + b"\x00", 0)


@pytest.mark.parametrize("reader", [read_uvarint, read_varint, read_varlong])
@pytest.mark.parametrize("written", [b"", b"\x80", b"\xff\xff\xff\xff"])
def test_a_varint_that_the_buffer_cuts_short_is_refused(reader: Reader, written: bytes) -> None:
    with pytest.raises(IndexError):
        reader(written, 0)


def test_an_unsigned_varint_of_more_than_32_bits_is_refused() -> None:
    with pytest.raises(MalformedVarint, match="more than 32 bits"):
        read_uvarint(b"\xff\xff\xff\xff\x10", 0)


def test_a_varint_padded_with_zeros_reads_as_the_same_number() -> None:
    assert read_uvarint(b"\x81\x80\x00", 0) == (1, 3)
