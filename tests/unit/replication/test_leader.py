"""A leader with followers: when records are committed, and which waiting requests it answers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.metadata.cluster import BrokerImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise
from barnabas.replication.cluster_view import ClusterView
from barnabas.replication.isr import IsrAnswer, IsrChange
from barnabas.replication.partition import Partition
from barnabas.replication.reads import READ_UNCOMMITTED, read_for_follower, read_partition
from barnabas.replication.waiting_fetch import WaitingFetch
from barnabas.storage.log import Appended
from barnabas.storage.log_settings import LogSettings
from tests.unit.replication.made import ME, NOW_MS, World, led_by
from tests.unit.storage.logs import BATCH_BYTES, data

ALL = (ME, 2, 3)
EPOCH = 9


class Asking:
    """The way to the controller; it keeps the proposed changes."""

    def __init__(self) -> None:
        self.changes: list[IsrChange] = []
        self.brokers = {each: BrokerImage(each, EPOCH, Uuid(bytes(16)), (), fenced=False) for each in ALL}

    def fence(self, broker: int) -> None:
        self.brokers[broker] = replace(self.brokers[broker], fenced=True)

    def cluster_view(self) -> ClusterView:
        return ClusterView(
            broker=self.brokers.get, own_epoch=lambda: EPOCH, propose=lambda _, change: self.changes.append(change), lag_ms_max=1000
        )


def leader(asking: Asking | None = None, *, isr: tuple[int, ...] = ALL, min_isr: int = 1) -> Partition:
    partition = World().partition(
        image=led_by(ME, replicas=ALL, isr=isr),
        settings=LogSettings(min_insync_replicas=min_isr),
        cluster_view=(asking or Asking()).cluster_view(),
    )
    for _ in range(3):
        append(partition)
    return partition


def append(partition: Partition) -> int:
    outcome = partition.append(memoryview(data()), -1, NOW_MS)
    assert isinstance(outcome, Appended)
    return outcome.last_offset + 1


def fetched(partition: Partition, replica: int, offset: int, *, epoch: int = EPOCH, now_ms: int = 0) -> ErrorCode:
    return partition.follower_fetched(replica, offset=offset, log_start_offset=0, replica_epoch=epoch, now_ms=now_ms)


def result_of(promise: Promise[ErrorCode]) -> ErrorCode | None:
    return promise.value if promise.done else None


def test_acks_all_waits_for_the_last_in_sync_replica() -> None:
    partition = leader()
    replicated = partition.replicated(3)
    fetched(partition, 2, 3)
    assert result_of(replicated) is None
    fetched(partition, 3, 2)
    assert (result_of(replicated), partition.high_watermark) == (None, 2)
    fetched(partition, 3, 3)
    assert (result_of(replicated), partition.high_watermark) == (ErrorCode.NONE, 3)


def test_the_high_watermark_does_not_go_back_when_a_follower_does() -> None:
    partition = leader()
    for replica in (2, 3):
        fetched(partition, replica, 3)
    fetched(partition, 3, 1)
    assert partition.high_watermark == 3


def test_an_isr_below_the_minimum_commits_nothing_for_any_acks() -> None:
    asking = Asking()
    partition = leader(asking, min_isr=2)
    promise = partition.replicated(3)
    # Node 2 has the record, and both followers leave the ISR before that counts.
    change = partition.check_isr(2000)
    assert change is not None
    partition.isr_agreed(change, IsrAnswer((ME,), 0, 10**6))
    fetched(partition, 2, 3)
    assert partition.high_watermark == 0
    assert result_of(promise) is None


def test_a_shrink_counts_when_the_controller_has_agreed() -> None:
    partition = leader()
    fetched(partition, 2, 3, now_ms=2000)
    promise = partition.replicated(3)
    change = partition.check_isr(2000)
    assert change is not None
    assert result_of(promise) is None
    partition.isr_agreed(change, IsrAnswer((ME, 2), 0, 10**6))
    assert result_of(promise) == ErrorCode.NONE
    assert partition.isr == (ME, 2)


def test_a_follower_that_catches_up_is_proposed_and_counts_from_that_moment() -> None:
    asking = Asking()
    partition = leader(asking, isr=(ME, 2))
    fetched(partition, 2, 3)
    fetched(partition, 3, 3)
    assert [change.members for change in asking.changes] == [{ME, 2, 3}]
    promise = partition.replicated(append(partition))
    fetched(partition, 2, 4)
    assert result_of(promise) is None
    fetched(partition, 3, 4)
    assert result_of(promise) == ErrorCode.NONE


def test_a_deposed_leader_answers_waiting_requests_not_leader() -> None:
    partition = leader()
    promise = partition.replicated(3)
    partition.follow_metadata(led_by(2, replicas=ALL, epoch=1))
    assert result_of(promise) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert result_of(partition.replicated(3)) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_leader_that_is_elected_again_keeps_its_state() -> None:
    partition = leader()
    fetched(partition, 2, 3)
    promise = partition.replicated(3)
    partition.follow_metadata(led_by(ME, replicas=ALL, epoch=1))
    assert result_of(promise) is None
    fetched(partition, 3, 3)
    assert result_of(promise) == ErrorCode.NONE


def test_metadata_older_than_the_controllers_answer_is_left_alone() -> None:
    partition = leader()
    older = led_by(ME, replicas=ALL)
    change = partition.check_isr(2000)
    assert change is not None
    partition.isr_agreed(change, IsrAnswer((ME,), 0, 10**6))
    partition.follow_metadata(older)
    assert partition.isr == (ME,)


def test_a_broker_that_was_restarted_since_cannot_acknowledge() -> None:
    partition = leader()
    assert fetched(partition, 2, 3, epoch=EPOCH - 1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    fetched(partition, 3, 3)
    assert partition.high_watermark == 0


@pytest.mark.parametrize("epoch", [-1, EPOCH + 1, 2**63 - 1])
def test_a_fetch_with_an_unknown_broker_epoch_acknowledges_nothing(epoch: int) -> None:
    """CVE-2018-1288. A broker that has just registered and that this leader does not know yet asks
    again."""
    partition = leader()
    assert fetched(partition, 2, 3, epoch=epoch) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    fetched(partition, 3, 3)
    assert partition.high_watermark == 0


def test_a_broker_without_a_replica_cannot_acknowledge() -> None:
    assert fetched(leader(), 4, 3) == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_followers_wake_when_something_is_appended_and_consumers_when_it_is_committed() -> None:
    partition = leader()
    woken: list[str] = []
    WaitingFetch([partition], missing_bytes=1, complete=lambda: woken.append("follower"), follower=True)
    WaitingFetch([partition], missing_bytes=4 * BATCH_BYTES, complete=lambda: woken.append("consumer"))
    append(partition)
    assert woken == ["follower"]
    fetched(partition, 2, 4)
    fetched(partition, 3, 3)
    assert woken == ["follower"]
    fetched(partition, 3, 4)
    assert woken == ["follower", "consumer"]


def read(partition: Partition, replica: int, *, offset: int = 0, epoch: int = 0, last_epoch: int = -1) -> ErrorCode | int:
    found = read_for_follower(
        partition,
        replica,
        offset=offset,
        size_bytes_max=1 << 20,
        current_leader_epoch=epoch,
        last_fetched_epoch=last_epoch,
        at_least_one=True,
    )
    return found.error if found.error else found.size_bytes


def test_followers_read_to_the_end_and_consumers_to_the_high_watermark() -> None:
    partition = leader()
    assert read(partition, 2) == 3 * BATCH_BYTES
    consumed = read_partition(partition, offset=0, size_bytes_max=1 << 20, isolation=READ_UNCOMMITTED, at_least_one=True)
    assert consumed.size_bytes == 0


def test_a_replica_fetch_must_have_the_epoch_of_the_leader() -> None:
    partition = leader()
    assert read(partition, 4) == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert read(partition, 4, epoch=-1) == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert read(partition, 2, epoch=1) == ErrorCode.UNKNOWN_LEADER_EPOCH
    partition.follow_metadata(led_by(ME, replicas=ALL, epoch=1))
    assert read(partition, 2, epoch=0) == ErrorCode.FENCED_LEADER_EPOCH


def test_records_are_deleted_when_every_live_replica_has_deleted_them() -> None:
    partition = leader()
    for replica in (2, 3):
        fetched(partition, replica, 3)
    assert partition.delete_records(2) == 2
    promise = partition.deleted(2)
    for replica in (2, 3):
        assert result_of(promise) is None
        partition.follower_fetched(replica, offset=3, log_start_offset=2, replica_epoch=EPOCH, now_ms=0)
    assert result_of(promise) == ErrorCode.NONE


def test_records_are_deleted_once_the_only_replica_that_has_them_is_fenced() -> None:
    asking = Asking()
    partition = leader(asking)
    for replica in (2, 3):
        fetched(partition, replica, 3)
    partition.delete_records(2)
    promise = partition.deleted(2)
    partition.follower_fetched(2, offset=3, log_start_offset=2, replica_epoch=EPOCH, now_ms=0)
    assert result_of(promise) is None
    asking.fence(3)
    partition.brokers_changed()
    assert result_of(promise) == ErrorCode.NONE


def test_metadata_that_removes_a_fenced_broker_from_the_isr_moves_the_high_watermark_at_once() -> None:
    """The follower had caught up a moment before it died, so it counts exactly as long as its
    broker is active."""
    asking = Asking()
    partition = leader(asking)
    for replica in (2, 3):
        fetched(partition, replica, 3)
    promise = partition.replicated(append(partition))
    fetched(partition, 2, 4)
    assert result_of(promise) is None
    assert partition.held_up_by() == [3]
    asking.fence(3)
    partition.follow_metadata(led_by(ME, replicas=ALL, isr=(ME, 2)))
    assert result_of(promise) == ErrorCode.NONE
    assert partition.held_up_by() == []


def test_fencing_a_broker_that_is_no_longer_in_sync_moves_the_high_watermark_without_metadata_of_the_partition() -> None:
    asking = Asking()
    partition = leader(asking)
    for replica in (2, 3):
        fetched(partition, replica, 3)
    promise = partition.replicated(append(partition))
    fetched(partition, 2, 4)
    partition.follow_metadata(led_by(ME, replicas=ALL, isr=(ME, 2)))
    # Broker 3 is active and was caught up: the controller may let it back in.
    assert result_of(promise) is None
    asking.fence(3)
    partition.brokers_changed()
    assert result_of(promise) == ErrorCode.NONE


def idle(partition: Partition, *, offset: int = 3, last_epoch: int = 0, now_ms: int = 0, replica: int = 2) -> bool:
    return partition.nothing_new(
        replica,
        offset=offset,
        log_start_offset=0,
        leader_epoch=partition.leader_epoch,
        last_epoch=last_epoch,
        replica_epoch=EPOCH,
        now_ms=now_ms,
    )


def test_a_follower_that_fetches_again_at_the_end_keeps_up() -> None:
    partition = leader()
    assert not idle(partition)
    for replica in (2, 3):
        fetched(partition, replica, 3)
    assert idle(partition, now_ms=5000)
    append(partition)
    assert not idle(partition, now_ms=5000)
    change = partition.check_isr(5500)
    assert change is not None
    assert change.members == {ME, 2}


def test_an_idle_fetch_is_checked_again_when_the_leader_epoch_changes() -> None:
    partition = leader()
    fetched(partition, 2, 3)
    assert not idle(partition, last_epoch=7)
    partition.follow_metadata(led_by(ME, replicas=ALL, epoch=5))
    assert idle(partition, last_epoch=0)


def test_a_damaged_replica_is_out_of_service_until_it_may_be_dropped() -> None:
    partition = leader()
    assert partition.found_damage(1)
    served = []
    for image in (led_by(ME, replicas=ALL, epoch=1), led_by(2, replicas=ALL, isr=(2, 3), epoch=2)):
        served.append((partition.online, partition.leads))
        partition.follow_metadata(image)
    assert [*served, (partition.online, partition.leads)] == [(False, False), (False, False), (True, False)]
    assert partition.log.log_end_offset == 1


def test_a_damaged_replica_that_is_the_only_copy_is_kept() -> None:
    partition = leader(isr=(ME,))
    assert not partition.found_damage(1)
    assert partition.leads
