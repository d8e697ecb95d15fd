"""The ledger of transactions: the histories that it accepts, and the violations that it finds."""

from __future__ import annotations

import pytest

from barnabas.model.ids import TopicPartition
from barnabas.simulation.transaction_ledger import Ending, Range, TransactionLedger
from barnabas.simulation.violations import Violation

OUT, OFFSETS = TopicPartition("out", 0), TopicPartition("__consumer_offsets", 0)
PRODUCER = 7


class Book(TransactionLedger):
    def __init__(self) -> None:
        super().__init__(1)
        self._next_offset = 0

    def copy(self, start: int, end: int, producer_id: int = PRODUCER) -> int:
        """A transaction that copied a range of input 0 and offered its end, and has not ended."""
        number = self.began("copier", {0: Range(start, end)})
        for offset in range(start, end):
            self.wrote(OUT, self._next_offset, producer_id, number, (0, offset))
            self._next_offset += 1
        self.offered(OFFSETS, producer_id, number, 0, end)
        return number

    def end(self, ending: Ending, producer_id: int = PRODUCER) -> None:
        self.ended(OUT, producer_id, ending, offsets=False)
        self.ended(OFFSETS, producer_id, ending, offsets=True)
        self._next_offset += 1


@pytest.fixture
def book() -> Book:
    return Book()


def test_consecutive_ranges_are_copied_once(book: Book) -> None:
    book.acknowledged(book.copy(0, 3), Ending.COMMIT)
    book.end(Ending.COMMIT)
    book.copy(3, 4)
    book.end(Ending.ABORT)
    book.copy(3, 5)
    book.end(Ending.COMMIT)
    assert book.offsets == {0: 5}
    assert book.unfinished() is None
    book.check({0: 5})


def test_two_committed_transactions_with_the_same_record_are_a_duplicate(book: Book) -> None:
    book.copy(0, 3)
    book.copy(2, 4, producer_id=8)
    book.ended(OUT, PRODUCER, Ending.COMMIT, offsets=False)
    with pytest.raises(Violation, match="the output has input 0 twice"):
        book.ended(OUT, 8, Ending.COMMIT, offsets=False)


def test_a_range_that_begins_behind_the_committed_offset_is_a_loss(book: Book) -> None:
    book.copy(1, 3)
    with pytest.raises(Violation, match="the committed offset of input 0 is 0"):
        book.end(Ending.COMMIT)


def test_a_transaction_that_ends_in_two_ways_is_torn(book: Book) -> None:
    book.copy(0, 3)
    book.ended(OUT, PRODUCER, Ending.ABORT, offsets=False)
    with pytest.raises(Violation, match="out-0 has it aborted"):
        book.ended(OFFSETS, PRODUCER, Ending.COMMIT, offsets=True)


def test_an_outcome_other_than_the_acknowledged_one_is_a_violation(book: Book) -> None:
    book.acknowledged(book.copy(0, 3), Ending.COMMIT)
    with pytest.raises(Violation, match="the response to its copier says committed"):
        book.end(Ending.ABORT)


def test_a_commit_without_its_offsets_is_half_a_transaction(book: Book) -> None:
    number = book.began("copier", {0: Range(0, 1)})
    book.wrote(OUT, 0, PRODUCER, number, (0, 0))
    with pytest.raises(Violation, match="committed with offset None"):
        book.ended(OUT, PRODUCER, Ending.COMMIT, offsets=False)


def test_a_partition_without_its_marker_is_found_when_the_producer_continues(book: Book) -> None:
    book.copy(0, 3)
    book.ended(OUT, PRODUCER, Ending.COMMIT, offsets=False)
    assert "has not ended in __consumer_offsets-0" in str(book.unfinished())
    with pytest.raises(Violation, match="before the end of transaction 0"):
        book.copy(3, 4)


def test_a_reader_gets_committed_records_and_no_others(book: Book) -> None:
    book.copy(0, 2)
    with pytest.raises(Violation, match="has not ended"):
        book.read(OUT, 0, 2, [0, 1], "reader")
    book.end(Ending.ABORT)
    book.read(OUT, 0, 3, [], "reader")
    with pytest.raises(Violation, match="reads"):
        book.read(OUT, 0, 3, [1], "reader")


def test_a_reader_that_skips_a_committed_record_is_found(book: Book) -> None:
    book.copy(0, 2)
    book.end(Ending.COMMIT)
    book.read(OUT, 0, 3, [0, 1], "reader")
    with pytest.raises(Violation, match=r"where \[0, 1\] are committed"):
        book.read(OUT, 0, 3, [0], "reader")


def test_an_offset_below_the_committed_one_before_the_request_is_stale(book: Book) -> None:
    book.acknowledged(book.copy(0, 2), Ending.COMMIT)
    question = book.asks()
    with pytest.raises(Violation, match="2 was committed before"):
        book.answered(question, 0, -1, "reader", by_coordinator=True)
    book.answered(question, 0, -1, "reader", by_coordinator=False)


def test_an_offset_that_a_transaction_may_change_is_not_stable(book: Book) -> None:
    book.copy(0, 2)
    question = book.asks()
    with pytest.raises(Violation, match="is open"):
        book.answered(question, 0, 0, "reader", by_coordinator=True)
    book.end(Ending.ABORT)
    book.answered(question, 0, 0, "reader", by_coordinator=True)


def test_an_offset_that_was_never_committed_is_found_from_any_node(book: Book) -> None:
    with pytest.raises(Violation, match="never committed"):
        book.answered(book.asks(), 0, 9, "reader", by_coordinator=False)


def test_an_acknowledged_transaction_missing_from_all_logs_is_lost(book: Book) -> None:
    book.acknowledged(book.began("copier", {0: Range(0, 1)}), Ending.COMMIT)
    with pytest.raises(Violation, match="no part of it is in the logs"):
        book.check({0: 0})
