"""Transactions in one partition: their verification, their end, and readers of committed data."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.records.control_batch import ControlType
from barnabas.records.validation import Refused
from barnabas.replication.partition import NOT_VERIFIED, Partition
from barnabas.replication.waiting_fetch import WaitingFetch
from barnabas.storage.log import Appended
from barnabas.storage.log_settings import LogSettings
from tests.unit.replication.made import ME, World, led_by
from tests.unit.storage.logs import data, sent

NOW_MS = 1_700_000_000_000
PRODUCER = 5


def begin(partition: Partition, *, producer: int = PRODUCER, sequence: int = 0, epoch: int = 0, count: int = 1) -> Appended | Refused:
    verification = partition.verifications.begin(producer, epoch)
    batch = sent(producer, sequence, epoch=epoch, count=count, transactional=True)
    outcome = partition.append(memoryview(batch), -1, NOW_MS, verification)
    partition.verifications.end(verification)
    return outcome


def end(
    partition: Partition, *, commit: bool = True, producer: int = PRODUCER, epoch: int = 0, coordinator: int = 0, epoch_rises: bool = False
) -> Appended | Refused:
    return partition.end_transaction(
        ControlType.COMMIT if commit else ControlType.ABORT,
        producer_id=producer,
        producer_epoch=epoch,
        coordinator_epoch=coordinator,
        epoch_rises=epoch_rises,
        now_ms=NOW_MS,
    )


def code(outcome: Appended | Refused) -> ErrorCode:
    return outcome.code if isinstance(outcome, Refused) else ErrorCode.NONE


def test_only_the_first_batch_of_a_transaction_needs_verification() -> None:
    partition = World().partition()
    batch = sent(PRODUCER, 0, transactional=True)
    before = bytes(batch)
    assert partition.append(memoryview(batch), -1, NOW_MS) is NOT_VERIFIED
    assert bytes(batch) == before, "it will come again"
    assert begin(partition) == Appended(0, 0, -1)
    assert partition.append(memoryview(sent(PRODUCER, 1, transactional=True)), -1, NOW_MS) == Appended(1, 1, -1)


def test_a_verification_of_another_producer_or_epoch_does_not_count() -> None:
    partition = World().partition()
    for producer, epoch in ((6, 0), (PRODUCER, 1)):
        verification = partition.verifications.begin(producer, epoch)
        assert partition.append(memoryview(sent(PRODUCER, 0, transactional=True)), -1, NOW_MS, verification) is NOT_VERIFIED


def test_a_verification_is_void_after_the_end_of_its_transaction() -> None:
    """Otherwise the batch would begin a transaction that never ends."""
    partition = World().partition()
    verification = partition.verifications.begin(PRODUCER, 0)
    assert isinstance(end(partition, commit=False), Appended)
    assert partition.append(memoryview(sent(PRODUCER, 0, transactional=True)), -1, NOW_MS, verification) is NOT_VERIFIED
    assert partition.last_stable_offset == partition.high_watermark


def test_a_verification_counts_again_when_the_coordinator_is_asked_after_the_end() -> None:
    partition = World().partition()
    verification = partition.verifications.begin(PRODUCER, 1)
    assert isinstance(end(partition, epoch=1), Appended)
    verification.renew()
    batch = sent(PRODUCER, 0, epoch=1, transactional=True)
    assert isinstance(partition.append(memoryview(batch), -1, NOW_MS, verification), Appended)


def test_a_batch_waits_behind_an_earlier_one_whose_verification_is_in_flight() -> None:
    partition = World().partition()
    begin(partition)
    earlier = partition.verifications.begin(PRODUCER, 0)
    later = memoryview(sent(PRODUCER, 2, transactional=True))
    assert partition.append(later, -1, NOW_MS) is NOT_VERIFIED
    assert partition.append(memoryview(sent(PRODUCER, 1, transactional=True)), -1, NOW_MS, earlier) == Appended(1, 1, -1)
    partition.verifications.end(earlier)
    assert partition.append(later, -1, NOW_MS) == Appended(2, 2, -1)


def test_a_retry_is_answered_like_the_first_time_after_its_transaction_ended() -> None:
    partition = World().partition()
    begin(partition)
    end(partition)
    retried = partition.append(memoryview(sent(PRODUCER, 0, transactional=True)), -1, NOW_MS)
    assert retried == Appended(0, 0, -1, duplicate=True)


def test_readers_of_committed_data_stop_at_the_first_open_transaction() -> None:
    partition = World().partition()
    partition.append(memoryview(data()), -1, NOW_MS)
    begin(partition)
    begin(partition, producer=6)
    assert (partition.high_watermark, partition.last_stable_offset) == (3, 1)
    end(partition)
    assert partition.last_stable_offset == 2
    end(partition, producer=6, commit=False)
    assert partition.last_stable_offset == partition.high_watermark == 5
    assert [each.producer_id for each in partition.log.aborted_transactions(0, 5)] == [6]


def test_a_transaction_whose_end_is_not_replicated_still_holds_readers_of_committed_data() -> None:
    partition = World().partition(image=led_by(ME, replicas=(ME, 2)), settings=LogSettings())
    begin(partition)
    end(partition)
    assert partition.last_stable_offset == 0
    partition.follow_metadata(led_by(ME, replicas=(ME, 2), isr=(ME,)))
    assert partition.last_stable_offset == partition.high_watermark == 2


def test_a_fenced_producer_or_coordinator_ends_no_transaction() -> None:
    partition = World().partition()
    begin(partition, epoch=3)
    assert code(end(partition, epoch=2)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert isinstance(end(partition, epoch=3, coordinator=4), Appended)
    begin(partition, epoch=3, sequence=1)
    assert code(end(partition, epoch=3, coordinator=3)) == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert partition.last_stable_offset < partition.high_watermark


def test_a_late_marker_does_not_end_the_next_transaction_of_a_raised_epoch() -> None:
    partition = World().partition()
    begin(partition, epoch=0)
    assert isinstance(end(partition, epoch=1, epoch_rises=True), Appended)
    begin(partition, epoch=1)
    assert code(end(partition, epoch=1, epoch_rises=True)) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert isinstance(end(partition, epoch=2, epoch_rises=True), Appended)
    assert isinstance(end(partition, epoch=2, epoch_rises=True), Appended), "told twice, which is harmless"


def test_too_few_in_sync_replicas_refuse_end_markers() -> None:
    partition = World().partition(image=led_by(ME, replicas=(ME, 2), isr=(ME,)), settings=LogSettings(min_insync_replicas=2))
    assert code(end(partition)) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert code(partition.append_own(data(), NOW_MS)) == ErrorCode.NOT_ENOUGH_REPLICAS


def test_a_coordinators_batch_has_no_sequence_and_is_never_a_duplicate() -> None:
    partition = World().partition()
    for _ in range(2):
        batch = sent(PRODUCER, -1, transactional=True)
        assert isinstance(partition.append_own(batch, NOW_MS), Appended)
    assert partition.log.log_end_offset == 2
    assert partition.last_stable_offset == 0


def test_a_coordinators_batch_can_be_too_large() -> None:
    partition = World().partition()
    assert code(partition.append_own(bytearray(2_000_000), NOW_MS)) == ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("alone", [True, False])
def test_a_wait_for_replication_ends_with_the_commit_or_an_error(alone: bool) -> None:
    partition = World().partition(image=led_by(ME, replicas=(ME, 2)))
    partition.append_own(data(), NOW_MS)
    waiting = partition.replicated(1)
    assert not waiting.done
    if alone:
        partition.follow_metadata(led_by(ME, replicas=(ME, 2), isr=(ME,)))
        assert waiting.value == ErrorCode.NONE
        assert partition.replicated(1).value == ErrorCode.NONE
    else:
        partition.follow_metadata(led_by(2, replicas=(ME, 2), epoch=9))
        assert waiting.value == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_readers_of_committed_data_sleep_through_open_transactions() -> None:
    partition = World().partition()
    woken: list[str] = []
    WaitingFetch([partition], missing_bytes=1, complete=lambda: woken.append("all"))
    WaitingFetch([partition], missing_bytes=1, complete=lambda: woken.append("committed"), committed_only=True)
    begin(partition)
    assert woken == ["all"]
    end(partition)
    assert woken == ["all", "committed"]
