"""The compiled record scanner and its twins in Python give the same answers to any bytes, and the
same errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from barnabas.model import compiled
from barnabas.records import record, record_check, record_scan
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import HEADER_BYTES
from barnabas.records.record import Record
from barnabas.wire import varint
from tests.unit.both_scanners import needs_compiled
from tests.unit.records.made import plain_records, records, repeatable

pytestmark = needs_compiled

UVARINTS = [varint.read_uvarint, varint.read_varint, varint.read_varlong]
MANY = settings(repeatable, max_examples=150)


def long_number(value: int, size: int) -> bytes:
    """A number in more bytes than it needs."""
    return bytes(0x80 | (value >> (7 * index)) & 0x7F for index in range(size - 1)) + bytes([(value >> (7 * (size - 1))) & 0x7F])


# Numbers on both sides of every bound, in any number of bytes, and bytes that are no number.
NUMBER = st.one_of(
    st.integers(0, 20).map(lambda value: bytes([value])),
    st.builds(long_number, st.sampled_from([0, 1, 2, 3, 13, 14, 2**31 - 1, 2**32 - 1, 2**32, 2**63, 2**64 - 1]), st.integers(1, 11)),
    st.just(b"\xff" * 12),
    st.just(b"\x81"),
)
GARBAGE = st.one_of(st.lists(NUMBER, max_size=24).map(b"".join), st.binary(max_size=60))


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """The body of a right batch with some bytes changed, inserted or cut off."""
    body = bytearray(build_batch(draw(records(max_size=5)))[HEADER_BYTES:])
    for _ in range(draw(st.integers(0, 3))):
        position = draw(st.integers(0, min(len(body), 80)))
        match draw(st.sampled_from(["change", "insert", "cut"])):
            case "change" if position < len(body):
                body[position] = draw(st.integers(0, 255))
            case "insert":
                body[position:position] = draw(NUMBER)
            case "cut":
                del body[position:]
            case _:
                pass
    return bytes(body)


BODY = st.one_of(GARBAGE, damaged(), damaged())
COUNT = st.one_of(st.integers(-1, 8), st.sampled_from([2**31 - 1, 2**63, -(2**63)]))


def outcome(function: Callable[..., Any], *arguments: object) -> object:
    try:
        return function(*arguments)
    except (ValueError, IndexError) as error:
        return type(error), str(error)


def assert_same(function: Callable[..., Any], *arguments: object) -> None:
    assert outcome(function, *arguments) == outcome(compiled.in_python(function), *arguments)


def alone(function: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled function without its twin: a call of the twin fails."""

    def twin(*arguments: object) -> None:
        pytest.fail(f"{function.__name__} leaves {arguments!r} to Python")

    twin.__name__ = function.__name__
    return compiled.compiled(twin)


@MANY
@given(BODY, st.one_of(st.integers(-3, 60), st.sampled_from([2**63 - 1, 2**63, -(2**70)])))
def test_numbers_are_read_alike(body: bytes, position: int) -> None:
    for reader in UVARINTS:
        assert_same(reader, body, position)
        assert_same(reader, memoryview(bytearray(body)), position)


@MANY
@given(BODY, COUNT, COUNT)
def test_any_bytes_are_scanned_alike(body: bytes, count: int, last_offset_delta: int) -> None:
    assert_same(record_scan._scanned, body, count, last_offset_delta)
    assert_same(record_scan._scanned, memoryview(body), count, last_offset_delta)
    assert_same(record_scan.record_bounds, body, count)


@MANY
@given(BODY, COUNT, st.lists(st.integers(-1, 6), max_size=5), st.one_of(st.none(), st.integers(-5, 2**64)))
def test_any_bytes_are_cut_alike(body: bytes, count: int, kept: list[int], known_max: int | None) -> None:
    rising = sorted({index for index in kept if index >= 0})
    if rising:
        assert_same(record_scan.cut_records, body, count, rising, known_max)


@MANY
@given(BODY, COUNT, st.sampled_from([1, 3, 16, 2**31]), st.booleans())
def test_any_bytes_are_checked_alike(body: bytes, count: int, records_max: int, keys_required: bool) -> None:
    # Without what it remembers of earlier ones, as the compiled check has no memory.
    record_check._right_before_value.clear()
    assert_same(record_check.check_records, body, count, records_max, keys_required)
    assert_same(record_check.check_records, bytearray(body), count, records_max)


@MANY
@given(BODY, st.integers(-2, 40), st.sampled_from([0, 2**63 - 1, -(2**63)]), st.one_of(st.none(), st.integers(-1, 2**62)))
def test_any_bytes_are_opened_alike(body: bytes, position: int, base: int, append_time: int | None) -> None:
    assert_same(record._read_record, body, position, base, base, append_time, Record)


@settings(repeatable, max_examples=100)
@given(records())
def test_right_records_are_read_without_python(made: list[Record]) -> None:
    body = memoryview(build_batch(made)[HEADER_BYTES:])
    count = len(made)
    assert alone(record_scan._scanned)(body, count, count - 1)[1] == list(range(count))
    bounds = alone(record_scan.record_bounds)(body, count)
    assert len(bounds) == count + 1
    assert alone(record_scan.cut_records)(body, count, list(range(count)), None) == (body, None)
    alone(record_check.check_records)(body, count, count, all(each.key is not None for each in made))
    base_timestamp = made[0].timestamp
    read = [alone(record._read_record)(body, bound, 0, base_timestamp, None, Record)[0] for bound in bounds[:-1]]
    assert read == made
    assert {type(each) for each in read} == {Record}


def test_arguments_of_another_kind_are_left_to_python() -> None:
    for arguments in ((b"\0",), ("text", 0), (b"\0", "0"), (b"\0", 0, 0), (memoryview(b"\0\0\0\0").cast("I"), 0)):
        calls: list[object] = []

        def read_uvarint(*given: object, into: list[object] = calls) -> str:
            into.append(given)
            return "of Python"

        assert compiled.compiled(read_uvarint)(*arguments) == "of Python"
        assert calls == [arguments]


def test_a_scan_keeps_nothing_of_a_body_that_it_refuses() -> None:
    body = bytearray(build_batch(plain_records(3))[HEADER_BYTES:])
    for function, arguments in (
        (record_scan._scanned, (4, 3)),
        (record_scan.record_bounds, (4,)),
        (record_scan.cut_records, (4, [0], None)),
        (record_check.check_records, (4, 4)),
    ):
        with pytest.raises(ValueError):
            function(body, *arguments)
        body.append(0)  # a buffer that is still in use could not grow
        body.pop()


def test_the_hash_of_keys_is_the_siphash_of_its_authors() -> None:
    # From vectors_sip128 of their reference implementation.
    siphash = compiled._record_scanner.siphash
    secret = bytes(range(16))
    assert siphash(secret, b"").hex() == "a3817f04ba25a8e66df67214c7550293"
    assert siphash(secret, bytes(range(1))).hex() == "da87c1d86b99af44347659119b22fc45"
    assert siphash(secret, bytes(range(15))).hex() == "5493e99933b0a8117e08ec0f97cfc3d9"
