"""The follower: its fetches, its checks, its truncations, and the records it never gives up."""

from __future__ import annotations

from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import LeaderEpoch, NodeId
from barnabas.quorum.core.effects import (
    Committed,
    Complain,
    Flush,
    InstallSnapshot,
    Persist,
    Send,
    Truncate,
    WriteFetched,
    WriteSnapshotPiece,
)
from barnabas.quorum.core.events import SnapshotInstalled, SnapshotRefused, Truncated
from barnabas.quorum.core.log_outline import OffsetAndEpoch
from barnabas.quorum.core.messages import LeaderInfo, fetch_response, snapshot_response
from barnabas.quorum.core.quorum_state import QuorumState
from barnabas.quorum.core.roles import Follower
from barnabas.records.batch_header import seal
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest
from tests.unit.quorum.core.made import NEWEST, SETTINGS, OneOfThree, batch_at, log_of
from tests.unit.records.made import with_header

LEADER = LeaderInfo(NodeId(2), LeaderEpoch(5), ("n2", 9093))


def follower(**kinds: Any) -> OneOfThree:
    node = OneOfThree(state=QuorumState(LeaderEpoch(5), leader_id=NodeId(2)), **kinds)
    assert isinstance(node.core.quorum.role, Follower)
    return node


def asked(node: OneOfThree) -> Send:
    (send,) = node.found(Send)
    return send


def records(*batches: bytes, high_watermark: int = -1) -> Any:
    response = fetch_response(ErrorCode.NONE, LEADER, NEWEST, high_watermark=high_watermark, log_start_offset=0)
    response.responses[0].partitions[0].records = b"".join(batches)
    return response


# -- records ----------------------------------------------------------------------------------


def test_a_fetch_carries_the_end_offset_and_epoch_of_the_log() -> None:
    node = follower(log=log_of((3, 0), end=4))
    send = asked(node)
    partition = send.request.topics[0].partitions[0]
    assert (send.host, partition.current_leader_epoch, partition.fetch_offset, partition.last_fetched_epoch) == ("n2", 5, 4, 3)
    assert send.request.replica_state.replica_id == 1


def test_fetched_batches_are_written_and_flushed_before_the_next_fetch() -> None:
    node = follower()
    node.answer(asked(node), records(batch_at(0, 5, b"a", b"b"), batch_at(2, 5)))
    assert [effect.base_offset for effect in node.found(WriteFetched)] == [0]
    assert node.found(Flush) == [Flush(3)]
    assert not node.found(Send)
    node.flush()
    assert asked(node).request.topics[0].partitions[0].fetch_offset == 3


def test_an_observer_that_can_never_vote_need_not_wait_for_its_disk() -> None:
    node = OneOfThree(state=QuorumState(LeaderEpoch(5), leader_id=NodeId(2)), may_vote=False)
    node.answer(asked(node), records(batch_at(0, 5)))
    assert not node.found(Flush)
    assert asked(node).request.topics[0].partitions[0].fetch_offset == 1


def test_the_high_watermark_comes_with_the_answers_and_is_never_above_the_log() -> None:
    node = follower()
    node.answer(asked(node), records(batch_at(0, 5, b"a", b"b"), high_watermark=9))
    assert node.found(Committed) == [Committed(2)]
    node.flush()
    node.answer(asked(node), records(high_watermark=1))
    assert not node.found(Committed)
    assert node.core.high_watermark == 2


def test_a_batch_that_was_cut_off_is_fetched_again() -> None:
    node = follower()
    whole, cut = batch_at(0, 5), batch_at(1, 5)[:-3]
    node.answer(asked(node), records(whole, cut))
    assert bytes(node.found(WriteFetched)[0].batches) == whole
    assert not node.found(Complain)


def test_a_damaged_batch_and_everything_after_it_are_not_written() -> None:
    node = follower()
    bad = bytearray(batch_at(1, 5))
    bad[-1] ^= 1
    node.answer(asked(node), records(batch_at(0, 5), bytes(bad), batch_at(2, 5)))
    assert node.core.log_end_offset == 1
    assert "crc" in node.found(Complain)[0].problem


def test_gaps_falling_epochs_and_future_epochs_are_refused() -> None:
    for wrong in (batch_at(7, 5), batch_at(4, 2), batch_at(4, 6), b"\xff" * 80):
        node = follower(log=log_of((3, 0), end=4))
        node.answer(asked(node), records(wrong))
        assert node.core.log_end_offset == 4
        assert node.found(Complain)


