"""The scanner finds the same keys and records as the full reader."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings, strategies as st

from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import BatchHeader, read_header
from barnabas.records.compression import Codec
from barnabas.records.record import MalformedRecord, Record, read_records
from barnabas.records.record_scan import body_of, cut_records, rebase_record, record_bounds, scan_records
from barnabas.wire.varint import read_uvarint
from tests.unit.both_scanners import BOTH_SCANNERS
from tests.unit.records.made import repeatable

pytestmark = BOTH_SCANNERS

# Some are long enough for lengths of two and three bytes.
KEY = st.one_of(st.none(), st.binary(max_size=4), st.integers(120, 140).map(bytes))
VALUE = st.one_of(st.none(), st.binary(max_size=4), st.integers(50, 70).map(bytes), st.integers(8150, 8200).map(bytes))
HEADERS = st.lists(st.tuples(st.text(max_size=3), st.one_of(st.none(), st.binary(max_size=3))), max_size=2).map(tuple)
ROW = st.tuples(st.integers(1, 20_000), st.integers(0, 2**45), KEY, VALUE, HEADERS)


@st.composite
def batches(draw: st.DrawFn) -> tuple[BatchHeader, bytes, list[Record]]:
    """Batches of records with any gaps between their offsets, as compaction leaves them."""
    offset, records = 70, []
    for step, timestamp, key, value, headers in draw(st.lists(ROW, min_size=1, max_size=8)):
        records.append(Record(offset, timestamp, key, value, headers))
        offset += step
    batch = bytes(build_batch(records, base_offset=70, codec=draw(st.sampled_from(Codec))))
    header = read_header(batch)
    return header, bytes(body_of(batch, header)), records


@settings(repeatable, max_examples=50)
@given(batches())
def test_the_scan_finds_keys_offsets_and_records_without_a_value(made: tuple[BatchHeader, bytes, list[Record]]) -> None:
    header, body, records = made
    keys, deltas, tombstones, keyless = scan_records(header, body)
    assert keys == [record.key or b"" for record in records]
    assert [header.base_offset + delta for delta in deltas] == [record.offset for record in records]
    assert tombstones == [index for index, record in enumerate(records) if record.value is None]
    assert keyless == [index for index, record in enumerate(records) if record.key is None]


@settings(repeatable, max_examples=50)
@given(batches(), st.data())
def test_any_records_can_be_cut_out_whole(made: tuple[BatchHeader, bytes, list[Record]], data: st.DataObject) -> None:
    header, body, records = made
    kept = sorted(data.draw(st.sets(st.integers(0, len(records) - 1), min_size=1)))
    pieces, largest = cut_records(body, header.record_count, kept, header.max_timestamp - header.base_timestamp)
    assert list(read_records(header._replace(record_count=len(kept)), pieces)) == [records[index] for index in kept]
    assert largest is not None
    assert header.base_timestamp + largest == max(records[index].timestamp for index in kept)


@settings(repeatable, max_examples=50)
@given(batches(), st.integers(-(2**45), 2**45))
def test_a_rebased_record_keeps_its_timestamp(made: tuple[BatchHeader, bytes, list[Record]], base_timestamp: int) -> None:
    header, body, records = made
    bounds = record_bounds(body, header.record_count)
    out = bytearray()
    for start, stop in pairwise(bounds):
        rebase_record(out, body[start:stop], header.base_timestamp - base_timestamp)
    assert list(read_records(header._replace(base_timestamp=base_timestamp), out)) == records


@settings(repeatable, max_examples=50)
@given(batches(), st.data())
def test_unreadable_bytes_raise_only_malformed_record(made: tuple[BatchHeader, bytes, list[Record]], data: st.DataObject) -> None:
    header, body, _ = made
    position = data.draw(st.integers(0, len(body) - 1))
    damaged = bytearray(body)
    damaged[position] ^= data.draw(st.integers(1, 255))
    if data.draw(st.booleans()):
        del damaged[position:]
    try:
        scanned = scan_records(header, bytes(damaged))
        bounds = record_bounds(bytes(damaged), header.record_count)
    except MalformedRecord:
        return
    # The scan does not look behind the key, so it may accept records that the reader refuses; but
    # the bounds of each record hold.
    assert len(scanned.keys) == len(scanned.deltas) == header.record_count
    assert bounds[-1] == len(damaged)
    for start, stop in pairwise(bounds):
        length, behind = read_uvarint(bytes(damaged), start)
        assert behind + length // 2 == stop


@pytest.mark.parametrize(
    ("count", "body"),
    [
        (-1, b""),
        (1, b""),
        (1, bytes([12, 0, 0, 0, 1, 2])),
        (2, bytes([12, 0, 0, 0, 1, 1, 0])),
        (1, bytes([12, 0, 0, 0, 3, 1, 0])),  # a key of length -2
        (1, bytes([13, 0, 0, 0, 1, 1, 0])),  # a length below zero
        (1, bytes([12, 0, 0, 1, 1, 1, 0])),  # an offset below the batch's
        (1, bytes([12, 0, 0, 2, 1, 1, 0])),  # and one above
        (1, bytes([12, 0, 0, 0, 8, 1, 0])),  # a key that is longer than its record
    ],
)
def test_a_malformed_body_is_refused(count: int, body: bytes) -> None:
    header = read_header(build_batch([Record(0, 0, b"", b"")]))._replace(record_count=count)
    with pytest.raises(MalformedRecord):
        scan_records(header, body)


def test_a_missing_value_may_be_written_in_more_bytes_than_it_needs() -> None:
    header = read_header(build_batch([Record(0, 0, b"", b"")]))
    assert scan_records(header, bytes([14, 0, 0, 0, 1, 0x81, 0, 0])).tombstones == [0]
