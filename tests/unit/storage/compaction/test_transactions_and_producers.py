"""Cleaning respects transactions and the state of producers."""

from __future__ import annotations

from barnabas.records.batch_header import DELETE_HORIZON_BIT, read_header
from barnabas.records.control_batch import ControlType, build_control_batch
from barnabas.records.record import open_batch
from barnabas.storage.log import Log
from tests.unit.both_scanners import BOTH_SCANNERS
from tests.unit.storage.compaction.tables import (
    DAY_MS,
    clean_all,
    clean_and_swap,
    committed,
    headers,
    job_of,
    new_table,
    put,
    rows,
    seal,
    table,
)
from tests.unit.storage.logs import NOW_MS, all_batches, append, marker, open_partition

pytestmark = BOTH_SCANNERS


def transaction(log: Log, producer_id: int, sequence: int, *pairs: tuple[bytes, bytes | None], end: ControlType) -> None:
    append(log, rows(*pairs, producer_id=producer_id, sequence=sequence, transactional=True))
    append(log, marker(producer_id, end))


def kinds(log: Log) -> list[str]:
    def kind(batch: bytes) -> str:
        header = read_header(batch)
        name = "marker" if header.control else "data"
        return name if header.record_count else f"empty {name}"

    return [kind(batch) for batch in all_batches(log)]


def test_aborted_records_are_removed_and_supersede_nothing() -> None:
    log = new_table()
    put(log, (b"a", b"kept"), (b"b", b"kept"))
    transaction(log, 1, 0, (b"a", b"aborted"), (b"b", None), end=ControlType.ABORT)
    put(log, (b"c", b"1"))
    seal(log)
    clean_all(log, now_ms=NOW_MS)
    assert table(log) == {b"a": b"kept", b"b": b"kept", b"c": b"1"}
    assert all(record.value != b"aborted" for batch in all_batches(log) for record in open_batch(batch))


def test_committed_records_supersede_older_ones() -> None:
    log = new_table()
    put(log, (b"a", b"old"), (b"b", b"old"))
    transaction(log, 1, 0, (b"a", b"new"), (b"b", None), end=ControlType.COMMIT)
    seal(log)
    clean_all(log)
    assert [(record.key, record.value) for record in committed(log)] == [(b"a", b"new"), (b"b", None)]


def test_a_marker_stays_while_its_transaction_has_records() -> None:
    log = new_table()
    transaction(log, 1, 0, (b"a", b"1"), end=ControlType.COMMIT)
    put(log, (b"z", b"1"))
    seal(log)
    far = NOW_MS + 100 * DAY_MS
    for _ in range(3):
        clean_and_swap(log, job_of(log, producers={}, now_ms=far))
    assert kinds(log) == ["data", "marker", "data"]
    assert not any(header.attributes & DELETE_HORIZON_BIT for header in headers(log))


def test_the_marker_of_a_transaction_without_records_is_removed_after_its_horizon() -> None:
    log = new_table()
    transaction(log, 1, 0, (b"a", b"1"), end=ControlType.COMMIT)
    transaction(log, 1, 1, (b"a", b"2"), end=ControlType.ABORT)
    put(log, (b"a", b"3"))
    seal(log)
    clean_and_swap(log, job_of(log, producers={}))
    assert kinds(log) == ["marker", "marker", "data"], "their records were removed in this pass"
    assert not any(header.attributes & DELETE_HORIZON_BIT for header in headers(log))
    clean_and_swap(log, job_of(log, producers={}))
    assert [header.base_timestamp for header in headers(log)[:2]] == [NOW_MS + DAY_MS] * 2
    assert [record.timestamp for record in open_batch(all_batches(log)[0])] == [NOW_MS], "a horizon changes no timestamp"
    clean_and_swap(log, job_of(log, producers={}, now_ms=NOW_MS + DAY_MS - 1))
    assert kinds(log) == ["marker", "marker", "data"]
    clean_and_swap(log, job_of(log, producers={}, now_ms=NOW_MS + DAY_MS))
    assert kinds(log) == ["data"]


