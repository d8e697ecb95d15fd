"""Compiled encoders and decoders: values that a version cannot carry are refused or dropped, and
hostile lengths cost nothing.
"""

from __future__ import annotations

import linecache
import struct as structs
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from barnabas.wire.compiler import DECODE_ERRORS, FieldNotInVersion, StringTooLong, decode, decoder, encode
from barnabas.wire.declare import data, field, struct
from barnabas.wire.messages.offset_fetch import OffsetFetchRequest
from barnabas.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.wire.tagged_fields import MalformedMessage
from barnabas.wire.types import Bool, Bytes, Float64, Int8, Int32, Int64, Records, String, Uuid
from barnabas.wire.varint import write_uvarint
from tests.unit.wire.declared import Versioned, bare, every_version, full, hollow

OLD, FLEXIBLE = 0, 1
_ALLOCATED_BYTES_MAX = 1_000_000


@struct
class Pair:
    left: String = field()
    right: Int32 = field()


# One message per type, so that the length under attack comes first in the buffer.
@data(versions="0-1", flexible="1+")
class Strings:
    value: list[String] = field()


@data(versions="0-1", flexible="1+")
class Ints:
    value: list[Int32] = field()


@data(versions="0-1", flexible="1+")
class Bools:
    value: list[Bool] = field()


@data(versions="0-1", flexible="1+")
class Uuids:
    value: list[Uuid] = field()


@data(versions="0-1", flexible="1+")
class Blobs:
    value: list[Bytes] = field()


@data(versions="0-1", flexible="1+")
class Pairs:
    value: list[Pair] = field()


@data(versions="0-1", flexible="1+")
class OneString:
    value: String = field()


@data(versions="0-1", flexible="1+")
class OneBytes:
    value: Bytes = field()


@data(versions="0-1", flexible="1+")
class OneRecords:
    value: Records = field()


@data(versions="0-1", flexible="1+")
class Nullables:
    text: String | None = field(nullable="0+")
    blob: Bytes | None = field(nullable="0+")
    items: list[Int32] | None = field(nullable="0+")
    pair: Pair | None = field(nullable="0+")


@data(versions="0-2", flexible="none")
class Grown:
    always: Int32 = field()
    later: Int64 = field("1+", default=-1)
    dropped: String = field("1+", default="", ignorable=True)
    items: list[Int32] = field("2+", default_factory=list)
    removed: Int8 = field("0-1", default=0)


ARRAYS: list[type[Any]] = [Strings, Ints, Bools, Uuids, Blobs, Pairs]
SINGLES: list[type[Any]] = [OneString, OneBytes, OneRecords]


def uvarint(value: int) -> bytes:
    out = bytearray()
    write_uvarint(out, value)
    return bytes(out)


