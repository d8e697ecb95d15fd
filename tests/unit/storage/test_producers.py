"""The producers of a partition: retries dropped, gaps and zombies refused, transactions tracked,
and all of it restored from disk.
"""

from __future__ import annotations

import struct

import pytest
from crc32c import crc32c
from hypothesis import given, strategies as st

from barnabas.model.errors import ErrorCode
from barnabas.records.batch_header import BatchHeader, read_header
from barnabas.records.control_batch import ControlType
from barnabas.records.validation import Refused
from barnabas.storage.producer_snapshot import (
    SnapshotDamaged,
    decode_snapshot,
    encode_snapshot,
    list_snapshots,
    read_snapshot,
    write_snapshot,
)
from barnabas.storage.producer_state import REMEMBERED_BATCHES, Producer, ProducerState, SentBatch
from barnabas.storage.transaction_index import AbortedTransaction
from tests.unit.records.made import repeatable
from tests.unit.storage.logs import DIRECTORY, NOW_MS, marker, new_disk, sent, write_file

LAST = 2**31 - 1


def batch(sequence: int, *, count: int = 1, epoch: int = 0, producer: int = 7, transactional: bool = False) -> BatchHeader:
    header = read_header(sent(producer, 0, epoch=epoch, transactional=transactional))
    return header._replace(base_sequence=sequence, last_offset_delta=count - 1, record_count=count)


def state_after(*headers: BatchHeader) -> ProducerState:
    state, offset = ProducerState(), 0
    for header in headers:
        assert state.check(header) is None, header
        state.apply(header, offset)
        offset += header.last_offset_delta + 1
    return state


def code(outcome: Refused | SentBatch | None) -> ErrorCode:
    assert isinstance(outcome, Refused), outcome
    return outcome.code


# -- sequences


@pytest.mark.parametrize("sequence", [0, 1, 999, LAST])
def test_an_unknown_producer_may_begin_at_any_sequence(sequence: int) -> None:
    assert ProducerState().check(batch(sequence)) is None