def test_aborted_transactions_are_found_by_readers_of_the_cleaned_segment() -> None:
    log = new_table()
    transaction(log, 1, 0, (b"a", b"1"), end=ControlType.ABORT)
    put(log, (b"b", b"1"))
    seal(log)
    before = log.aborted_transactions(0, log.log_end_offset)
    clean_and_swap(log, job_of(log))
    assert log.aborted_transactions(0, log.log_end_offset) == before
    clean_and_swap(log, job_of(log, producers={}))
    clean_and_swap(log, job_of(log, producers={}))
    assert log.aborted_transactions(0, log.log_end_offset) == [], "no record of it is left"


def test_a_transaction_may_span_groups_and_end_behind_the_cleaned_part() -> None:
    log = new_table()
    append(log, rows((b"a", b"1"), producer_id=1, sequence=0, transactional=True))
    seal(log)
    append(log, rows((b"b", b"1"), producer_id=1, sequence=1, transactional=True))
    put(log, (b"a", b"other"))
    seal(log)
    append(log, marker(1, ControlType.ABORT))
    clean_and_swap(log, job_of(log, group_bytes_max=0))
    assert table(log) == {b"a": b"other"}
    assert kinds(log) == ["empty data", "empty data", "data", "marker"]
    seal(log)
    clean_and_swap(log, job_of(log, group_bytes_max=0))
    assert kinds(log)[-1] == "marker"


def test_the_last_batch_of_an_active_producer_stays_empty_with_its_sequence_numbers() -> None:
    log = new_table()
    append(log, rows((b"a", b"1"), (b"b", b"1"), producer_id=7, sequence=0))
    append(log, rows((b"a", b"2"), (b"b", b"2"), producer_id=7, sequence=2))
    put(log, (b"a", b"3"), (b"b", b"3"))
    seal(log)
    clean_and_swap(log, job_of(log))
    last, *_ = headers(log)
    assert (last.producer_id, last.base_sequence, last.last_sequence, last.record_count) == (7, 2, 3, 0)
    reopened = open_partition(log.disk, log.settings)
    reopened.producers.clear()
    for batch in all_batches(reopened):
        reopened.producers.replay(read_header(batch), batch, read_header(batch).base_offset)
    assert reopened.producers.producers[7].last_sequence == 3


def test_an_expired_producer_keeps_no_batch() -> None:
    log = new_table()
    append(log, rows((b"a", b"1"), producer_id=7, sequence=0))
    put(log, (b"a", b"3"))
    seal(log)
    clean_and_swap(log, job_of(log, producers={}))
    assert [header.producer_id for header in headers(log)] == [-1]


def test_the_marker_that_raised_an_epoch_stays_until_the_producer_writes_in_it() -> None:
    log = new_table()
    append(log, rows((b"a", b"1"), producer_id=7, sequence=0, transactional=True))
    append(log, marker(7, ControlType.ABORT, epoch=1))
    put(log, (b"z", b"1"))
    seal(log)
    far = NOW_MS + 10 * DAY_MS
    for step in range(4):
        clean_and_swap(log, job_of(log, now_ms=far + step * 2 * DAY_MS))
    assert kinds(log) == ["empty marker", "data"]
    assert headers(log)[0].producer_epoch == 1


def test_control_batches_of_other_kinds_stay() -> None:
    log = new_table()
    append(log, build_control_batch([(ControlType.LEADER_CHANGE, b"\0" * 12)], base_offset=0, timestamp=NOW_MS, leader_epoch=0))
    put(log, (b"a", b"1"), (b"a", b"2"))
    seal(log)
    for _ in range(2):
        clean_and_swap(log, job_of(log, now_ms=NOW_MS + 10 * DAY_MS, producers={}))
    assert kinds(log) == ["marker", "data"]


def test_an_old_abort_does_not_affect_the_producers_next_transaction() -> None:
    log = new_table()
    transaction(log, 1, 0, (b"a", b"aborted"), end=ControlType.ABORT)
    seal(log)
    transaction(log, 1, 1, (b"a", b"committed"), end=ControlType.COMMIT)
    put(log, (b"z", b"1"))
    seal(log)
    clean_and_swap(log, job_of(log, first_dirty=2))
    assert table(log) == {b"a": b"committed", b"z": b"1"}
