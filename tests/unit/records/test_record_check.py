"""The quick check gives the same verdict as the full reader, and also checks offset deltas."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings, strategies as st

from barnabas.model.buffers import Buffer
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import HEADER_BYTES, read_header
from barnabas.records.record import MalformedRecord, Record, read_records
from barnabas.records.record_check import RecordFault, check_records
from tests.unit.both_scanners import BOTH_SCANNERS
from tests.unit.records.made import NOW_MS, plain_batch, plain_records, records, repeatable

pytestmark = BOTH_SCANNERS

ALL = 2**31


def body_of(made: list[Record]) -> bytes:
    return bytes(build_batch(made)[HEADER_BYTES:])


def reads(body: bytes, count: int) -> bool:
    """The verdict of the full reader, which builds every record."""
    header = read_header(plain_batch())._replace(record_count=count, base_offset=0)
    try:
        return [record.offset for record in read_records(header, body)] == list(range(count))
    except MalformedRecord:
        return False


def checks(body: Buffer, count: int) -> bool:
    try:
        check_records(body, count, ALL)
    except RecordFault:
        return False
    return True


@repeatable
@given(records(min_size=0))
def test_records_that_we_build_pass(made: list[Record]) -> None:
    assert checks(body_of(made), len(made))


@st.composite
def mutated(draw: st.DrawFn) -> tuple[bytes, int]:
    """Records with some bytes changed, removed, repeated or inserted, and a count that may be
    off.
    """
    made = draw(records(min_size=1, max_size=3))
    body = bytearray(body_of(made))
    for _ in range(draw(st.integers(0, 3))):
        position = draw(st.integers(0, max(0, min(len(body) - 1, 40))))
        kind = draw(st.sampled_from(["set", "cut", "insert", "stretch", "swap"]))
        if kind == "set":
            body[position : position + 1] = bytes([draw(st.sampled_from([0, 1, 2, 3, 4, 0x7F, 0x80, 0x81, 0xFF]) | st.integers(0, 255))])
        elif kind == "cut":
            del body[position : position + draw(st.integers(1, 3))]
        elif kind == "insert":
            body[position:position] = draw(st.binary(min_size=1, max_size=3))
        elif kind == "stretch" and body:
            # The same number in one byte more than it needs.
            body[position : position + 1] = bytes([body[position] | 0x80, 0])
        else:
            body = body[position:] + body[:position]
    return bytes(body), max(0, len(made) + draw(st.sampled_from([0, 0, 0, 0, -1, 1, 2**31 - 2])))


@settings(repeatable, max_examples=600)
@given(mutated())
@example((bytes.fromhex("0e 00 00 00 81 00 01 00"), 1))  # a null key in two bytes
@example((bytes.fromhex("0e 00 00 00 01 81 00 00"), 1))  # a null value in two bytes
@example((bytes.fromhex("0e 00 00 00 01 01 80 00"), 1))  # no headers in two bytes
@example((bytes.fromhex("8c 00 00 00 00 01 01 00"), 1))  # the length in two bytes
# And in three, and the timestamp delta.
@example((bytes.fromhex("8e 80 00 00 80 00 00 01 01 00"), 1))
@example((bytes.fromhex("0e 00 00 80 00 01 01 00"), 1))  # the offset delta in two
@example((bytes.fromhex("0c 00 00 02 01 01 00"), 1))  # an offset delta of one where zero belongs
@example((bytes.fromhex("0c 00 00 01 01 01 00"), 1))  # and of minus one
# A header name that is not UTF-8.
@example((bytes.fromhex("16 00 00 00 01 01 02 04 ff fe 00 00"), 1))
@example((b"", 0))
@example((b"\x00", 0))
def test_the_quick_check_and_the_full_reader_agree(given_records: tuple[bytes, int]) -> None:
    body, count = given_records
    assert checks(body, count) == checks(memoryview(body), count) == reads(body, count)


@repeatable
@given(st.binary(max_size=60), st.integers(0, 4))
def test_the_quick_check_and_the_full_reader_agree_on_noise(body: bytes, count: int) -> None:
    assert checks(body, count) == reads(body, count)


def test_the_fault_names_the_first_bad_record() -> None:
    made = plain_records(5)
    body = bytearray(body_of(made))
    record_bytes = len(body) // 5
    body[3 * record_bytes + 3] = 0x02
    with pytest.raises(RecordFault, match="offset delta of 1") as caught:
        check_records(body, 5, ALL)
    assert caught.value.index == 3


def test_only_the_requested_number_of_records_is_checked() -> None:
    body = bytearray(body_of(plain_records(5)))
    body[-1] = 0xFF
    check_records(body, 5, 4)
    with pytest.raises(RecordFault):
        check_records(body, 5, 5)


@pytest.mark.parametrize("null_key", ["0c 00 00 00 01 01 00", "0e 00 00 00 81 00 01 00"])
def test_a_record_without_a_key_is_refused_where_keys_are_required(null_key: str) -> None:
    body = bytes.fromhex(null_key)
    check_records(body, 1, ALL)
    with pytest.raises(RecordFault, match="only records with a key"):
        check_records(body, 1, ALL, True)
    check_records(body_of([Record(0, NOW_MS, b"", None)]), 1, ALL, True)


def test_an_impossible_record_count_costs_nothing() -> None:
    with pytest.raises(RecordFault, match="cannot fit"):
        check_records(bytes(100), 2**31 - 1, ALL)


@pytest.mark.parametrize(("body", "said"), [("0c 00 00 00 03 01 00", "key has length -2"), ("0c 00 00 00 01 07 00", "value has length -4")])
def test_a_fault_shows_a_negative_length_as_it_was_sent(body: str, said: str) -> None:
    with pytest.raises(RecordFault, match=said):
        check_records(bytes.fromhex(body), 1, ALL)


def test_a_lone_record_similar_to_an_earlier_one_is_checked_where_it_may_differ() -> None:
    body = bytearray(body_of([Record(0, NOW_MS, None, b"v" * 100)]))
    for _ in range(2):
        check_records(body, 1, ALL)
    check_records(body[:20] + b"another" + body[27:], 1, ALL)
    for bad in (body[:-1] + b"\x02", body + b"\x00", body[:-1], body[:4] + b"\x02" + body[5:]):
        with pytest.raises(RecordFault):
            check_records(bad, 1, ALL)
    with pytest.raises(RecordFault):
        check_records(body, 1, ALL, True)


def test_headers_of_a_lone_record_are_checked_every_time() -> None:
    made = Record(0, NOW_MS, None, b"v" * 100, headers=(("name", b"ends with\x00"),))
    body = bytearray(body_of([made]))
    check_records(body, 1, ALL)
    name_length = body.index(b"name") - 1
    with pytest.raises(RecordFault):
        check_records(body[:name_length] + b"\x7e" + body[name_length + 1 :], 1, ALL)