def test_only_the_next_sequence_is_accepted() -> None:
    state = state_after(batch(0, count=3))
    assert state.check(batch(3)) is None
    for sequence in (4, 100, 1, 2):
        assert code(state.check(batch(sequence))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_retry_of_any_of_the_last_five_batches_is_a_duplicate() -> None:
    state = state_after(*(batch(2 * n, count=2) for n in range(7)))
    assert REMEMBERED_BATCHES == 5
    for n in (2, 3, 4, 5, 6):
        assert state.check(batch(2 * n, count=2)) == SentBatch(2 * n, 2 * n + 1, 2 * n, 2 * n + 1, NOW_MS)
    for n in (0, 1):
        assert code(state.check(batch(2 * n, count=2))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_with_a_known_first_and_another_last_sequence_is_not_a_retry() -> None:
    assert code(state_after(batch(0, count=3)).check(batch(0, count=2))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequences_wrap_to_zero() -> None:
    state = state_after(batch(LAST - 1, count=2))
    assert state.check(batch(0)) is None
    assert code(state.check(batch(1))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_may_span_the_wrap() -> None:
    state = state_after(batch(LAST - 1, count=5))
    assert state.check(batch(3)) is None
    assert state.check(batch(LAST - 1, count=5)) == SentBatch(LAST - 1, 2, 0, 4, NOW_MS)
    assert code(state.check(batch(4))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


# -- epochs


def test_a_batch_of_an_old_epoch_is_refused() -> None:
    state = state_after(batch(0, epoch=4))
    assert code(state.check(batch(1, epoch=3))) is ErrorCode.INVALID_PRODUCER_EPOCH
    # Even as a retry of a batch it once sent.
    assert code(state.check(batch(0, epoch=3))) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_a_new_epoch_begins_at_sequence_zero_and_drops_old_batches() -> None:
    state = state_after(batch(0), batch(1))
    assert code(state.check(batch(2, epoch=1))) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    state.apply(batch(0, epoch=1), 2)
    assert len(state.producers[7].batches) == 1
    assert state.check(batch(1, epoch=1)) is None


def test_producers_are_independent() -> None:
    state = state_after(batch(0, producer=1), batch(50, producer=2))
    assert state.check(batch(1, producer=1)) is None
    assert state.check(batch(51, producer=2)) is None
    assert len(state) == 2


# -- transactions


def replay(state: ProducerState, raw: bytearray, offset: int) -> AbortedTransaction | None:
    return state.replay(read_header(raw), raw, offset)


def test_a_transaction_is_open_from_its_first_batch_to_its_marker() -> None:
    state = ProducerState()
    assert state.first_unstable_offset() is None
    replay(state, sent(7, 0, transactional=True), 10)
    replay(state, sent(7, 1, transactional=True), 11)
    assert state.first_unstable_offset() == 10
    assert replay(state, marker(7, ControlType.COMMIT), 12) is None
    assert state.producers[7].transaction_first_offset is None


def test_readers_wait_until_the_marker_is_on_all_replicas() -> None:
    state = ProducerState()
    replay(state, sent(7, 0, transactional=True), 10)
    replay(state, marker(7, ControlType.COMMIT), 11)
    state.replicated_up_to(11)
    assert state.first_unstable_offset() == 10
    state.replicated_up_to(12)
    assert state.first_unstable_offset() is None


def test_the_first_of_several_open_transactions_bounds_readers() -> None:
    state = ProducerState()
    replay(state, sent(1, 0, transactional=True), 10)
    replay(state, sent(2, 0, transactional=True), 11)
    assert state.first_unstable_offset() == 10
    replay(state, marker(1, ControlType.COMMIT), 12)
    state.replicated_up_to(13)
    assert state.first_unstable_offset() == 11


def test_an_abort_is_indexed_with_the_last_stable_offset_at_its_marker() -> None:
    state = ProducerState()
    replay(state, sent(1, 0, transactional=True), 10)
    replay(state, sent(2, 0, transactional=True), 11)
    assert replay(state, marker(2, ControlType.ABORT), 12) == AbortedTransaction(2, 11, 12, 10)
    assert replay(state, marker(1, ControlType.ABORT), 13) == AbortedTransaction(1, 10, 13, 14)


def test_a_marker_without_a_transaction_has_no_effect() -> None:
    state = ProducerState()
    assert replay(state, marker(7, ControlType.ABORT), 5) is None
    replay(state, sent(7, 0, transactional=True), 6)
    assert replay(state, marker(7, ControlType.ABORT), 7) == AbortedTransaction(7, 6, 7, 8)
    assert replay(state, marker(7, ControlType.ABORT), 8) is None
    assert state.first_unstable_offset() == 6, "the first marker is not on all replicas yet"


def test_a_marker_of_a_newer_epoch_fences_its_own_producer() -> None:
    # KIP-890: every transaction ends with a bump of the epoch.
    state = ProducerState()
    replay(state, sent(7, 0, epoch=2, transactional=True), 0)
    replay(state, marker(7, ControlType.COMMIT, epoch=3, coordinator_epoch=9), 1)
    producer = state.producers[7]
    assert (producer.epoch, producer.coordinator_epoch, list(producer.batches)) == (3, 9, [])
    assert code(state.check(batch(1, epoch=2))) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert state.check(batch(0, epoch=3)) is None


def test_a_marker_of_the_same_epoch_keeps_sequences() -> None:
    state = ProducerState()
    replay(state, sent(7, 0, transactional=True), 0)
    replay(state, marker(7, ControlType.COMMIT), 1)
    assert state.check(batch(1)) is None
    assert isinstance(state.check(batch(0, transactional=True)), SentBatch)


def test_a_write_outside_an_open_transaction_is_refused() -> None:
    state = ProducerState()
    replay(state, sent(7, 0, transactional=True), 0)
    assert code(state.check(batch(1))) is ErrorCode.INVALID_TXN_STATE
    assert code(state.check(batch(0, epoch=1))) is ErrorCode.INVALID_TXN_STATE
    assert state.check(batch(1, transactional=True)) is None


def test_batches_without_a_producer_leave_no_state() -> None:
    state = ProducerState()
    plain = sent(-1, -1)
    assert replay(state, plain, 0) is None
    assert len(state) == 0


# -- forgetting


def test_idle_producers_expire_unless_a_transaction_is_open() -> None:
    state = state_after(batch(0, producer=1), batch(0, producer=2, transactional=True))
    assert state.expire(older_than_ms=NOW_MS) == 0
    assert state.expire(older_than_ms=NOW_MS + 1) == 1
    assert list(state.producers) == [2]
    assert state.check(batch(77, producer=1)) is None


def test_clearing_removes_all_producers() -> None:
    state = state_after(batch(0, transactional=True))
    replay(state, marker(7, ControlType.COMMIT), 1)
    state.clear()
    assert len(state) == 0
    assert state.first_unstable_offset() is None


# -- snapshots

producers = st.builds(
    lambda producer_id, epoch, sequence, offset, count, timestamp, coordinator, open_since: (
        producer_id,
        epoch,
        sequence,
        offset,
        count,
        timestamp,
        coordinator,
        open_since,
    ),
    st.integers(0, 2**62),
    st.integers(0, 2**15 - 1),
    st.integers(0, LAST),
    st.integers(0, 2**62),
    st.integers(1, 1000),
    st.integers(-1, 2**62),
    st.integers(-1, LAST),
    st.none() | st.integers(0, 2**62),
)


@repeatable
@given(st.lists(producers, max_size=5, unique_by=lambda values: values[0]))
def test_a_snapshot_keeps_the_last_batch_of_each_producer(rows: list[tuple[int, int, int, int, int, int, int, int | None]]) -> None:
    made = []
    for producer_id, epoch, sequence, offset, count, timestamp, coordinator, open_since in rows:
        producer = Producer(
            producer_id, epoch, coordinator_epoch=coordinator, transaction_first_offset=open_since, last_timestamp=timestamp
        )
        last = (sequence + count - 1) & LAST
        producer.batches.append(SentBatch(0, 0, 0, 0, timestamp))
        producer.batches.append(SentBatch(sequence, last, offset, offset + count - 1, timestamp))
        made.append(producer)
    for before, after in zip(made, decode_snapshot(encode_snapshot(made)), strict=True):
        assert list(after.batches) == [before.batches[-1]]
        after.batches.appendleft(before.batches[0])
        assert after == before


def test_a_producer_known_only_from_a_marker_has_no_batch() -> None:
    state = ProducerState()
    replay(state, marker(7, ControlType.COMMIT, epoch=3, coordinator_epoch=4), 0)
    (producer,) = decode_snapshot(encode_snapshot(state))
    assert (producer.epoch, producer.coordinator_epoch, list(producer.batches)) == (3, 4, [])


def test_an_open_transaction_is_open_again_after_a_snapshot() -> None:
    state = ProducerState()
    replay(state, sent(7, 0, transactional=True), 10)
    again = ProducerState()
    for producer in decode_snapshot(encode_snapshot(state)):
        again.restore(producer)
    assert again.first_unstable_offset() == 10
    assert replay(again, marker(7, ControlType.ABORT), 11) == AbortedTransaction(7, 10, 11, 12)


def test_the_bytes_of_a_snapshot_are_kafkas() -> None:
    state = ProducerState()
    replay(state, sent(7, 5, epoch=2, count=3, transactional=True), 10)
    entry = struct.pack(">qhiqiqiq", 7, 2, 7, 12, 2, NOW_MS, -1, 10)
    body = struct.pack(">i", 1) + entry
    assert encode_snapshot(state) == struct.pack(">hI", 1, crc32c(body)) + body
    assert len(entry) == 46


@repeatable
@given(st.data())
def test_a_damaged_snapshot_is_refused(data: st.DataObject) -> None:
    good = encode_snapshot(state_after(batch(0), batch(0, producer=8)))
    kind = data.draw(st.sampled_from(["flip", "cut", "grow"]))
    if kind == "flip":
        bad = bytearray(good)
        bad[data.draw(st.integers(0, len(good) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    elif kind == "cut":
        bad = bytearray(good[: data.draw(st.integers(0, len(good) - 1))])
    else:
        bad = bytearray(good + data.draw(st.binary(min_size=1, max_size=50)))
    with pytest.raises(SnapshotDamaged):
        decode_snapshot(bytes(bad))


def test_a_snapshot_with_a_wrong_count_is_refused_despite_a_valid_checksum() -> None:
    body = struct.pack(">i", 2) + bytes(46)
    with pytest.raises(SnapshotDamaged, match="2 entries"):
        decode_snapshot(struct.pack(">hI", 1, crc32c(body)) + body)


def test_snapshots_are_files_named_by_their_offset() -> None:
    disk = new_disk()
    state = state_after(batch(0))
    for offset in (30, 5):
        write_snapshot(disk, DIRECTORY, offset, state)
    write_file(disk, "00000000000000000007.snapshot.deleted", b"")
    assert list_snapshots(disk, DIRECTORY) == [5, 30]
    assert [producer.producer_id for producer in read_snapshot(disk, DIRECTORY, 30)] == [7]
    write_file(disk, "00000000000000000030.snapshot", b"garbage")
    with pytest.raises(SnapshotDamaged, match=r"00000000000000000030\.snapshot"):
        read_snapshot(disk, DIRECTORY, 30)
    with pytest.raises(FileNotFoundError):
        read_snapshot(disk, DIRECTORY, 31)
