"""The checks on a produced batch: every refusal with its error code, and the changes to an accepted
batch.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import pytest
from hypothesis import given, strategies as st

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import HEADER_BYTES, LOG_APPEND_TIME_BIT, TimestampType, read_header
from barnabas.records.batches import check_crc
from barnabas.records.compression import DECOMPRESSED_BYTES_MAX, Codec, compress
from barnabas.records.record import Record, open_batch, write_record
from barnabas.records.validation import (
    CHECKED_RECORDS_MAX,
    EXPLAINED_BYTES_MAX,
    OPENED_RECORDS_MAX,
    RECORD_ERRORS_MAX,
    Accepted,
    BatchRules,
    Refused,
    validate,
)
from tests.unit.records.made import NOW_MS, plain_batch, plain_records, repeatable, with_body, with_header
from tests.unit.records.refusals import CASES, LOG_APPEND_TIME, Case, many_records
from tests.unit.records.test_compression import MEGABYTE, gzip_bomb, zstd_bomb


def view(batch: bytes | bytearray) -> memoryview:
    return memoryview(bytearray(batch))


def accepted(batch: bytes | bytearray, rules: BatchRules | None = None) -> Accepted:
    outcome = validate(view(batch), rules or BatchRules(), now_ms=NOW_MS)
    assert isinstance(outcome, Accepted), outcome
    return outcome


def refused(batch: bytes | bytearray, rules: BatchRules | None = None) -> Refused:
    outcome = validate(view(batch), rules or BatchRules(), now_ms=NOW_MS)
    assert isinstance(outcome, Refused), outcome
    return outcome


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_verdict_is_that_of_the_table(case: Case) -> None:
    outcome = validate(view(case.batch), case.rules, now_ms=NOW_MS)
    if case.code is ErrorCode.NONE:
        assert isinstance(outcome, Accepted), outcome
        check_crc(outcome.batch, outcome.header)
        assert read_header(outcome.batch) == outcome.header
    else:
        assert isinstance(outcome, Refused)
        assert outcome.code is case.code, outcome
        assert outcome.message
        if case.records:
            assert tuple(error.batch_index for error in outcome.record_errors) == case.records


def test_a_partition_without_records_is_refused() -> None:
    outcome = validate(None, BatchRules(), now_ms=NOW_MS)
    assert isinstance(outcome, Refused)
    assert outcome.code is ErrorCode.INVALID_RECORD


@repeatable
@given(st.data())
def test_any_changed_byte_gets_a_verdict_and_never_an_exception(data: st.DataObject) -> None:
    batch = plain_batch(3, codec=data.draw(st.sampled_from(Codec)))
    position = data.draw(st.integers(0, len(batch) - 1))
    batch[position] = data.draw(st.integers(0, 255))
    sealed = data.draw(st.booleans())
    if sealed and len(batch) >= HEADER_BYTES:
        batch = with_header(batch)
    for rules in (BatchRules(), BatchRules(keys_required=True, codec=Codec.LZ4, timestamp_before_ms_max=1000), LOG_APPEND_TIME):
        validate(view(batch), rules, now_ms=NOW_MS)


@repeatable
@given(st.binary(max_size=200))
def test_noise_is_refused(noise: bytes) -> None:
    assert isinstance(validate(view(noise), BatchRules(), now_ms=NOW_MS), Refused)


def test_an_accepted_batch_is_not_copied() -> None:
    buffer = bytearray(plain_batch())
    outcome = validate(memoryview(buffer), BatchRules(), now_ms=NOW_MS)
    assert isinstance(outcome, Accepted)
    assert outcome.batch.obj is buffer
    assert buffer == plain_batch()
    assert outcome.append_time_ms == -1


@pytest.mark.parametrize("codec", Codec)
def test_append_time_is_set_without_opening_the_batch(codec: Codec) -> None:
    batch = plain_batch(codec=codec)
    outcome = accepted(batch, LOG_APPEND_TIME)
    assert outcome.append_time_ms == NOW_MS
    assert outcome.header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert outcome.header.max_timestamp == NOW_MS
    assert outcome.batch[HEADER_BYTES:] == batch[HEADER_BYTES:]
    assert {record.timestamp for record in open_batch(outcome.batch)} == {NOW_MS}


def test_the_append_time_bit_is_cleared_where_the_topic_uses_create_time() -> None:
    outcome = accepted(with_header(plain_batch(), attributes=LOG_APPEND_TIME_BIT))
    assert outcome.header.timestamp_type is TimestampType.CREATE_TIME
    assert [record.timestamp for record in open_batch(outcome.batch)] == [NOW_MS, NOW_MS + 1, NOW_MS + 2]


@pytest.mark.parametrize("source", Codec)
@pytest.mark.parametrize("target", Codec)
def test_recompression_changes_the_bytes_and_not_the_records(source: Codec, target: Codec) -> None:
    made = [Record(0, NOW_MS, b"k", b"v" * 500, (("h", b"x"),)), Record(1, NOW_MS - 5, None, None), Record(2, NOW_MS + 9, b"", b"")]
    batch = build_batch(made, codec=source, producer_id=4, producer_epoch=1, base_sequence=70, transactional=True)
    outcome = accepted(batch, BatchRules(codec=target))
    assert list(open_batch(outcome.batch)) == made
    assert outcome.header.codec == target
    same = ("base_timestamp", "max_timestamp", "last_offset_delta", "record_count", "producer_id", "producer_epoch", "base_sequence")
    for name in (*same, "transactional"):
        assert getattr(outcome.header, name) == getattr(read_header(batch), name)
    if source is target:
        assert bytes(outcome.batch) == batch


def test_recompression_and_append_time_work_together() -> None:
    outcome = accepted(plain_batch(codec=Codec.GZIP), BatchRules(codec=Codec.ZSTD, timestamp_type=TimestampType.LOG_APPEND_TIME))
    assert outcome.append_time_ms == NOW_MS
    assert outcome.header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert {record.timestamp for record in open_batch(outcome.batch)} == {NOW_MS}


def test_only_the_first_records_of_a_large_batch_are_checked() -> None:
    assert refused(many_records(20, CHECKED_RECORDS_MAX - 1)).code is ErrorCode.INVALID_RECORD
    accepted(many_records(20, CHECKED_RECORDS_MAX))
    # Where the topic needs every record anyway, all of them are checked.
    assert refused(many_records(20, CHECKED_RECORDS_MAX), BatchRules(timestamp_before_ms_max=10**12)).code is ErrorCode.INVALID_RECORD


def test_records_are_checked_under_all_other_rules_of_the_topic() -> None:
    aged = BatchRules(timestamp_type=TimestampType.LOG_APPEND_TIME, timestamp_before_ms_max=1000)
    assert refused(many_records(4, 1), aged).code is ErrorCode.INVALID_RECORD


def test_a_batch_with_a_future_timestamp_only_in_its_header_is_refused() -> None:
    far = with_header(plain_batch(), max_timestamp=NOW_MS + 10**9)
    assert refused(far).code is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize(("codec", "bomb"), [(Codec.GZIP, gzip_bomb), (Codec.ZSTD, zstd_bomb)])
def test_a_decompression_bomb_stays_closed_or_is_bounded_where_the_topic_opens_batches(codec: Codec, bomb: Callable[[int], bytes]) -> None:
    batch = with_header(with_body(plain_batch(), bomb(160 * MEGABYTE)), attributes=codec)
    tracemalloc.start()
    try:
        accepted(batch)
        _, closed_peak = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        outcome = refused(batch, BatchRules(keys_required=True))
        _, opened_peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outcome.code is ErrorCode.INVALID_RECORD
    assert closed_peak < 2 * MEGABYTE
    assert opened_peak < 1.1 * DECOMPRESSED_BYTES_MAX


def test_a_batch_with_an_impossible_count_costs_no_memory() -> None:
    liar = with_header(plain_batch(codec=Codec.ZSTD), record_count=2**31 - 1, last_offset_delta=2**31 - 2)
    for rules in (BatchRules(keys_required=True), BatchRules(codec=Codec.GZIP), BatchRules(timestamp_before_ms_max=1)):
        assert refused(liar, rules).code is ErrorCode.INVALID_RECORD
    claimed = with_header(liar, attributes=Codec.ZSTD | LOG_APPEND_TIME_BIT)
    assert refused(claimed, LOG_APPEND_TIME) == (
        ErrorCode.INVALID_TIMESTAMP,
        "producers must not set the timestamp type to LogAppendTime",
        (),
    )


def tiny_records(count: int) -> bytearray:
    """The smallest records that are valid, compressed to a few bytes."""
    body = bytearray()
    for offset_delta in range(count):
        write_record(body, offset_delta=offset_delta, timestamp_delta=0, record=Record(0, 0, None, None))
    batch = with_body(plain_batch(), compress(Codec.ZSTD, body))
    return bytearray(with_header(batch, attributes=Codec.ZSTD, record_count=count, last_offset_delta=count - 1))


def test_a_refusal_names_a_limited_number_of_records() -> None:
    late = with_header(tiny_records(20_000), base_timestamp=NOW_MS + 10**9, max_timestamp=NOW_MS + 10**9)
    outcome = refused(late)
    assert outcome.code is ErrorCode.INVALID_TIMESTAMP
    assert len(outcome.record_errors) == RECORD_ERRORS_MAX
    keyless = refused(tiny_records(20_000), BatchRules(keys_required=True))
    assert keyless.code is ErrorCode.INVALID_RECORD
    assert len(keyless.record_errors) == RECORD_ERRORS_MAX


def test_a_refusal_for_its_header_opens_a_limited_part_of_the_batch() -> None:
    bomb = with_header(with_body(plain_batch(), zstd_bomb(160 * MEGABYTE)), attributes=Codec.ZSTD, max_timestamp=NOW_MS + 10**9)
    tracemalloc.start()
    try:
        outcome = refused(bomb)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert outcome.code is ErrorCode.INVALID_TIMESTAMP
    assert peak < 1.5 * EXPLAINED_BYTES_MAX


@pytest.mark.parametrize("rules", [BatchRules(keys_required=True), BatchRules(codec=Codec.GZIP), BatchRules(timestamp_before_ms_max=1)])
def test_a_batch_with_too_many_records_is_not_opened(rules: BatchRules) -> None:
    count = OPENED_RECORDS_MAX + 1
    many = with_header(tiny_records(10), record_count=count, last_offset_delta=count - 1)
    outcome = refused(many, rules)
    assert outcome.code is ErrorCode.INVALID_RECORD
    assert str(OPENED_RECORDS_MAX) in outcome.message
    accepted(many)


def test_a_compressed_batch_cannot_count_more_records_than_fit_into_it() -> None:
    liar = with_header(plain_batch(codec=Codec.SNAPPY), record_count=2**31 - 1, last_offset_delta=2**31 - 2)
    assert refused(liar).code is ErrorCode.INVALID_RECORD


def test_a_size_limit_counts_the_whole_batch() -> None:
    batch = build_batch(plain_records(1))
    accepted(batch, BatchRules(size_bytes_max=len(batch)))
    assert refused(batch, BatchRules(size_bytes_max=len(batch) - 1)).code is ErrorCode.MESSAGE_TOO_LARGE
