"""The quorum's state machine as transcripts: an event in, effects out, in the order in which they
must be performed.
"""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from barnabas.model.ids import NO_NODE, LeaderEpoch, NodeId
from barnabas.quorum.core.effects import BecameLeader, Committed, Effect, Flush, LeaderKnown, Persist, Resigned, WriteBatch, WriteControl
from barnabas.quorum.core.events import Append, Event, Flushed, Started, Stop
from barnabas.quorum.core.log_outline import EpochStart, LogOutline
from barnabas.quorum.core.node import QuorumNode
from barnabas.quorum.core.quorum import Identity
from barnabas.quorum.core.quorum_state import QuorumState
from barnabas.quorum.core.voters import ReplicaKey, configured_voters
from barnabas.records.control_batch import ControlType
from barnabas.wire.compiler import encode
from barnabas.wire.embedded.control_records import LeaderChangeMessage, Voter
from tests.unit.records.made import repeatable

ME = NodeId(7)
NOW_MS = 1


def epoch(number: int) -> LeaderEpoch:
    return LeaderEpoch(number)


def new_node(state: QuorumState | None = None) -> QuorumNode:
    voters = configured_voters("CONTROLLER", [(ME, "localhost", 9093)])
    return QuorumNode(Identity(ReplicaKey(ME), "a-cluster"), voters, state or QuorumState())


def log_of(end_offset: int) -> LogOutline:
    return LogOutline(end_offset=end_offset, epochs=[EpochStart(1, 0)] if end_offset else [])


def started(log_end_offset: int = 0, state: QuorumState | None = None) -> QuorumNode:
    node = new_node(state)
    node.step(Started(log_of(log_end_offset)), NOW_MS)
    return node


def leader_change(number: int, *, base_offset: int) -> WriteControl:
    message = LeaderChangeMessage(version=0, leader_id=ME, voters=[Voter(voter_id=ME)], granting_voters=[Voter(voter_id=ME)])
    return WriteControl(epoch(number), base_offset, ((ControlType.LEADER_CHANGE, encode(message, 0)),))


def test_the_first_start_of_a_new_cluster() -> None:
    assert new_node().step(Started(), NOW_MS) == [
        Persist(QuorumState(epoch(1), NO_NODE, ME)),
        Persist(QuorumState(epoch(1), ME, NO_NODE)),
        leader_change(1, base_offset=0),
        Flush(1),
        BecameLeader(epoch(1), epoch_start_offset=0),
        LeaderKnown(ME, epoch(1)),
    ]


def test_a_later_start_has_a_later_epoch_and_continues_at_the_log_end() -> None:
    node = new_node(QuorumState(epoch(4), ME, NO_NODE))
    effects = node.step(Started(log_of(120)), NOW_MS)
    assert effects[2:5] == [leader_change(5, base_offset=120), Flush(121), BecameLeader(epoch(5), 120)]
    assert node.epoch == 5


def test_a_start_after_a_crash_between_vote_and_leadership_votes_in_the_next_epoch() -> None:
    """Other nodes may have seen the vote of epoch 5, so the node does not vote in it twice."""
    effects = new_node(QuorumState(epoch(5), NO_NODE, ME)).step(Started(), NOW_MS)
    assert effects[0] == Persist(QuorumState(epoch(6), NO_NODE, ME))


def test_the_epoch_is_on_disk_before_anything_is_written_in_it() -> None:
    kinds = [type(effect) for effect in new_node().step(Started(), NOW_MS)]
    assert kinds.index(Persist) < kinds.index(WriteControl) < kinds.index(Flush) < kinds.index(BecameLeader)


def test_nothing_is_committed_before_it_is_flushed() -> None:
    node = started()
    assert node.high_watermark == 0
    assert node.step(Append((b"a", b"b")), NOW_MS) == [WriteBatch(epoch(1), 1, (b"a", b"b")), Flush(3)]
    assert node.high_watermark == 0
    assert node.step(Flushed(1), NOW_MS) == [Committed(1)]
    assert node.step(Flushed(3), NOW_MS) == [Committed(3)]


def test_one_flush_may_commit_many_batches() -> None:
    node = started()
    for payload in (b"a", b"b", b"c"):
        node.step(Append((payload,)), NOW_MS)
    assert node.step(Flushed(4), NOW_MS) == [Committed(4)]


def test_a_flush_of_older_epochs_alone_commits_nothing() -> None:
    """With more voters, the batches of an earlier leader could still be replaced; only the first
    batch of the leader's own epoch commits them."""
    node = started(log_end_offset=50)
    assert node.step(Flushed(50), NOW_MS) == []
    assert node.step(Flushed(51), NOW_MS) == [Committed(51)]


def test_a_flush_of_a_log_that_was_truncated_since_does_not_count() -> None:
    node = started()
    assert node.step(Flushed(1, generation=3), NOW_MS) == []


def test_a_late_flush_moves_no_offset_back() -> None:
    node = started()
    node.step(Append((b"a",)), NOW_MS)
    node.step(Flushed(2), NOW_MS)
    assert node.step(Flushed(1), NOW_MS) == []
    assert node.high_watermark == 2
    assert node.step(Flushed(2), NOW_MS) == []


def test_a_flush_of_batches_that_were_never_written_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="flushed to 9, written to 1"):
        started().step(Flushed(9), NOW_MS)


def test_a_node_that_stops_resigns_once_and_commits_no_more() -> None:
    node = started()
    node.step(Append((b"a",)), NOW_MS)
    assert node.step(Stop(), NOW_MS) == [Resigned(epoch(1)), LeaderKnown(NO_NODE, epoch(1))]
    assert node.handed_over
    assert node.step(Flushed(2), NOW_MS) == []
    assert node.high_watermark == 0
    assert node.step(Stop(), NOW_MS) == []


def test_a_node_that_does_not_lead_does_not_append() -> None:
    with pytest.raises(AssertionError, match="only a leader appends"):
        new_node().step(Append((b"a",)), NOW_MS)


def test_an_empty_batch_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="no offset"):
        started().step(Append(()), NOW_MS)


events = st.lists(st.one_of(st.integers(1, 4).map(lambda count: Append((b"x",) * count)), st.integers(0, 60).map(Flushed), st.just(Stop())))


@repeatable
@given(st.integers(0, 40), events)
def test_random_events_in_any_order_break_no_invariant(log_end_offset: int, script: list[Event]) -> None:
    """Offsets written are dense, and the high watermark never falls and stays below the flushed
    offset."""
    node = started(log_end_offset)
    written, committed, flushed = log_end_offset + 1, 0, log_end_offset
    for event in script:
        if isinstance(event, Append) and not node.leading:
            continue
        if isinstance(event, Flushed):
            event = Flushed(min(event.end_offset, written))
            flushed = max(flushed, event.end_offset)
        for effect in node.step(event, NOW_MS):
            written, committed = _check(effect, written, committed, flushed, log_end_offset)
    assert node.high_watermark == committed
    assert node.log_end_offset == written


def _check(effect: Effect, written: int, committed: int, flushed: int, epoch_start: int) -> tuple[int, int]:
    match effect:
        case WriteBatch(_, base_offset, payloads):
            assert base_offset == written
            return written + len(payloads), committed
        case Committed(high_watermark):
            assert committed < high_watermark <= flushed
            assert high_watermark > epoch_start
            return written, high_watermark
        case Flush(end_offset):
            assert end_offset == written
    return written, committed
