"""The file ``quorum-state``: the vote and epoch that a voter must keep, in both of its versions."""

from __future__ import annotations

import json

import pytest

from barnabas.model.ids import LeaderEpoch, NodeId, Uuid, uuid_text
from barnabas.quorum.core.quorum_state import QuorumState, QuorumStateDamaged, decode_quorum_state, encode_quorum_state

STATE = QuorumState(LeaderEpoch(3), NodeId(1), NodeId(2), Uuid(b"d" * 16))


def test_the_version_of_a_configured_quorum() -> None:
    text = encode_quorum_state(STATE, [NodeId(1), NodeId(2)])
    assert json.loads(text) == {
        "clusterId": "",
        "leaderId": 1,
        "leaderEpoch": 3,
        "votedId": 2,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": 1}, {"voterId": 2}],
        "data_version": 0,
    }
    assert decode_quorum_state(text) == QuorumState(LeaderEpoch(3), NodeId(1), NodeId(2))


def test_the_version_of_a_quorum_whose_voters_are_in_the_log() -> None:
    text = encode_quorum_state(STATE, None)
    assert json.loads(text)["votedDirectoryId"] == uuid_text(Uuid(b"d" * 16))
    assert json.loads(text)["data_version"] == 1
    assert decode_quorum_state(text) == STATE


def test_files_that_kafka_wrote_are_read() -> None:
    kafka = '{"leaderId":-1,"leaderEpoch":12,"votedId":3,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}'
    assert decode_quorum_state(kafka) == QuorumState(LeaderEpoch(12), NodeId(-1), NodeId(3))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "{}", '{"leaderEpoch":"x","leaderId":1,"votedId":1}', '{"leaderEpoch":1,"leaderId":1}']
)
def test_a_damaged_file_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(QuorumStateDamaged, match=r"quorum-state cannot be read: .*\.$"):
        decode_quorum_state(text)


def test_a_vote_in_an_epoch_that_is_over_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="a vote in epoch 3 after epoch 3"):
        STATE.voted(LeaderEpoch(3), NodeId(1))


def test_a_new_epoch_forgets_its_leader_and_a_known_leader_keeps_the_vote() -> None:
    voted = STATE.voted(LeaderEpoch(4), NodeId(2), Uuid(b"e" * 16))
    assert (voted.leader_id, voted.voted_id) == (-1, 2)
    assert voted.led_by(NodeId(5)) == QuorumState(LeaderEpoch(4), NodeId(5), NodeId(2), Uuid(b"e" * 16))
    assert voted.won_by(NodeId(2)) == QuorumState(LeaderEpoch(4), NodeId(2))
    assert voted.seen(LeaderEpoch(9)) == QuorumState(LeaderEpoch(9))


def test_a_vote_can_be_given_in_an_epoch_without_a_known_leader() -> None:
    heard = STATE.seen(LeaderEpoch(4))
    assert heard.voted(LeaderEpoch(4), NodeId(1)) == QuorumState(LeaderEpoch(4), voted_id=NodeId(1))
