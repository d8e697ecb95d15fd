"""Elections: pre-votes, votes, and the quorum state that is on disk before a voter answers."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import LeaderEpoch, NodeId
from barnabas.quorum.core.effects import BecameLeader, Complain, LeaderKnown, Persist, Reply, Resigned
from barnabas.quorum.core.events import LeaderGone, Resign, Stop
from barnabas.quorum.core.messages import LeaderInfo, begin_response, end_request, fetch_response
from barnabas.quorum.core.quorum_state import QuorumState
from barnabas.quorum.core.roles import Candidate, Follower, LeaderResigned, Prospective, Unattached
from barnabas.quorum.core.settings import EPOCHS_AHEAD_MAX
from barnabas.quorum.core.voters import Endpoint
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest
from barnabas.wire.messages.fetch import FetchRequest
from barnabas.wire.messages.vote import VoteRequest
from tests.unit.quorum.core.made import CLUSTER, NEWEST, SETTINGS, OneOfThree, begin, fetch, granted, key, log_of, refused, vote


def verdict(response: object) -> tuple[int, bool]:
    partition = response.topics[0].partitions[0]  # type: ignore[attr-defined]
    return partition.error_code, partition.vote_granted


# -- giving votes -----------------------------------------------------------------------------


def test_a_vote_is_on_disk_before_the_answer_leaves() -> None:
    node = OneOfThree()
    node.ask(vote(2, 1))
    kinds = [type(effect) for effect in node.effects]
    assert kinds.index(Reply) > max(index for index, kind in enumerate(kinds) if kind is Persist)
    assert node.found(Persist)[-1].state == QuorumState(LeaderEpoch(1), voted_id=NodeId(2), voted_directory_id=key(2).directory_id)


def test_one_vote_per_epoch_and_the_same_answer_when_asked_again() -> None:
    node = OneOfThree()
    assert verdict(node.ask(vote(2, 1))) == (0, True)
    assert verdict(node.ask(vote(3, 1))) == (0, False)
    assert verdict(node.ask(vote(2, 1))) == (0, True)
    assert not node.found(Persist)
    assert verdict(node.ask(vote(3, 2))) == (0, True)


def test_a_vote_survives_a_restart() -> None:
    node = OneOfThree(state=QuorumState(LeaderEpoch(4), voted_id=NodeId(2), voted_directory_id=key(2).directory_id))
    assert verdict(node.ask(vote(3, 4))) == (0, False)
    assert verdict(node.ask(vote(2, 4))) == (0, True)


@pytest.mark.parametrize(("end", "granted"), [((10, 3), True), ((9, 3), False), ((1, 4), True), ((99, 2), False)])
def test_only_a_log_that_is_as_far_gets_a_vote(end: tuple[int, int], granted: bool) -> None:
    """A later epoch beats any length."""
    node = OneOfThree(log=log_of((1, 0), (3, 5), end=10))
    assert verdict(node.ask(vote(2, 7, end=end))) == (0, granted)
    assert verdict(OneOfThree(log=log_of((1, 0), (3, 5), end=10)).ask(vote(2, 7, end=end, pre=True))) == (0, granted)


def test_a_request_of_an_old_epoch_is_fenced_and_answered_with_the_leader() -> None:
    node = OneOfThree()
    node.follow(2, epoch=5)
    response = node.ask(vote(3, 4))
    assert verdict(response) == (ErrorCode.FENCED_LEADER_EPOCH, False)
    assert (response.topics[0].partitions[0].leader_id, response.topics[0].partitions[0].leader_epoch) == (2, 5)
    assert [(each.node_id, each.host, each.port) for each in response.node_endpoints] == [(2, "n2", 9093)]


@pytest.mark.parametrize(("listener_name", "ports"), [("CONTROLLER", [9093]), ("SECURE", [9094]), ("OTHER", [])])
@pytest.mark.parametrize("request_", [vote(3, 4), fetch(3, 4), begin(3, 4)], ids=["vote", "fetch", "begin"])
def test_the_address_of_the_leader_is_that_of_the_listener_on_which_the_request_arrived(
    request_: object, listener_name: str, ports: list[int]
) -> None:
    """Controllers that move to another listener do not all use the same one."""
    node = OneOfThree()
    node.ask(begin(2, 5, endpoints=[Endpoint("CONTROLLER", "n2", 9093), Endpoint("SECURE", "n2", 9094)]))
    assert [each.port for each in node.ask(request_, listener_name=listener_name).node_endpoints] == ports


def test_a_waiting_fetch_is_answered_with_the_address_of_its_own_listener() -> None:
    node = OneOfThree()
    node.lead()
    end = (node.core.log_end_offset, node.core.epoch)
    waiting = node.ask(fetch(2, node.core.epoch, end=end), listener_name="SECURE")
    token = node.last_token
    assert waiting is None
    node.step(Resign(node.core.epoch))
    assert node.reply_to(token).node_endpoints == []


def test_addresses_are_left_out_of_the_first_version() -> None:
    node = OneOfThree()
    node.follow(2, epoch=5)
    assert node.ask(vote(3, 4), version=0).node_endpoints == []


@pytest.mark.parametrize(
    "request_",
    [
        vote(2, 3, end=(0, 3)),
        vote(2, 3, end=(5, 4), pre=True),
        vote(2, 3, end=(-1, 0)),
        vote(2, 3, end=(0, -1)),
        vote(1, 3),
    ],
)
def test_an_invalid_vote_request_is_refused_and_changes_nothing(request_: object) -> None:
    node = OneOfThree()
    assert verdict(node.ask(request_))[0] == ErrorCode.INVALID_REQUEST
    assert node.core.epoch == 0


def test_a_vote_meant_for_another_directory_is_not_given_but_its_epoch_counts() -> None:
    node = OneOfThree()
    wrong = key(1)._replace(directory_id=key(7).directory_id)
    assert verdict(node.ask(vote(2, 3, voter=wrong))) == (ErrorCode.INVALID_VOTER_KEY, False)
    assert node.core.epoch == 3


def test_another_cluster_and_another_partition_are_refused() -> None:
    node = OneOfThree()
    other = vote(2, 3)
    other.cluster_id = "another"
    assert node.ask(other).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    for spoil in (lambda each: each.topics.clear(), lambda each: setattr(each.topics[0], "topic_name", "t")):
        wrong = vote(2, 3)
        spoil(wrong)
        assert node.ask(wrong).error_code == ErrorCode.INVALID_REQUEST
    assert node.core.epoch == 0


def test_a_follower_with_a_live_leader_refuses_a_pre_vote() -> None:
    node = OneOfThree()
    node.follow(2, epoch=1)
    # The node knows of the leader but has not fetched from it.
    assert verdict(node.ask(vote(3, 1, pre=True))) == (0, True)
    follower = node.core.quorum.role
    assert isinstance(follower, Follower)
    follower.has_fetched = True
    assert verdict(node.ask(vote(3, 1, pre=True))) == (0, False)
    assert node.core.epoch == 1


def test_a_pre_vote_promises_nothing() -> None:
    node = OneOfThree()
    assert verdict(node.ask(vote(2, 0, pre=True))) == (0, True)
    assert verdict(node.ask(vote(3, 0, pre=True))) == (0, True)
    assert not node.found(Persist)


# -- asking for votes -------------------------------------------------------------------------


def test_a_voter_without_a_leader_sends_a_pre_vote_first() -> None:
    node = OneOfThree()
    assert node.is_a(Unattached)
    assert node.sent(FetchRequest)
    while not node.sent(VoteRequest):
        node.wait()
    assert node.now_ms >= 10_000 + SETTINGS.election_timeout_ms
    requests = [send.request for send in node.sent(VoteRequest)]
    assert [each.topics[0].partitions[0].pre_vote for each in requests] == [True, True]
    assert [each.topics[0].partitions[0].replica_epoch for each in requests] == [0, 0]
    assert node.core.epoch == 0


def test_a_majority_that_would_vote_makes_a_candidate_with_a_new_epoch() -> None:
    node = OneOfThree()
    votes = node.stand()
    assert node.is_a(Candidate)
    assert node.core.epoch == 1
    assert [send.request.topics[0].partitions[0].pre_vote for send in votes] == [False, False]
    assert node.found(Persist)[0].state.voted_id == 1
    kinds = [type(effect).__name__ for effect in node.effects]
    assert kinds.index("Persist") < kinds.index("Send")


def test_a_majority_of_votes_makes_a_leader_that_announces_itself() -> None:
    node = OneOfThree()
    node.lead()
    assert node.found(BecameLeader) == [BecameLeader(LeaderEpoch(1), 0)]
    assert node.found(LeaderKnown) == [LeaderKnown(NodeId(1), LeaderEpoch(1))]
    assert len(node.sent(BeginQuorumEpochRequest)) == 2


def test_a_vote_counts_once() -> None:
    node = OneOfThree()
    node.stand()
    role = node.core.quorum.role
    assert isinstance(role, Candidate)
    role.votes.record(NodeId(2), granted=False)
    role.votes.record(NodeId(2), granted=True)
    role.votes.record(NodeId(77), granted=True)
    assert not role.votes.won


def test_an_answer_of_an_election_that_is_over_is_not_counted() -> None:
    node = OneOfThree()
    votes = node.stand()
    node.ask(vote(3, 5))
    node.answer(votes[0], granted(1))
    assert not node.core.leading
    assert node.core.epoch == 5


def test_a_candidate_that_all_refuse_waits_out_its_timeout_and_asks_again() -> None:
    node = OneOfThree()
    for send in node.stand():
        node.answer(send, refused(1))
    assert node.is_a(Candidate)
    node.wait()
    assert node.is_a(Prospective)
    assert node.core.epoch == 1


def test_a_follower_whose_pre_vote_is_refused_goes_on_following() -> None:
    node = OneOfThree()
    node.follow(2, epoch=3)
    while not node.sent(VoteRequest):
        node.wait()
    for send in node.sent(VoteRequest):
        node.answer(send, refused(3, leader=LeaderInfo(NodeId(2), LeaderEpoch(3), ("n2", 9093))))
    assert node.is_a(Follower)
    assert node.core.epoch == 3


def test_a_voter_without_pre_vote_support_is_asked_for_a_binding_vote() -> None:
    node = OneOfThree()
    while not node.sent(VoteRequest):
        node.wait()
    node.answer(node.sent(VoteRequest)[0], ErrorCode.UNSUPPORTED_VERSION)
    assert node.is_a(Candidate)


def test_a_candidate_follows_a_leader_of_its_epoch() -> None:
    node = OneOfThree()
    votes = node.stand()
    node.answer(votes[0], refused(1, leader=LeaderInfo(NodeId(3), LeaderEpoch(1), ("n3", 9093))))
    assert node.is_a(Follower)
    assert node.core.leader_id == 3


def test_an_observer_never_stands() -> None:
    node = OneOfThree(may_vote=False)
    for _ in range(50):
        node.wait()
        assert not node.sent(VoteRequest)
    assert node.core.epoch == 0


# -- other leaders ----------------------------------------------------------------------------


def test_a_leader_resigns_when_it_learns_of_a_later_epoch() -> None:
    node = OneOfThree()
    node.lead()
    node.ask(begin(2, 9))
    assert node.found(Resigned) == [Resigned(LeaderEpoch(1))]
    assert (node.core.leader_id, node.core.leader_address) == (2, ("n2", 9093))


def test_an_old_leader_is_answered_fenced_leader_epoch() -> None:
    node = OneOfThree()
    node.follow(2, epoch=5)
    assert node.ask(begin(3, 4)).topics[0].partitions[0].error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_a_second_leader_in_the_same_epoch_is_refused() -> None:
    node = OneOfThree()
    node.follow(2, epoch=5)
    response = node.ask(begin(3, 5))
    assert response.topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
    assert node.found(Complain)
    assert node.core.leader_id == 2


def test_a_node_does_not_become_leader_by_messages_of_others() -> None:
    node = OneOfThree()
    node.ask(begin(1, 5))
    assert not node.core.leading
    assert node.core.epoch == 0


def test_a_leader_without_an_address_is_remembered_and_looked_for() -> None:
    node = OneOfThree()
    node.ask(begin(42, 5))
    assert node.is_a(Unattached)
    assert (node.core.epoch, node.core.leader_id, node.core.leader_address) == (5, 42, None)
    assert verdict(node.ask(vote(2, 5))) == (0, False)


# -- resigning --------------------------------------------------------------------------------


def test_a_leader_that_stops_names_its_successors_and_stays_until_one_was_voted_for() -> None:
    node = OneOfThree()
    node.lead()
    node.step(Stop())
    sends = node.sent(EndQuorumEpochRequest)
    assert [send.host for send in sends] == ["n2", "n3"]
    assert node.found(Resigned) == [Resigned(LeaderEpoch(1))]
    assert not node.core.handed_over
    assert verdict(node.ask(vote(2, 1, end=(1, 1), pre=True))) == (0, True)
    assert verdict(node.ask(vote(2, 2, end=(1, 1)))) == (0, True)
    assert node.core.handed_over


def test_a_leader_that_stops_without_other_voters_need_not_wait() -> None:
    node = OneOfThree()
    node.lead()
    node.step(Stop())
    for send in node.sent(EndQuorumEpochRequest):
        node.answer(send, ErrorCode.NETWORK_EXCEPTION)
    assert node.core.handed_over


def test_a_follower_that_stops_need_not_wait() -> None:
    node = OneOfThree()
    node.follow()
    node.step(Stop())
    assert node.core.handed_over


@pytest.mark.parametrize(("successors", "wait_ms"), [([1, 3], 0), ([3, 1], 500), ([3], 1000), ([], 1000)])
def test_successors_stand_in_order(successors: list[int], wait_ms: int) -> None:
    node = OneOfThree()
    node.follow(2, epoch=3)
    request = end_request(CLUSTER, epoch=3, leader_id=NodeId(2), endpoints=(), successors=[key(each) for each in successors])
    node.ask(request)
    if wait_ms == 0:
        assert node.is_a(Prospective)
    else:
        assert node.core.quorum.role.fetch_deadline_ms == node.now_ms + wait_ms  # type: ignore[union-attr]


def test_a_leader_that_cannot_go_on_resigns_its_epoch_and_no_other() -> None:
    node = OneOfThree()
    node.lead()
    node.step(Resign(7))
    assert node.core.leading
    node.step(Resign(1))
    assert node.is_a(LeaderResigned)
    assert node.core.leader_id == -1
    while node.is_a(LeaderResigned):
        node.wait()
    assert node.core.epoch == 2


def test_a_leader_without_a_majority_resigns() -> None:
    node = OneOfThree()
    node.lead()
    started_ms = node.now_ms
    while node.core.leading:
        node.wait()
    assert node.now_ms == started_ms + 1.5 * SETTINGS.fetch_timeout_ms


def test_a_leader_that_comes_back_never_leads_the_same_epoch_again() -> None:
    node = OneOfThree(state=QuorumState(LeaderEpoch(4), leader_id=NodeId(1)))
    assert node.is_a(LeaderResigned)
    assert len(node.sent(EndQuorumEpochRequest)) == 2


def test_the_epoch_of_a_lost_state_comes_from_the_log() -> None:
    node = OneOfThree(log=log_of((3, 0), end=4))
    assert node.core.epoch == 3
    assert node.found(Persist)


def test_begin_is_repeated_to_voters_that_do_not_fetch() -> None:
    node = OneOfThree()
    node.lead()
    for send in node.sent(BeginQuorumEpochRequest):
        node.answer(send, begin_response(ErrorCode.NONE, LeaderInfo(NodeId(1), LeaderEpoch(1)), 1))
    node.wait()
    assert len(node.sent(BeginQuorumEpochRequest)) == 2


def test_a_vote_in_an_epoch_too_far_ahead_uses_up_no_epochs() -> None:
    """There is no election after epoch 2^31-1: one such request would end the quorum for ever."""
    for epoch in (2**31 - 1, 2**31 - 2, EPOCHS_AHEAD_MAX + 1):
        node = OneOfThree()
        answer = node.ask(vote(2, epoch)).topics[0].partitions[0]
        assert (answer.error_code, answer.vote_granted, node.core.epoch) == (ErrorCode.INVALID_REQUEST, False, 0)
        assert not node.found(Persist)


def test_a_vote_in_an_epoch_that_elections_can_reach_is_granted() -> None:
    node = OneOfThree()
    assert node.ask(vote(2, EPOCHS_AHEAD_MAX)).topics[0].partitions[0].vote_granted


# -- a leader whose process is gone ------------------------------------------------------------


def test_the_voter_with_the_lowest_id_stands_at_once_when_the_leader_is_gone() -> None:
    node = OneOfThree()
    node.follow(2)
    node.step(LeaderGone(2, 1))
    assert [send.request.topics[0].partitions[0].pre_vote for send in node.sent(VoteRequest)] == [True, True]
    assert node.is_a(Prospective)


def test_a_follower_of_a_leader_that_is_gone_grants_the_pre_vote_of_another() -> None:
    node = OneOfThree()
    node.follow(2)
    nothing = fetch_response(ErrorCode.NONE, LeaderInfo(NodeId(2), LeaderEpoch(1)), NEWEST, high_watermark=-1, log_start_offset=0)
    node.answer(node.sent(FetchRequest)[0], nothing)
    assert verdict(node.ask(vote(3, 1, pre=True))) == (0, False), "it hears from the leader"
    node.step(LeaderGone(2, 1))
    assert verdict(node.ask(vote(3, 1, pre=True))) == (0, True)


def test_the_end_of_a_former_leader_changes_nothing() -> None:
    node = OneOfThree()
    node.follow(3, epoch=2)
    node.step(LeaderGone(2, 1))
    node.step(LeaderGone(3, 1))
    assert node.is_a(Follower)
    assert not node.sent(VoteRequest)


def test_an_observer_of_a_leader_that_is_gone_does_not_stand() -> None:
    node = OneOfThree(may_vote=False)
    node.follow(2)
    node.step(LeaderGone(2, 1))
    assert not node.sent(VoteRequest)