def test_an_answer_without_an_error_keeps_the_leader() -> None:
    node = follower()
    before_ms = node.now_ms
    node.now_ms += 400
    node.answer(asked(node), records())
    role = node.core.quorum.role
    assert isinstance(role, Follower)
    assert role.has_fetched
    assert role.fetch_deadline_ms == before_ms + 400 + SETTINGS.fetch_timeout_ms


def test_a_follower_looks_for_a_missing_leader_at_other_voters() -> None:
    node = follower()
    node.answer(asked(node), ErrorCode.NETWORK_EXCEPTION)
    assert asked(node).host == "n3"
    newer = LeaderInfo(NodeId(3), LeaderEpoch(6), ("n3", 9093))
    node.answer(asked(node), fetch_response(ErrorCode.FENCED_LEADER_EPOCH, newer, NEWEST))
    assert (node.core.leader_id, node.core.epoch) == (3, 6)
    assert node.found(Persist)


def test_two_nodes_without_a_leader_pause_between_questions_to_each_other() -> None:
    node = OneOfThree()
    response = fetch_response(ErrorCode.NOT_LEADER_OR_FOLLOWER, LeaderInfo(NodeId(-1), LeaderEpoch(0)), NEWEST)
    first = asked(node)
    node.answer(first, response)
    second = asked(node)
    assert second.host != first.host
    node.answer(second, response)
    assert not node.found(Send)
    assert node.core.deadline_ms == node.now_ms + SETTINGS.retry_backoff_ms


def test_malformed_answers_cause_a_pause_and_nothing_else() -> None:
    for spoil in (
        lambda each: each.responses.clear(),
        lambda each: each.responses[0].partitions.clear(),
        lambda each: setattr(each, "error_code", 99),
        lambda each: setattr(each.responses[0].partitions[0], "error_code", -1),
    ):
        node = follower()
        response = records(batch_at(0, 5))
        spoil(response)
        node.answer(asked(node), response)
        assert node.core.log_end_offset == 0


# -- truncation -------------------------------------------------------------------------------


def diverging(offset: int, epoch: int) -> Any:
    return fetch_response(ErrorCode.NONE, LEADER, NEWEST, diverging=OffsetAndEpoch(offset, epoch))


def test_a_diverged_log_is_truncated_where_the_epochs_diverge_and_fetched_from_there() -> None:
    node = follower(log=log_of((1, 0), (2, 3), (4, 6), end=9))
    node.answer(asked(node), diverging(5, 2))
    assert node.found(Truncate) == [Truncate(5)]
    assert not node.found(Send)
    node.step(Truncated(5))
    partition = asked(node).request.topics[0].partitions[0]
    assert (partition.fetch_offset, partition.last_fetched_epoch) == (5, 2)


def test_an_epoch_that_the_leader_never_had_is_truncated_whole() -> None:
    node = follower(log=log_of((1, 0), (4, 6), end=9))
    node.answer(asked(node), diverging(8, 3))
    assert node.found(Truncate) == [Truncate(6)]


def test_committed_records_are_never_truncated() -> None:
    node = follower()
    node.answer(asked(node), records(batch_at(0, 5), batch_at(1, 5), high_watermark=2))
    node.flush()
    node.answer(asked(node), diverging(1, 5))
    assert not node.found(Truncate)
    assert "committed" in node.found(Complain)[0].problem
    assert node.core.log_end_offset == 2


def test_a_flush_that_began_before_a_truncation_does_not_cover_later_batches() -> None:
    node = follower()
    node.answer(asked(node), records(batch_at(0, 5)))
    old = node.core.quorum.log.generation
    node.flush()
    node.answer(asked(node), diverging(0, 3))
    node.step(Truncated(0))
    node.answer(asked(node), records(batch_at(0, 5)))
    assert node.found(Flush) == [Flush(1, old + 1)]
    assert not node.found(Send)


# -- snapshots --------------------------------------------------------------------------------


def offered(offset: int, epoch: int) -> Any:
    return fetch_response(ErrorCode.NONE, LEADER, NEWEST, snapshot=OffsetAndEpoch(offset, epoch))


