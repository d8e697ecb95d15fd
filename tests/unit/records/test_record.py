"""Records survive building and opening a batch in every codec, and malformed ones are refused."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import (
    HEADER_BYTES,
    NO_SEQUENCE,
    TRANSACTIONAL_BIT,
    TimestampType,
    read_header,
)
from barnabas.records.batches import check_crc, check_shape
from barnabas.records.compression import Codec, DecompressionFailed
from barnabas.records.record import MalformedRecord, Record, open_batch, read_records
from tests.unit.both_scanners import BOTH_SCANNERS
from tests.unit.records.made import NOW_MS, plain_batch, plain_records, records, repeatable, with_body, with_header

pytestmark = BOTH_SCANNERS


@repeatable
@given(records(), st.sampled_from(Codec), st.integers(0, 2**40))
def test_a_batch_opens_to_the_records_it_was_built_from(made: list[Record], codec: Codec, base_offset: int) -> None:
    placed = [record._replace(offset=record.offset + base_offset) for record in made]
    batch = build_batch(placed, base_offset=base_offset, codec=codec, leader_epoch=3)
    assert list(open_batch(batch)) == list(open_batch(memoryview(bytes(batch)))) == placed
    header = read_header(batch)
    check_shape(header, 0)
    check_crc(batch, header)
    assert header.size_bytes == len(batch)
    assert (header.base_offset, header.last_offset, header.record_count) == (base_offset, base_offset + len(made) - 1, len(made))
    assert (header.base_timestamp, header.max_timestamp) == (made[0].timestamp, max(record.timestamp for record in made))
    assert (header.codec, header.leader_epoch) == (codec, 3)


def test_a_batch_without_a_producer_has_producer_id_minus_1() -> None:
    header = read_header(plain_batch())
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, NO_SEQUENCE)
    assert header.attributes == 0


def test_a_batch_carries_its_producer_and_transaction() -> None:
    header = read_header(build_batch(plain_records(2), producer_id=9, producer_epoch=2, base_sequence=40, transactional=True))
    assert (header.producer_id, header.producer_epoch, header.base_sequence, header.last_sequence) == (9, 2, 40, 41)
    assert header.attributes == TRANSACTIONAL_BIT


def test_with_append_time_every_record_has_the_time_of_the_batch() -> None:
    batch = build_batch(plain_records(3), timestamp_type=TimestampType.LOG_APPEND_TIME)
    assert [record.timestamp for record in open_batch(batch)] == [NOW_MS + 2] * 3


def test_a_compacted_batch_keeps_its_gaps() -> None:
    sparse = [Record(10, 5, b"a", b"1"), Record(17, 6, b"b", None)]
    batch = build_batch(sparse, base_offset=8)
    assert list(open_batch(batch)) == sparse
    assert read_header(batch).last_offset == 17


def test_an_empty_batch_is_a_valid_batch() -> None:
    # Compaction leaves such batches to preserve a producer's last sequence number.
    batch = build_batch([])
    assert list(open_batch(batch)) == []
    assert read_header(batch).record_count == 0


def test_a_header_name_that_is_not_utf_8_is_read_as_java_reads_it() -> None:
    batch = build_batch([Record(0, NOW_MS, None, None, (("xy", b""),))])
    broken = with_body(batch, bytes(batch[HEADER_BYTES:]).replace(b"xy", b"\xffy"))
    assert next(open_batch(broken)).headers == (("�y", b""),)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("", "cannot fit"),
        ("0a 00 00 00 01 01", "cannot fit"),
        ("0a 00 00 00 01 01 00", "record of 5 bytes"),
        ("0e 00 00 00 01 01 00", "record of 7 bytes"),
        ("01 00 00 00 01 01 00", "record of -1 bytes"),
        ("0c 00 00 00 01 01 00 00", "1 bytes remain after the last"),
        ("0e 00 00 00 01 01 00 00", "ends 1 bytes before its end"),
        ("0c 00 00 00 03 01 00", "key has length -2"),
        ("0c 00 00 00 10 01 00", "key of 8 bytes where 2 remain"),
        ("0c 00 00 00 01 03 00", "value has length -2"),
        ("0c 00 00 00 01 10 00", "value of 8 bytes where 1 remain"),
        ("0c 00 00 00 01 01 01", "-1 headers"),
        ("0c 00 00 00 01 01 02", "1 headers where 0 bytes remain"),
        ("10 00 00 00 01 01 02 01 01", "header key is null"),
        ("10 00 00 00 01 01 02 00 03", "header value has length -2"),
        ("0c 00 ff ff ff ff ff ff ff ff ff ff", "cut off: varlong"),
        ("0c 00 00 ff ff ff ff ff ff", "cut off: unsigned varint"),
        ("0e 00 80 80 80 80 80 80 80 80", "cut off: "),
    ],
)
def test_a_record_whose_parts_do_not_fit_is_malformed(body: str, said: str) -> None:
    batch = with_body(plain_batch(1), bytes.fromhex(body))
    with pytest.raises(MalformedRecord, match=said):
        list(open_batch(batch))


@pytest.mark.parametrize("count", [-1, 2, 4, 2**31 - 1])
def test_the_header_count_must_equal_the_number_of_records(count: int) -> None:
    with pytest.raises(MalformedRecord):
        list(open_batch(with_header(plain_batch(3), record_count=count)))


def test_an_impossible_record_count_reserves_no_memory() -> None:
    header = read_header(plain_batch(1))._replace(record_count=2**31 - 1)
    with pytest.raises(MalformedRecord, match="cannot fit"):
        next(read_records(header, bytes(1000)))


def test_a_compressed_batch_that_is_damaged_is_not_read() -> None:
    for codec in (Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD):
        batch = plain_batch(5, codec=codec)
        with pytest.raises((DecompressionFailed, MalformedRecord)):
            list(open_batch(with_body(batch, bytes(batch[HEADER_BYTES:-6]))))


def test_records_before_an_offset_are_passed_over_in_a_batch_without_gaps() -> None:
    whole = [Record(100 + each, 5, b"k%d" % each, None) for each in range(10)]
    batch = build_batch(whole, base_offset=100)
    header = read_header(batch)
    for start in (0, 100, 104, 109, 110, 500):
        assert list(read_records(header, batch[HEADER_BYTES:], start)) == [each for each in whole if each.offset >= start]
    gaps = [each for each in whole if each.offset != 103]
    compacted = build_batch(gaps, base_offset=100)
    assert list(read_records(read_header(compacted), compacted[HEADER_BYTES:], 105)) == gaps
