"""The header of a batch: read, patched in place, sealed."""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c
from hypothesis import given, strategies as st

from barnabas.records.batch_header import (
    CHECKSUMMED_POSITION,
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    NO_SEQUENCE,
    BatchHeader,
    TimestampType,
    advance_sequence,
    assign_offset,
    checksum,
    read_header,
    read_offset_and_length,
    restamp,
    seal,
    write_header,
)
from barnabas.records.batches import check_crc
from barnabas.records.record import open_batch
from tests.unit.records.made import NOW_MS, plain_batch, repeatable, with_header


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


any_header = st.builds(
    BatchHeader,
    base_offset=integers(64),
    batch_length=integers(32),
    leader_epoch=integers(32),
    magic=integers(8),
    crc=st.integers(0, 2**32 - 1),
    attributes=integers(16),
    last_offset_delta=integers(32),
    base_timestamp=integers(64),
    max_timestamp=integers(64),
    producer_id=integers(64),
    producer_epoch=integers(16),
    base_sequence=integers(32),
    record_count=integers(32),
)


@repeatable
@given(any_header, st.integers(0, 9))
def test_a_header_is_read_as_it_was_written_at_any_position(header: BatchHeader, position: int) -> None:
    buffer = bytearray(position + HEADER_BYTES)
    write_header(buffer, header, position)
    assert read_header(buffer, position) == header
    assert read_offset_and_length(buffer, position) == (header.base_offset, header.batch_length)


def test_the_fields_are_at_kafkas_positions() -> None:
    header = BatchHeader(1, 2, 3, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13)
    buffer = bytearray(HEADER_BYTES)
    write_header(buffer, header)
    at = {"base_offset": (0, ">q"), "batch_length": (8, ">i"), "leader_epoch": (12, ">i"), "magic": (16, ">b"), "crc": (17, ">I")}
    at |= {"attributes": (21, ">h"), "last_offset_delta": (23, ">i"), "base_timestamp": (27, ">q"), "max_timestamp": (35, ">q")}
    at |= {"producer_id": (43, ">q"), "producer_epoch": (51, ">h"), "base_sequence": (53, ">i"), "record_count": (57, ">i")}
    assert HEADER_BYTES == 61
    for name, (position, layout) in at.items():
        assert struct.unpack_from(layout, buffer, position)[0] == getattr(header, name), name


def test_a_header_that_is_cut_off_is_not_read() -> None:
    with pytest.raises(struct.error):
        read_header(bytes(HEADER_BYTES - 1))


def test_assigning_an_offset_changes_no_byte_under_the_checksum() -> None:
    batch = plain_batch()
    before = bytes(batch)
    assign_offset(memoryview(batch), 1234, 56)
    header = read_header(batch)
    assert (header.base_offset, header.leader_epoch) == (1234, 56)
    assert batch[16:] == before[16:]
    assert batch[8:12] == before[8:12]
    check_crc(batch, header)
    assert [record.offset for record in open_batch(batch)] == [1234, 1235, 1236]


def test_restamping_sets_the_time_of_all_records_and_seals_again() -> None:
    batch = plain_batch()
    restamp(memoryview(batch), LOG_APPEND_TIME_BIT, NOW_MS + 5)
    header = read_header(batch)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    check_crc(batch, header)
    assert {record.timestamp for record in open_batch(batch)} == {NOW_MS + 5}


@repeatable
@given(st.binary(min_size=HEADER_BYTES, max_size=200))
def test_the_checksum_is_crc_32c_of_the_bytes_behind_it(data: bytes) -> None:
    batch = bytearray(data)
    seal(batch)
    assert read_header(batch).crc == checksum(bytes(batch)) == checksum(memoryview(batch)) == crc32c(data[CHECKSUMMED_POSITION:])


def test_the_checksum_of_a_known_text_is_the_published_one() -> None:
    assert checksum(bytes(CHECKSUMMED_POSITION) + b"123456789") == 0xE3069283


def test_the_attributes_hold_codec_timestamp_type_transaction_and_control() -> None:
    header = read_header(plain_batch())
    for attributes, codec, kind, transactional, control in [
        (0x00, 0, TimestampType.CREATE_TIME, False, False),
        (0x0C, 4, TimestampType.LOG_APPEND_TIME, False, False),
        (0x12, 2, TimestampType.CREATE_TIME, True, False),
        (0x30, 0, TimestampType.CREATE_TIME, True, True),
    ]:
        said = header._replace(attributes=attributes)
        assert (said.codec, said.timestamp_type, said.transactional, said.control) == (codec, kind, transactional, control)


def test_the_end_of_a_batch_comes_from_its_last_offset_delta_not_from_counting() -> None:
    # Compaction removes records and leaves the delta.
    compacted = read_header(with_header(plain_batch(3), base_offset=100, last_offset_delta=9, record_count=1))
    assert compacted.last_offset == 109


@pytest.mark.parametrize(
    ("base_sequence", "delta", "last_sequence"),
    [(0, 0, 0), (10, 4, 14), (2**31 - 1, 0, 2**31 - 1), (2**31 - 1, 1, 0), (2**31 - 2, 4, 2), (NO_SEQUENCE, 4, NO_SEQUENCE)],
)
def test_sequence_numbers_wrap_from_the_largest_to_zero(base_sequence: int, delta: int, last_sequence: int) -> None:
    header = read_header(plain_batch())._replace(base_sequence=base_sequence, last_offset_delta=delta)
    assert header.last_sequence == last_sequence
    if base_sequence != NO_SEQUENCE:
        assert advance_sequence(last_sequence, -delta) == base_sequence
