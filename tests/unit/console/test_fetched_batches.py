from __future__ import annotations

from barnabas.console.core.fetched_batches import AbortedTransaction, Budget, OpenedBatches, Opening, open_batches
from barnabas.console.core.record import TransactionState
from barnabas.records.batch_builder import build_batch
from barnabas.records.compression import Codec
from barnabas.records.control_batch import ControlType, build_end_transaction
from barnabas.records.record import Record


def _batch(offset: int, value: bytes, producer: int = -1, count: int = 1) -> bytes:
    records = [Record(offset + each, 1_000, b"k", value) for each in range(count)]
    return bytes(
        build_batch(
            records, base_offset=offset, producer_id=producer, producer_epoch=0 if producer >= 0 else -1, transactional=producer >= 0
        )
    )


def _marker(offset: int, kind: ControlType, producer: int) -> bytes:
    batch = build_end_transaction(kind, coordinator_epoch=0, producer_id=producer, producer_epoch=0, timestamp=1)
    batch[:8] = offset.to_bytes(8, "big")
    return bytes(batch)


def _open(data: bytes, *, from_offset: int = 0, stable: int = 1_000, aborted: tuple[AbortedTransaction, ...] = ()) -> OpenedBatches:
    return open_batches("t", 0, data, from_offset=from_offset, stable_offset=stable, aborted=aborted)


def test_records_before_the_wanted_offset_are_left_out_and_the_next_one_is_known() -> None:
    opened = _open(_batch(5, b"v", count=4) + _batch(9, b"w")[:-1], from_offset=7)
    assert [each.offset for each in opened.records] == [7, 8]
    assert (opened.next_offset, opened.has_transactions, opened.unreadable) == (9, False, [])


def test_a_transaction_is_aborted_from_its_first_offset_to_its_marker() -> None:
    data = (
        _batch(0, b"a", 1)
        + _batch(1, b"b", 2)
        + _marker(2, ControlType.ABORT, 1)
        + _batch(3, b"c", 1)
        + _marker(4, ControlType.COMMIT, 2)
        + _batch(5, b"d", 1)
    )
    opened = _open(data, stable=5, aborted=(AbortedTransaction(1, 0),))
    assert [(each.value, each.transaction.value) for each in opened.records if each.control is None] == [
        (b"a", "aborted"),
        (b"b", "committed"),
        (b"c", "committed"),
        (b"d", "undecided"),
    ]
    assert [each.control for each in opened.records if each.control] == ["abort", "commit"]
    assert opened.has_transactions


def test_a_record_without_a_transaction_has_no_state() -> None:
    assert _open(_batch(0, b"v"), stable=0).records[0].transaction is TransactionState.NONE


def test_a_batch_that_cannot_be_opened_is_skipped_and_named() -> None:
    damaged = bytearray(_batch(3, b"v" * 50))
    damaged[60] = 9  # The header counts nine records, and there is one.
    opened = _open(bytes(damaged) + _batch(4, b"w"))
    assert [each.offset for each in opened.records] == [4]
    assert opened.unreadable[0].startswith("The batch at offset 3 of partition 0 cannot be opened")
    garbage = _open(b"\xff" * 100, from_offset=7)
    assert garbage.next_offset == 7
    assert garbage.unreadable[0].startswith("Partition 0 cannot be read from offset 7 on")


def _keyed(records: int, *, base_offset: int = 0) -> bytes:
    made = [Record(base_offset + each, 0, b"key-%d" % each, b"v") for each in range(records)]
    return bytes(build_batch(made, base_offset=base_offset, codec=Codec.ZSTD))


def test_a_reader_opens_as_many_records_as_it_needs_and_goes_on_behind_them() -> None:
    data = _keyed(100) + _keyed(100, base_offset=100)
    opened = open_batches("t", 0, data, from_offset=95, stable_offset=-1, aborted=(), opening=Opening(3))
    assert ([each.offset for each in opened.records], opened.next_offset) == ([95, 96, 97], 98)
    assert opened.read_bytes == len(_keyed(100))
    again = open_batches("t", 0, data, from_offset=98, stable_offset=-1, aborted=(), opening=Opening(3))
    assert ([each.offset for each in again.records], again.next_offset) == ([98, 99, 100], 101)
    exact = open_batches("t", 0, data, from_offset=97, stable_offset=-1, aborted=(), opening=Opening(3))
    assert (len(exact.records), exact.next_offset, exact.read_bytes) == (3, 100, len(_keyed(100)))


def test_batches_without_the_wanted_key_are_passed_over() -> None:
    data = _keyed(100) + _keyed(5, base_offset=100)
    opened = open_batches("t", 0, data, from_offset=0, stable_offset=-1, aborted=(), opening=Opening(1000, b"key-77"))
    assert (len(opened.records), opened.passed, opened.next_offset) == (100, 5, 105)


def _zeros(offset: int, size_bytes: int) -> bytes:
    return bytes(build_batch([Record(offset, 0, None, bytes(size_bytes))], base_offset=offset, codec=Codec.ZSTD))


def _read(data: bytes, budget: Budget, from_offset: int = 0) -> tuple[list[int], int, int]:
    opened = open_batches("t", 0, data, from_offset=from_offset, stable_offset=-1, aborted=(), budget=budget)
    assert opened.unreadable == []
    return [each.offset for each in opened.records], opened.next_offset, opened.read_bytes


def test_partitions_of_a_response_share_its_bytes_and_go_on_with_the_next_one() -> None:
    data = _zeros(0, 40_000) + _zeros(1, 40_000) + _zeros(2, 40_000)
    budget = Budget(100_000, batch_bytes_max=1_000_000)
    assert _read(data, budget) == ([0, 1], 2, len(_zeros(0, 40_000)) * 2)
    assert _read(data, budget) == ([], 0, 0)
    assert _read(_zeros(2, 40_000), Budget(100_000), from_offset=2)[:2] == ([2], 3)


def test_a_batch_beyond_the_bytes_of_a_response_is_opened_alone() -> None:
    data = _zeros(0, 10) + _zeros(1, 200_000) + _zeros(2, 10)
    budget = Budget(100_000, batch_bytes_max=1_000_000)
    assert _read(data, budget)[:2] == ([0], 1)
    assert _read(data, budget)[:2] == ([], 0)
    next_budget = Budget(100_000, batch_bytes_max=1_000_000)
    assert _read(_zeros(1, 200_000) + _zeros(2, 10), next_budget, from_offset=1)[:2] == ([1], 2)
    assert next_budget.is_spent


def test_a_batch_that_is_too_large_is_named_and_no_other_one_is_tried_in_its_response() -> None:
    budget = Budget(100_000, batch_bytes_max=100_000)
    data = _zeros(0, 200_000) + _zeros(1, 10)
    opened = open_batches("t", 0, data, from_offset=0, stable_offset=-1, aborted=(), budget=budget)
    assert (opened.records, opened.next_offset, budget.is_spent) == ([], 1, True)
    assert opened.unreadable[0].startswith("The batch at offset 0 of partition 0 cannot be opened")
    assert _read(data, budget)[:2] == ([], 0)
