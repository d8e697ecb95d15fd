"""How a record names its schema."""

from __future__ import annotations

from random import Random

import pytest

from barnabas.records.batch_header import HEADER_BYTES, read_header
from barnabas.records.record import MalformedRecord, Record, read_records
from barnabas.schema_validation.core import stamps as stamps_module
from barnabas.schema_validation.core.stamps import KEY_HEADER, UNSTAMPED, VALUE_HEADER, Stamps, TooManyRecords, scan_stamps, stamp_of
from tests.unit.schema_validation.made import GUID, batch, record, stamp, stamped


def scanned(*values: bytes | Record | None, keys: bool = False) -> Stamps:
    made = batch(*values)
    return scan_stamps(bytes(made[HEADER_BYTES:]), read_header(made).record_count, keys=keys, values=True)


def one_by_one(*values: bytes | Record | None) -> Stamps:
    made = batch(*values)
    records = list(read_records(read_header(made), made[HEADER_BYTES:]))
    return Stamps(
        {stamp_of(each.key, each.headers, KEY_HEADER) for each in records if each.key is not None},
        {stamp_of(each.value, each.headers, VALUE_HEADER) for each in records if each.value is not None},
    )


def test_the_stamps_of_a_batch_are_its_different_ids() -> None:
    assert scanned(stamped(1), stamped(1), stamped(7), stamped(1)).values == {stamp(1), stamp(7)}


def test_a_null_value_has_no_stamp_and_needs_none() -> None:
    assert scanned(None, None).values == set()


@pytest.mark.parametrize("value", [b"", b"\x00", b"\x00\x00\x00\x01", b"raw text", b"\x02\x00\x00\x00\x01x", b"\x01short guid"])
def test_a_value_that_does_not_begin_like_a_stamp_is_unstamped(value: bytes) -> None:
    assert scanned(stamped(1), value, stamped(1)).values == {stamp(1), UNSTAMPED}


def test_a_short_value_is_unstamped_though_the_bytes_behind_it_look_like_the_last_stamp() -> None:
    # Behind the value come the count of headers and the next record.
    assert UNSTAMPED in scanned(b"\x00\x00\x00\x00\x00", b"\x00\x00\x00\x00").values


def test_a_guid_may_stand_in_front_of_the_payload() -> None:
    assert scanned(b"\x01" + GUID + b"payload").values == {b"\x01" + GUID}


def test_a_header_names_the_schema_before_the_value_does() -> None:
    headers = (("other", b"x"), (VALUE_HEADER, b"\x01" + GUID), (KEY_HEADER, b"\x01" + GUID[::-1]))
    found = scanned(record(stamped(1), key=stamped(2), headers=headers), keys=True)
    assert found == Stamps({b"\x01" + GUID[::-1]}, {b"\x01" + GUID})


@pytest.mark.parametrize("value", [None, b"", b"\x00\x00\x00\x00\x01", b"\x01" + GUID[:-1]])
def test_a_header_without_a_guid_leaves_the_value_unstamped(value: bytes | None) -> None:
    assert scanned(record(stamped(1), headers=((VALUE_HEADER, value),))).values == {UNSTAMPED}


def test_keys_are_looked_at_only_where_asked() -> None:
    assert scanned(record(stamped(1), key=stamped(2))).keys == set()
    assert scanned(record(stamped(1), key=stamped(2)), record(None), keys=True).keys == {stamp(2)}


def test_the_scan_finds_what_a_look_at_every_record_finds() -> None:
    random = Random(16)
    parts = [
        None,
        b"",
        b"\x00",
        stamped(1),
        stamped(1, b""),
        stamped(-1),
        stamped(2, b"x" * 300),
        b"\x01" + GUID,
        b"\x01" + GUID[1:],
        b"text",
    ]
    headers = [(), (), ((VALUE_HEADER, b"\x01" + GUID),), ((KEY_HEADER, None), ("k" * 200, b"v" * 200))]
    for _ in range(300):
        records = [
            record(random.choice(parts), key=random.choice(parts), headers=random.choice(headers)) for _ in range(random.randint(1, 9))
        ]
        assert scanned(*records, keys=True) == one_by_one(*records)


def test_damaged_bodies_raise_nothing_but_malformed_record() -> None:
    random = Random(17)
    made = batch(*[record(stamped(n), key=b"k" * n, headers=((VALUE_HEADER, b"\x01" + GUID),)) for n in range(20)])
    count = read_header(made).record_count
    refused = 0
    for _ in range(3000):
        body = bytearray(made[HEADER_BYTES:])
        for _ in range(random.randint(1, 4)):
            body[random.randrange(len(body))] = random.randrange(256)
        del body[random.randint(len(body) // 2, len(body)) :]
        try:
            scan_stamps(bytes(body), count, keys=True, values=True)
        except MalformedRecord:
            refused += 1
    assert refused > 2000


def test_runs_of_similar_records_are_scanned_as_others_are() -> None:
    random = Random(18)
    kinds: list[list[bytes | Record | None]] = [
        [stamped(1, b"x" * 300)],
        [stamped(1, b"x" * 20)],
        [stamped(1, b"")],
        [stamped(2, b"x" * 300)],
        [b"y" * 305],
        [None],
        [record(stamped(1, b"x" * 300), key=b"k")],
        [record(stamped(1, b"x" * 300), headers=(("h", b"v"),))],
        [b"\x01" + GUID + b"x" * 288],
    ]
    for _ in range(60):
        records = [each for _ in range(random.randint(1, 5)) for each in random.choice(kinds) * random.choice([1, 40, 200])]
        assert scanned(*records, keys=True) == one_by_one(*records)


def test_a_damaged_byte_in_a_run_is_found_as_it_is_elsewhere() -> None:
    """A run proves the facts that a look at each record proves."""
    made = batch(*[stamped(1, b"x" * 60)] * 100)
    count, body = read_header(made).record_count, bytes(made[HEADER_BYTES:])
    for place in range(len(body) - 160, len(body)):
        for change in (0x01, 0x80, 0xFF):
            damaged = bytearray(body)
            damaged[place] ^= change
            outcomes: list[Stamps | None] = []
            for scan in (scan_stamps, scan_without_runs):
                try:
                    outcomes.append(scan(bytes(damaged), count, keys=True, values=True))
                except MalformedRecord:
                    outcomes.append(None)
            assert outcomes[0] == outcomes[1], (place, change)


def scan_without_runs(body: bytes, count: int, *, keys: bool, values: bool) -> Stamps:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(stamps_module, "RUN_RECORDS_MIN", 2**31)
        return scan_stamps(body, count, keys=keys, values=values)


def test_a_scan_on_the_loop_looks_at_no_more_records_than_allowed() -> None:
    different = batch(*[stamped(1, b"x" * (number % 50)) for number in range(300)])
    similar = batch(*[stamped(1, b"x" * 100)] * 3000)
    for made, allowed in ((different, False), (similar, True)):
        body, count = bytes(made[HEADER_BYTES:]), read_header(made).record_count
        try:
            scan_stamps(body, count, keys=False, values=True, loop_records_max=250)
        except TooManyRecords:
            assert not allowed
        else:
            assert allowed