def piece(data: bytes, *, position: int, size: int, snapshot: tuple[int, int] = (100, 4), error: ErrorCode = ErrorCode.NONE) -> Any:
    response = snapshot_response(error, LEADER, NEWEST, OffsetAndEpoch(*snapshot))
    partition = response.topics[0].partitions[0]
    partition.position, partition.size, partition.unaligned_records = position, size, data
    return response


def test_a_snapshot_is_fetched_in_pieces_and_the_log_begins_behind_it() -> None:
    node = follower()
    node.answer(asked(node), offered(100, 4))
    assert isinstance(asked(node).request, FetchSnapshotRequest)
    node.answer(asked(node), piece(b"abc", position=0, size=5))
    assert node.found(WriteSnapshotPiece) == [WriteSnapshotPiece(OffsetAndEpoch(100, 4), 0, b"abc")]
    assert asked(node).request.topics[0].partitions[0].position == 3
    node.answer(asked(node), piece(b"de", position=3, size=5))
    assert node.found(InstallSnapshot) == [InstallSnapshot(OffsetAndEpoch(100, 4))]
    assert not node.found(Send)
    node.step(SnapshotInstalled(OffsetAndEpoch(100, 4), []))
    partition = asked(node).request.topics[0].partitions[0]
    assert (partition.fetch_offset, partition.last_fetched_epoch) == (100, 4)
    assert node.core.high_watermark == 100


def test_a_missing_snapshot_is_given_up_and_the_log_is_fetched_again() -> None:
    node = follower()
    node.answer(asked(node), offered(100, 4))
    node.answer(asked(node), piece(b"", position=0, size=0, snapshot=(-1, -1), error=ErrorCode.SNAPSHOT_NOT_FOUND))
    assert isinstance(asked(node).request, FetchRequest)


def test_a_damaged_snapshot_is_fetched_again() -> None:
    node = follower()
    node.answer(asked(node), offered(100, 4))
    node.answer(asked(node), piece(b"abc", position=0, size=3))
    node.step(SnapshotRefused(OffsetAndEpoch(100, 4)))
    assert node.found(Complain)
    assert isinstance(asked(node).request, FetchRequest)
    assert node.core.log_end_offset == 0


def test_pieces_that_do_not_fit_are_not_written() -> None:
    for wrong in (
        piece(b"abc", position=7, size=50),
        piece(b"abc", position=0, size=50, snapshot=(101, 4)),
        piece(b"", position=0, size=50),
    ):
        node = follower()
        node.answer(asked(node), offered(100, 4))
        node.answer(asked(node), wrong)
        assert not node.found(WriteSnapshotPiece)


def test_a_snapshot_below_the_high_watermark_is_not_taken() -> None:
    node = follower()
    node.answer(asked(node), records(batch_at(0, 5), batch_at(1, 5), high_watermark=2))
    node.flush()
    node.answer(asked(node), offered(1, 4))
    assert node.found(Complain)
    assert not any(isinstance(send.request, FetchSnapshotRequest) for send in node.found(Send))


def test_a_snapshot_with_an_impossible_size_is_not_taken() -> None:
    for first, second in (((3, 2**63 - 1), None), ((3, 2), None), ((3, 9), (3, 10))):
        node = follower()
        node.answer(asked(node), offered(100, 4))
        node.answer(asked(node), piece(b"a" * first[0], position=0, size=first[1]))
        if second is not None:
            assert node.found(WriteSnapshotPiece)
            node.answer(asked(node), piece(b"b" * second[0], position=3, size=second[1]))
        assert not node.found(WriteSnapshotPiece)
        assert not node.found(InstallSnapshot)
        assert node.found(Complain)


def test_an_epoch_too_far_ahead_in_an_answer_is_refused() -> None:
    node = follower()
    told = LeaderInfo(NodeId(3), LeaderEpoch(2**31 - 1), ("n3", 9093))
    node.answer(asked(node), fetch_response(ErrorCode.FENCED_LEADER_EPOCH, told, NEWEST))
    assert (node.core.epoch, node.found(Persist)) == (5, [])
    assert node.found(Complain)


def test_a_batch_of_a_producer_is_not_taken() -> None:
    node = follower()
    wrong = with_header(bytearray(batch_at(0, 5)), producer_id=7)
    seal(wrong)
    node.answer(asked(node), records(bytes(wrong)))
    assert not node.found(WriteFetched)
    assert node.found(Complain)