def peak_of(work: Callable[[], object]) -> int:
    """The most memory that ``work`` held at once."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def refuse(cls: type[Any], version: int, written: bytes) -> None:
    with pytest.raises(MalformedMessage, match=f"{cls.__name__} v{version}"):
        decode(cls, version, written)


def assert_refused_cheaply(cls: type[Any], version: int, written: bytes) -> None:
    decoder(cls, version)  # so that the measurement excludes compiling
    assert peak_of(lambda: refuse(cls, version, written)) < _ALLOCATED_BYTES_MAX


@pytest.mark.parametrize("cls", ARRAYS)
@pytest.mark.parametrize("length", [2**31 - 1, 2**24, 1001])
@pytest.mark.parametrize("version", [OLD, FLEXIBLE])
def test_an_array_longer_than_its_bytes_is_refused_before_it_is_made(cls: type[Any], length: int, version: int) -> None:
    written = length.to_bytes(4, "big") if version == OLD else uvarint(length + 1)
    assert_refused_cheaply(cls, version, written + bytes(1000))


@pytest.mark.parametrize("cls", SINGLES)
@pytest.mark.parametrize("length", [32767, 1001])
@pytest.mark.parametrize("version", [OLD, FLEXIBLE])
def test_a_value_longer_than_its_bytes_is_refused(cls: type[Any], length: int, version: int) -> None:
    old = length.to_bytes(2 if cls is OneString else 4, "big")
    assert_refused_cheaply(cls, version, (old if version == OLD else uvarint(length + 1)) + bytes(1000))


@pytest.mark.parametrize("cls", [OneBytes, OneRecords])
def test_bytes_of_two_gigabytes_are_refused(cls: type[Any]) -> None:
    assert_refused_cheaply(cls, OLD, b"\x7f\xff\xff\xff" + bytes(1000))
    assert_refused_cheaply(cls, FLEXIBLE, uvarint(2**32 - 1) + bytes(1000))


@pytest.mark.parametrize("cls", ARRAYS + SINGLES)
@pytest.mark.parametrize("length", [-1, -2, -(2**15)])
def test_a_negative_length_is_refused_where_null_is_refused(cls: type[Any], length: int) -> None:
    width = 2 if cls is OneString else 4
    assert_refused_cheaply(cls, OLD, length.to_bytes(width, "big", signed=True) + bytes(1000))


@pytest.mark.parametrize("cls", ARRAYS + SINGLES)
def test_a_compact_null_is_refused_where_null_is_refused(cls: type[Any]) -> None:
    assert_refused_cheaply(cls, FLEXIBLE, bytes(1000))


@pytest.mark.parametrize("cls", ARRAYS + SINGLES)
def test_a_compact_length_of_more_than_five_bytes_is_refused(cls: type[Any]) -> None:
    assert_refused_cheaply(cls, FLEXIBLE, b"\x81\x80\x80\x80\x80\x00" + bytes(1000))
    assert_refused_cheaply(cls, FLEXIBLE, b"\xff\xff\xff\xff\x7f" + bytes(1000))


@pytest.mark.parametrize("cls", ARRAYS + SINGLES)
@pytest.mark.parametrize("version", [OLD, FLEXIBLE])
def test_a_message_cut_short_anywhere_is_refused(cls: type[Any], version: int) -> None:
    written = encode(full(cls, version), version)
    for size in range(len(written)):
        refuse(cls, version, written[:size])


def test_a_compact_string_beyond_kafkas_bound_is_refused_even_when_complete() -> None:
    assert decode(OneString, FLEXIBLE, uvarint(32768) + b"a" * 32767 + b"\x00")[0].value == "a" * 32767
    refuse(OneString, FLEXIBLE, uvarint(32769) + b"a" * 32768 + b"\x00")


def test_a_string_beyond_kafkas_bound_is_not_sent() -> None:
    assert decode(OneString, FLEXIBLE, encode(OneString(value="a" * 32767), FLEXIBLE))[0].value == "a" * 32767
    with pytest.raises(StringTooLong, match="has 32768 bytes where 32767 are allowed"):
        encode(OneString(value="a" * 32768), FLEXIBLE)
    with pytest.raises(structs.error):
        encode(OneString(value="a" * 32768), OLD)


def test_text_that_is_not_utf_8_is_refused() -> None:
    refuse(OneString, OLD, b"\x00\x02\xc3\x28")


def test_an_array_of_smallest_elements_is_accepted_and_of_smaller_ones_refused() -> None:
    # A pair is two bytes of length and four of number, or one, four and one for its tags.
    assert len(decode(Pairs, OLD, (3).to_bytes(4, "big") + bytes(18))[0].value) == 3
    assert len(decode(Pairs, FLEXIBLE, uvarint(4) + b"\x01\x00\x00\x00\x00\x00" * 3 + b"\x00")[0].value) == 3
    refuse(Pairs, OLD, (3).to_bytes(4, "big") + bytes(17))


@pytest.mark.parametrize("length", [-1, -2, -(2**15)])
def test_any_negative_length_is_null_where_null_is_allowed(length: int) -> None:
    # Kafka reads any negative length as null, though it writes only -1.
    short, long = length.to_bytes(2, "big", signed=True), length.to_bytes(4, "big", signed=True)
    written = short + long + long + b"\xff"
    assert decode(Nullables, OLD, written) == (Nullables(text=None, blob=None, items=None, pair=None), len(written))


@pytest.mark.parametrize("version", [OLD, FLEXIBLE])
def test_null_and_empty_stay_different(version: int) -> None:
    null = Nullables(text=None, blob=None, items=None, pair=None)
    empty = Nullables(text="", blob=b"", items=[], pair=Pair(left="", right=0))
    for each in (null, empty):
        assert decode(Nullables, version, encode(each, version))[0] == each


@pytest.mark.parametrize("versioned", every_version(), ids=str)
def test_every_message_reads_back_in_every_version_at_any_position(versioned: Versioned) -> None:
    cls, version = versioned
    for build in (bare, full, hollow):
        message = build(cls, version)
        written = encode(message, version)
        assert decode(cls, version, written) == (message, len(written))
        shifted = memoryview(b"..." + written + b"...")
        assert decode(cls, version, shifted, 3) == (message, 3 + len(written))


def test_a_value_that_a_version_cannot_carry_is_refused() -> None:
    with pytest.raises(FieldNotInVersion, match=r"Grown\.later cannot be sent in version 0"):
        encode(Grown(always=1, later=5), 0)
    with pytest.raises(FieldNotInVersion, match=r"Grown\.items cannot be sent in version 1"):
        encode(Grown(always=1, items=[1]), 1)
    with pytest.raises(FieldNotInVersion, match=r"Grown\.removed cannot be sent in version 2"):
        encode(Grown(always=1, removed=1), 2)


def test_a_null_that_a_version_cannot_carry_is_refused() -> None:
    with pytest.raises(FieldNotInVersion, match=r"OffsetFetchRequest\.topics"):
        encode(OffsetFetchRequest(topics=None, groups=[]), 8)


def test_a_default_or_an_ignorable_value_is_dropped_and_read_as_the_default() -> None:
    written = encode(Grown(always=1, later=-1, dropped="gone"), 0)
    assert decode(Grown, 0, written)[0] == Grown(always=1)


def test_a_version_that_does_not_exist_is_refused() -> None:
    with pytest.raises(FieldNotInVersion, match="Grown has versions 0-2, not 3"):
        encode(Grown(always=1), 3)
    refuse(Grown, 3, bytes(100))


def test_records_are_a_view_of_the_frame_and_bytes_are_not() -> None:
    request = ProduceRequest(
        acks=1,
        timeout_ms=1,
        topic_data=[TopicProduceData(name="t", partition_data=[PartitionProduceData(index=0, records=b"batch")])],
    )
    frame = bytearray(encode(request, 9))
    read, _ = decode(ProduceRequest, 9, memoryview(frame))
    records = read.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    records[:] = b"PATCH"
    assert b"PATCH" in frame
    blob, _ = decode(OneBytes, OLD, memoryview(bytearray(b"\x00\x00\x00\x01x")))
    assert type(blob.value) is bytes


def test_any_byte_but_zero_is_true() -> None:
    assert decode(Bools, OLD, b"\x00\x00\x00\x03\x00\x01\x02")[0].value == [False, True, True]


def test_a_debugger_can_see_generated_source() -> None:
    decoder(Grown, 0)
    lines = linecache.getlines("<wire decode Grown v0>")
    assert lines[0] == "def decode(buf, pos):\n"


def test_decoders_raise_only_decode_errors() -> None:
    @data(versions="0", flexible="none")
    class Numbers:
        whole: Int64 = field()
        real: Float64 = field()

    for size in range(16):
        with pytest.raises(DECODE_ERRORS):
            decoder(Numbers, 0)(bytes(size), 0)
