"""The leader: fetches served and parked, the high watermark, and diverged followers."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId
from barnabas.quorum.core.effects import Committed, Reply, ReplyWithRecords, ReplyWithSnapshot
from barnabas.quorum.core.events import Append, LogTrimmed, Requested
from barnabas.quorum.core.log_outline import OffsetAndEpoch
from barnabas.quorum.core.messages import snapshot_request
from barnabas.quorum.core.settings import OBSERVER_SESSION_MS
from tests.unit.quorum.core.made import CLUSTER, OneOfThree, fetch, key, log_of


def leader(**kinds: Any) -> OneOfThree:
    node = OneOfThree(**kinds)
    node.lead()
    return node


def partition(response: Any) -> Any:
    return response.responses[0].partitions[0]


# -- the high watermark -----------------------------------------------------------------------


def test_a_majority_on_disk_commits_and_the_leader_counts() -> None:
    node = leader()
    node.ask(fetch(2, 1, end=(1, 1)))
    assert node.core.high_watermark == 0  # Two nodes have written it, and one has it on disk.
    assert node.flush() == [Committed(1), *[effect for effect in node.effects if isinstance(effect, Reply)]]
    assert node.core.high_watermark == 1


def test_followers_alone_can_be_the_majority() -> None:
    node = leader()
    node.ask(fetch(2, 1, end=(1, 1)))
    node.ask(fetch(3, 1, end=(1, 1)))
    assert node.core.high_watermark == 1


def test_batches_of_older_epochs_are_not_committed_before_one_of_the_current_epoch() -> None:
    """Raft, figure 8: a majority that has them may still be overruled."""
    node = leader(log=log_of((1, 0), end=5))
    node.flush()
    node.ask(fetch(2, 2, end=(5, 1)))
    assert node.core.high_watermark == 0
    assert node.core.told_high_watermark == -1
    node.ask(fetch(2, 2, end=(6, 2)))
    assert node.core.high_watermark == 6


def test_observers_do_not_count() -> None:
    node = leader()
    node.flush()
    node.ask(fetch(9, 1, end=(1, 1)))
    assert node.core.high_watermark == 0
    assert [each.key.node_id for each in node.core.replicas(node.now_ms)[1]] == [9]


def test_a_follower_that_falls_back_does_not_lower_the_high_watermark() -> None:
    node = leader()
    node.flush()
    node.ask(fetch(2, 1, end=(1, 1)))
    node.step(Append((b"a",)))
    node.ask(fetch(2, 1, end=(0, 0)))
    assert node.core.high_watermark == 1


# -- serving ----------------------------------------------------------------------------------


def test_a_fetch_below_the_end_gets_records_at_once() -> None:
    node = leader()
    response = node.ask(fetch(2, 1))
    assert [effect.offset for effect in node.found(ReplyWithRecords)] == [0]
    assert partition(response).high_watermark == -1
    assert (partition(response).current_leader.leader_id, partition(response).current_leader.leader_epoch) == (1, 1)
    assert [(each.node_id, each.host) for each in response.node_endpoints] == [(1, "n1")]
    assert node.ask(fetch(2, 1), version=16).node_endpoints == []


def test_a_fetch_at_the_end_waits_for_an_append() -> None:
    node = leader()
    assert node.ask(fetch(2, 1, end=(1, 1))) is None
    token = node.last_token
    node.step(Append((b"a",)))
    kinds = [type(effect).__name__ for effect in node.effects]
    assert kinds.index("WriteBatch") < kinds.index("ReplyWithRecords")
    assert node.reply_to(token) is not None


def test_a_fetch_at_the_end_waits_for_the_high_watermark() -> None:
    node = leader()
    node.flush()
    # This fetch itself commits the batch.
    assert node.ask(fetch(3, 1, end=(1, 1), high_watermark=-1)) is not None
    assert node.ask(fetch(2, 1, end=(1, 1), high_watermark=1)) is None
    assert partition(node.ask(fetch(9, 1, end=(1, 1), high_watermark=0))).high_watermark == 1
    token = node.last_token - 1
    node.step(Append((b"a",)))
    assert partition(node.reply_to(token)).high_watermark == 1


def test_a_fetch_that_reaches_its_maximum_wait_gets_nothing() -> None:
    node = leader()
    node.ask(fetch(2, 1, end=(1, 1)))
    token = node.last_token
    while node.reply_to(token) is None:
        node.wait()
    assert node.now_ms == 11_000 + 500
    assert partition(node.reply_to(token)).error_code == 0
    assert node.ask(fetch(2, 1, end=(1, 1), wait_ms=0)) is not None


def test_waiting_fetches_are_answered_when_the_leader_resigns() -> None:
    node = leader()
    node.ask(fetch(2, 1, end=(1, 1)))
    token = node.last_token
    node.follow(3, epoch=9)
    assert partition(node.reply_to(token)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(("epoch", "error"), [(0, ErrorCode.FENCED_LEADER_EPOCH), (2, ErrorCode.UNKNOWN_LEADER_EPOCH)])
def test_a_fetch_in_another_epoch_is_refused(epoch: int, error: ErrorCode) -> None:
    assert partition(leader().ask(fetch(2, epoch))).error_code == error


def test_a_follower_answers_with_the_leader() -> None:
    node = OneOfThree()
    node.follow(2, epoch=3)
    response = node.ask(fetch(3, 3))
    assert partition(response).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition(response).current_leader.leader_id == 2
    assert response.node_endpoints[0].host == "n2"


@pytest.mark.parametrize(
    "request_",
    [fetch(2, 1, end=(-1, 0)), fetch(2, 1, end=(0, -1)), fetch(2, 1, end=(0, 2)), fetch(2, 1, wait_ms=-1), fetch(1, 1)],
)
def test_an_impossible_fetch_is_refused(request_: Any) -> None:
    assert partition(leader().ask(request_)).error_code == ErrorCode.INVALID_REQUEST


def test_a_fetch_from_another_cluster_or_of_something_else_is_refused() -> None:
    node = leader()
    other = fetch(2, 1)
    other.cluster_id = "another"
    assert node.ask(other).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    wrong = fetch(2, 1)
    wrong.topics = []
    assert node.ask(wrong).error_code == ErrorCode.INVALID_REQUEST


# -- diverged logs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("end", "diverging"),
    [
        ((8, 3), (7, 3)),  # More of epoch 3 than the leader has.
        ((5, 2), (3, 1)),  # An epoch that the leader never had.
        ((50, 4), (8, 4)),  # More than the leader's whole log.
    ],
)
def test_a_diverged_follower_is_answered_with_the_diverging_epoch(end: tuple[int, int], diverging: tuple[int, int]) -> None:
    node = leader(log=log_of((1, 0), (3, 3), end=7))
    told = partition(node.ask(fetch(2, 4, end=end))).diverging_epoch
    assert (told.end_offset, told.epoch) == diverging
    assert node.core.replicas(node.now_ms)[0][1].end_offset == -1


def test_a_fetch_below_the_log_start_is_answered_with_a_snapshot() -> None:
    node = leader(log=log_of((3, 5), end=7, start=5, snapshots=[(5, 2)]))
    for end in ((0, 0), (3, 1), (5, 1)):
        told = partition(node.ask(fetch(2, 4, end=end))).snapshot_id
        assert (told.end_offset, told.epoch) == (5, 2)
    assert node.ask(fetch(2, 4, end=(5, 2))) is not None
    assert node.found(ReplyWithRecords)


def test_a_fetch_of_an_empty_log_is_answered_with_the_snapshot_even_when_the_log_is_complete() -> None:
    node = leader(log=log_of((1, 0), end=7))
    node.step(LogTrimmed(0, [OffsetAndEpoch(5, 1)]))
    assert partition(node.ask(fetch(2, 2))).snapshot_id.end_offset == 5


# -- snapshots --------------------------------------------------------------------------------


def piece(snapshot: tuple[int, int], *, epoch: int = 4, position: int = 0, size: int = 100) -> Any:
    return snapshot_request(
        CLUSTER, replica=key(2), epoch=epoch, snapshot=OffsetAndEpoch(*snapshot), position=position, size_bytes_max=size
    )


def test_a_piece_of_a_snapshot_is_read_at_its_position() -> None:
    node = leader(log=log_of((3, 5), end=7, start=5, snapshots=[(5, 2)]))
    node.step(Requested(7, piece((5, 2), position=40), 1))
    (effect,) = node.found(ReplyWithSnapshot)
    assert (effect.token, effect.snapshot, effect.position, effect.size_bytes_max) == (7, (5, 2), 40, 100)


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (piece((6, 2)), ErrorCode.SNAPSHOT_NOT_FOUND),
        (piece((5, 2), position=-1), ErrorCode.POSITION_OUT_OF_RANGE),
        (piece((5, 2), epoch=3), ErrorCode.FENCED_LEADER_EPOCH),
        (piece((5, 2), epoch=5), ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_a_missing_snapshot_or_a_wrong_position_is_refused(request_: Any, error: ErrorCode) -> None:
    node = leader(log=log_of((3, 5), end=7, start=5, snapshots=[(5, 2)]))
    assert node.ask(request_).topics[0].partitions[0].error_code == error


def test_snapshot_fetches_keep_the_leader_active() -> None:
    node = leader(log=log_of((3, 5), end=7, start=5, snapshots=[(5, 2)]))
    for number in range(20):
        node.step(Requested(100 + number, piece((5, 2)), 1), after_ms=500)
    assert node.core.leading


# -- known replicas ---------------------------------------------------------------------------


def test_the_leader_keeps_the_times_of_the_last_fetch_and_of_the_last_caught_up_fetch() -> None:
    node = leader()
    node.ask(fetch(2, 1))
    replica = node.core.replicas(node.now_ms)[0][1]
    assert (replica.last_fetch_ms, replica.last_caught_up_ms) == (node.now_ms, -1)
    node.step(Requested(5, fetch(2, 1, end=(1, 1)), 18), after_ms=10)
    replica = node.core.replicas(node.now_ms)[0][1]
    assert (replica.end_offset, replica.last_fetch_ms, replica.last_caught_up_ms) == (1, node.now_ms, node.now_ms)


def test_observers_that_stop_fetching_are_forgotten() -> None:
    node = leader()
    node.ask(fetch(9, 1))
    assert len(node.core.replicas(node.now_ms)[1]) == 1
    assert node.core.replicas(node.now_ms + OBSERVER_SESSION_MS)[1] == []


def test_only_the_leader_describes_the_progress_of_replicas() -> None:
    node = OneOfThree()
    assert node.core.replicas(node.now_ms) == ([], [])
    assert NodeId(2) in node.core.voters
