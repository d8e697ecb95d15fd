from __future__ import annotations

import pytest

from barnabas.records.batch_builder import build_batch
from barnabas.records.batches import CorruptBatch
from barnabas.records.control_batch import ControlType, build_end_transaction
from barnabas.records.record import Record
from barnabas.sharing.fetched_batches import FetchedBatches
from barnabas.storage.transaction_index import AbortedTransaction


def batch(first: int, count: int, *, producer_id: int = -1) -> bytes:
    records = [Record(first + each, 0, None, b"v") for each in range(count)]
    return bytes(build_batch(records, base_offset=first, producer_id=producer_id, transactional=producer_id >= 0))


def marker(offset: int, producer_id: int) -> bytes:
    made = build_end_transaction(ControlType.ABORT, coordinator_epoch=0, producer_id=producer_id, producer_epoch=0, timestamp=0)
    return offset.to_bytes(8, "big") + bytes(made[8:])


def test_only_the_headers_up_to_the_wanted_offset_are_read() -> None:
    fetched = FetchedBatches(batch(0, 5) + batch(5, 5) + batch(10, 5), 7, with_producers=False)
    assert fetched.batches == [(0, 4), (5, 9)]


def test_a_region_may_end_inside_of_a_batch() -> None:
    assert FetchedBatches((batch(0, 5) + batch(5, 5))[:-3], 100, with_producers=False).batches == [(0, 4)]


def test_the_span_of_some_offsets_is_whole_batches() -> None:
    fetched = FetchedBatches(batch(0, 5) + batch(5, 5) + batch(10, 5), 100, with_producers=False)
    assert fetched.span(6, 7) == batch(5, 5)
    assert fetched.span(4, 10) == batch(0, 5) + batch(5, 5) + batch(10, 5)


def test_bytes_that_are_no_batch_are_corrupt() -> None:
    with pytest.raises(CorruptBatch):
        FetchedBatches(bytes(100), 100, with_producers=False)


def test_aborted_batches_are_those_of_the_producer_before_its_marker() -> None:
    source = batch(0, 2, producer_id=7) + batch(2, 2, producer_id=8) + marker(4, 7) + batch(5, 2, producer_id=7)
    fetched = FetchedBatches(source, 100, with_producers=True)
    aborted = AbortedTransaction(producer_id=7, first_offset=0, last_offset=4, last_stable_offset=0)
    assert fetched.aborted([aborted]) == [(0, 1)]
