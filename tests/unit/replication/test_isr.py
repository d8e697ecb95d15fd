"""The ISR as its leader keeps it: the high watermark, followers that join and that leave."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.metadata.cluster import BrokerImage
from barnabas.metadata.topics import PartitionImage
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.replication.cluster_view import ClusterView
from barnabas.replication.isr import InSync, Isr, IsrAnswer
from barnabas.replication.leadership import Leadership
from barnabas.replication.progress import ReplicaProgress

LAG_MS = 1000
THREE = PartitionImage((1, 2, 3), (1, 2, 3), 1, leader_epoch=5, partition_epoch=10)


def broker(node_id: int, *, epoch: int = 7, fenced: bool = False, leaving: bool = False) -> BrokerImage:
    return BrokerImage(node_id, epoch, Uuid(bytes(16)), (), fenced=fenced, in_controlled_shutdown=leaving)


class Led:
    """Node 1 leads. Its log ends at 100, and its epoch began there, unless the test says
    otherwise."""

    def __init__(self, image: PartitionImage = THREE, *, end: int = 100) -> None:
        self.brokers = {each: broker(each) for each in image.replicas}
        self.cluster_view = ClusterView(broker=self.brokers.get, own_epoch=lambda: 70, lag_ms_max=LAG_MS)
        self.image, self.end = image, end
        self.leadership = Leadership(image, self.cluster_view, node_id=1, log_end_offset=end, now_ms=0)

    def fetched(self, replica: int, offset: int, *, now_ms: int = 0, epoch: int = 7) -> None:
        progress = self.leadership.followers[replica]
        progress.fetched(offset, log_start_offset=0, replica_epoch=epoch, leader_end_offset=self.end, now_ms=now_ms)
        progress.look(self.end, now_ms=now_ms, lag_ms_max=LAG_MS)

    @property
    def high_watermark(self) -> int:
        return self.leadership.high_watermark(self.end)


# -- progress ---------------------------------------------------------------------------------


def keeps_up(progress: ReplicaProgress, end: int, now_ms: int) -> bool:
    return progress.look(end, now_ms=now_ms, lag_ms_max=LAG_MS)


def fetched(progress: ReplicaProgress, offset: int, end: int, now_ms: int) -> None:
    progress.fetched(offset, log_start_offset=0, replica_epoch=1, leader_end_offset=end, now_ms=now_ms)


def test_a_follower_that_fetches_the_end_is_caught_up() -> None:
    progress = ReplicaProgress(caught_up_ms=0, caught_up=False)
    fetched(progress, 50, 50, now_ms=5000)
    assert keeps_up(progress, 90, 6000)
    assert not keeps_up(progress, 90, 6001)


def test_a_follower_that_fetches_the_previous_end_was_caught_up_at_its_last_fetch() -> None:
    """A follower of a busy partition never asks for the end, and yet it is never more than one
    fetch behind."""
    progress = ReplicaProgress(caught_up_ms=0, caught_up=False)
    fetched(progress, 10, 50, now_ms=5000)
    assert progress.caught_up_ms == 0
    fetched(progress, 50, 90, now_ms=5400)
    assert progress.caught_up_ms == 5000


def test_a_silent_follower_with_every_record_does_not_lag() -> None:
    progress = ReplicaProgress(caught_up_ms=0, caught_up=False)
    fetched(progress, 50, 50, now_ms=5000)
    assert keeps_up(progress, 50, 10**9)


# -- the high watermark -----------------------------------------------------------------------


def test_a_new_leader_without_fetches_commits_nothing() -> None:
    assert Led().high_watermark == -1


def test_the_high_watermark_is_the_lowest_end_of_the_isr() -> None:
    led = Led()
    led.fetched(2, 80)
    led.fetched(3, 60)
    assert led.high_watermark == 60


def test_a_follower_outside_the_isr_does_not_hold_back_the_high_watermark() -> None:
    led = Led(replace(THREE, isr=(1, 2)))
    led.fetched(2, 80)
    led.fetched(3, 10)
    assert led.high_watermark == 80


def test_a_caught_up_follower_counts_before_it_joins_the_isr() -> None:
    led = Led(replace(THREE, isr=(1, 2)))
    led.fetched(2, 100)
    led.fetched(3, 100)
    led.end = 150
    assert led.high_watermark == 100
    led.fetched(2, 150)
    assert led.high_watermark == 100


@pytest.mark.parametrize("there", [None, broker(3, fenced=True), broker(3, leaving=True), broker(3, epoch=8)])
def test_a_caught_up_follower_that_the_controller_would_refuse_does_not_count(there: BrokerImage | None) -> None:
    led = Led(replace(THREE, isr=(1, 2)))
    if there is None:
        del led.brokers[3]
    else:
        led.brokers[3] = there
    led.fetched(3, 100)
    led.end = 150
    led.fetched(2, 150)
    assert led.high_watermark == 150


# -- joining the ISR --------------------------------------------------------------------------


def test_a_follower_with_all_committed_records_joins_with_the_broker_epochs_of_the_isr() -> None:
    led = Led(replace(THREE, isr=(1, 2)))
    led.fetched(3, 100)
    change = led.leadership.expand(3, high_watermark=80)
    assert change is not None
    assert change.isr == (InSync(1, 70), InSync(2, -1), InSync(3, 7))
    assert (change.leader_epoch, change.partition_epoch, change.grows) == (5, 10, True)
    assert led.leadership.isr.maximal == {1, 2, 3}
    assert led.leadership.isr.committed == (1, 2)


def test_a_follower_joins_the_isr_only_in_the_epoch_of_the_leader() -> None:
    """The previous leader may have committed records above the high watermark that the new leader
    knows."""
    led = Led(replace(THREE, isr=(1, 2)), end=100)
    led.fetched(3, 99)
    assert led.leadership.expand(3, high_watermark=80) is None


def test_an_old_incarnation_does_not_join_the_isr() -> None:
    led = Led(replace(THREE, isr=(1, 2)))
    led.fetched(3, 100, epoch=6)
    assert led.leadership.expand(3, high_watermark=80) is None


def test_one_change_at_a_time() -> None:
    led = Led(replace(THREE, isr=(1,)))
    led.fetched(2, 100)
    led.fetched(3, 100)
    assert led.leadership.expand(2, high_watermark=0) is not None
    assert led.leadership.expand(3, high_watermark=0) is None


# -- leaving the ISR --------------------------------------------------------------------------


def test_a_lagging_follower_leaves_the_isr_and_counts_until_the_change_is_committed() -> None:
    led = Led()
    led.fetched(2, 100, now_ms=LAG_MS + 1)
    led.fetched(3, 50, now_ms=LAG_MS + 1)
    led.end = 120
    change = led.leadership.shrink(120, now_ms=LAG_MS + 1)
    assert change is not None
    assert change.members == {1, 2}
    assert led.high_watermark == 50
    assert led.leadership.isr.agreed(change, IsrAnswer((1, 2), 5, 11))
    assert led.high_watermark == 100


def test_a_follower_within_its_lag_time_stays_in_the_isr() -> None:
    led = Led()
    assert led.leadership.shrink(100, now_ms=LAG_MS) is None


def test_a_leader_never_removes_itself_from_the_isr() -> None:
    led = Led()
    change = led.leadership.shrink(100, now_ms=LAG_MS + 1)
    assert change is not None
    assert change.members == {1}


# -- answers of the controller ----------------------------------------------------------------


def pending() -> tuple[Isr, object]:
    isr = Isr(replace(THREE, isr=(1, 2)))
    return isr, isr.propose([InSync(1, 1), InSync(2, 1), InSync(3, 1)], grows=True)


def test_newer_metadata_ends_a_pending_change() -> None:
    isr, _ = pending()
    isr.follow(replace(THREE, isr=(1,), partition_epoch=11))
    assert (isr.committed, set(isr.maximal), isr.pending, isr.partition_epoch) == ((1,), {1}, None, 11)


def test_known_metadata_does_not_end_a_pending_change() -> None:
    """Otherwise the high watermark could pass a follower that the controller is adding to the
    ISR."""
    isr, change = pending()
    isr.follow(replace(THREE, isr=(1, 2)))
    assert isr.pending is change
    assert isr.maximal == {1, 2, 3}


@pytest.mark.parametrize("answer", [IsrAnswer((1, 2, 3), 4, 11), IsrAnswer((1, 2, 3), 5, 9)])
def test_answers_of_another_epoch_change_nothing(answer: IsrAnswer) -> None:
    isr, change = pending()
    assert not isr.agreed(change, answer)  # type: ignore[arg-type]
    assert isr.pending is change


def test_a_refused_change_restores_the_isr() -> None:
    isr, change = pending()
    assert not isr.refused(change, ErrorCode.INELIGIBLE_REPLICA)  # type: ignore[arg-type]
    assert (isr.pending, set(isr.maximal)) == (None, {1, 2})


def test_a_refusal_for_stale_metadata_waits_for_the_metadata() -> None:
    isr, change = pending()
    assert not isr.refused(change, ErrorCode.INVALID_UPDATE_VERSION)  # type: ignore[arg-type]
    assert isr.pending is change


def test_a_change_with_an_unknown_error_is_proposed_again() -> None:
    isr, change = pending()
    assert isr.refused(change, ErrorCode.UNKNOWN_SERVER_ERROR)  # type: ignore[arg-type]


# -- deleting ---------------------------------------------------------------------------------


def test_the_low_watermark_is_the_lowest_log_start_of_live_replicas() -> None:
    led = Led()
    for replica, start in ((2, 30), (3, 10)):
        led.leadership.followers[replica].fetched(100, log_start_offset=start, replica_epoch=7, leader_end_offset=100, now_ms=0)
    assert led.leadership.low_watermark(50) == 10
    led.brokers[3] = broker(3, fenced=True)
    assert led.leadership.low_watermark(50) == 30
