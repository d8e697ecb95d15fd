"""Changes of role: the state that is persisted before, and the effects that follow.

An epoch only grows, and everything that a node promised in it (its vote, the leader it follows) is
on disk before another node learns of it: :class:`~barnabas.quorum.core.effects.Persist` comes
before the response or request that reveals it.
"""

from __future__ import annotations

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, LeaderEpoch, NodeId
from barnabas.quorum.core.control_history import BOOTSTRAP_OFFSET, KRaftVersionAt, VotersAt, kraft_version_value, voters_value
from barnabas.quorum.core.effects import BecameLeader, Reply, Resigned
from barnabas.quorum.core.messages import fetch_response
from barnabas.quorum.core.progress import Progress
from barnabas.quorum.core.quorum import NEVER_MS, Quorum
from barnabas.quorum.core.roles import Candidate, Follower, Leader, LeaderResigned, Prospective, Role, Unattached
from barnabas.quorum.core.voter_changes import end_change, same_voter
from barnabas.quorum.core.voters import Endpoint, ReplicaKey, address_of
from barnabas.quorum.core.votes import Votes
from barnabas.records.control_batch import ControlType
from barnabas.wire.compiler import encode
from barnabas.wire.embedded.control_records import LeaderChangeMessage, Voter as RecordVoter

_LEADER_CHANGE_VERSION = 0


def start(quorum: Quorum) -> None:
    """The role in which a node starts, from the state that the previous process persisted."""
    state, log = quorum.state, quorum.log
    if state.epoch < log.last_epoch:
        # The state was lost, or never written: the log still has an epoch.
        quorum.remember(state.seen(LeaderEpoch(log.last_epoch)))
        state = quorum.state
    if quorum.alone:
        to_prospective(quorum)
    elif state.leader_id == quorum.me.node_id:
        # This node led the epoch before the restart, and may have made promises that it has
        # forgotten: it never leads the same epoch again.
        others = {voter.key.node_id for voter in quorum.voters.others(quorum.me.node_id)}
        quorum.role = LeaderResigned(quorum.random_election_deadline(), [], others)
    elif state.leader_id != NO_NODE and address_of(quorum.voters.endpoints_of(state.leader_id), quorum.identity.listener_name):
        quorum.role = _follower(quorum, state.leader_id, quorum.voters.endpoints_of(state.leader_id))
    else:
        quorum.role = Unattached(quorum.random_election_deadline(), state.leader_id)


def to_unattached(quorum: Quorum, epoch: LeaderEpoch, leader_id: NodeId = NO_NODE) -> None:
    match quorum.role:
        # The time that has already passed counts: requests for votes must not keep a node from ever
        # standing itself.
        case (
            Unattached(election_deadline_ms=deadline)
            | Candidate(election_deadline_ms=deadline)
            | LeaderResigned(election_deadline_ms=deadline)
        ):
            pass
        case Prospective(votes=votes, election_deadline_ms=deadline) if not votes.lost:
            pass
        case _:
            deadline = quorum.random_election_deadline()
    if not quorum.may_stand:
        deadline = NEVER_MS
    _leave(quorum)
    state = quorum.state.seen(epoch) if epoch > quorum.epoch else quorum.state
    quorum.remember(state.led_by(leader_id) if leader_id != NO_NODE else state)
    _enter(quorum, Unattached(deadline, leader_id))


def grant_vote(quorum: Quorum, candidate: ReplicaKey) -> None:
    """Give the vote of the current epoch. The candidate gets a new election timeout to use it."""
    quorum.remember(quorum.state.voted(quorum.epoch, candidate.node_id, candidate.directory_id))
    match quorum.role:
        case Prospective(leader_id=leader_id, leader_endpoints=endpoints):
            votes = Votes(quorum.voters, quorum.me)
            quorum.role = Prospective(votes, quorum.random_election_deadline(), leader_id, endpoints)
            quorum.in_flight.forget_all()
        case Unattached() as role:
            role.election_deadline_ms = quorum.random_election_deadline()


def to_prospective(quorum: Quorum) -> None:
    assert quorum.may_stand, "an observer holds no elections"
    leader_id, endpoints = quorum.leader_id, quorum.leader_endpoints
    votes = Votes(quorum.voters, quorum.me)
    _leave(quorum)
    if leader_id == quorum.me.node_id:
        leader_id, endpoints = NO_NODE, ()
    _enter(quorum, Prospective(votes, quorum.random_election_deadline(), leader_id, endpoints))
    if votes.won:
        to_candidate(quorum)


def after_lost_prevote(quorum: Quorum, role: Prospective) -> None:
    """Other voters still hear from the leader, or have longer logs: go back to following the
    leader, if it is known."""
    if role.leader_id != NO_NODE and address_of(role.leader_endpoints, quorum.identity.listener_name) is not None:
        to_follower(quorum, quorum.epoch, role.leader_id, role.leader_endpoints)
    else:
        to_unattached(quorum, quorum.epoch, role.leader_id)


def to_candidate(quorum: Quorum) -> None:
    votes = Votes(quorum.voters, quorum.me)
    _leave(quorum)
    quorum.remember(quorum.state.voted(LeaderEpoch(quorum.epoch + 1), *quorum.me))
    _enter(quorum, Candidate(votes, quorum.random_election_deadline()))
    if votes.won:
        to_leader(quorum)


def to_leader(quorum: Quorum) -> None:
    role = quorum.role
    assert isinstance(role, Candidate)
    assert role.votes.won
    granting = role.votes.granting
    quorum.remember(quorum.state.won_by(quorum.me.node_id))
    leader = Leader(
        epoch_start_offset=quorum.log.end_offset,
        progress=Progress(quorum.voters),
        check_quorum_deadline_ms=quorum.now_ms + quorum.check_quorum_ms,
        begin_epoch_ms=quorum.now_ms,
        updated_voters=quorum.voters.with_voter(quorum.myself_as_voter),
    )
    _enter(quorum, leader)
    _write_start_of_epoch(quorum, leader, granting)
    quorum.emit(BecameLeader(quorum.epoch, leader.epoch_start_offset))


def _write_start_of_epoch(quorum: Quorum, leader: Leader, granting: list[NodeId]) -> None:
    """Write the leader change and, in a dynamic quorum, the voters, when the log does not have them
    yet or describes this node differently."""
    message = LeaderChangeMessage(
        version=_LEADER_CHANGE_VERSION,
        leader_id=quorum.me.node_id,
        voters=[RecordVoter(voter_id=voter) for voter in quorum.voters],
        granting_voters=[RecordVoter(voter_id=voter) for voter in granting],
    )
    records = [(ControlType.LEADER_CHANGE, encode(message, _LEADER_CHANGE_VERSION))]
    latest, version = quorum.history.latest, quorum.history.kraft_version
    if quorum.history.dynamic and latest is not None and quorum.is_voter:
        myself = quorum.myself_as_voter
        if latest.offset == BOOTSTRAP_OFFSET or not same_voter(quorum.voters[quorum.me.node_id], myself):
            voters = quorum.voters.with_voter(myself)
            records += [(ControlType.KRAFT_VERSION, kraft_version_value(version)), (ControlType.KRAFT_VOTERS, voters_value(voters))]
            offset = quorum.log.end_offset
            quorum.history.add([KRaftVersionAt(offset + 1, version), VotersAt(offset + 2, voters)])
            leader.progress.follow(voters)
    quorum.write_control(*records)


def to_follower(quorum: Quorum, epoch: LeaderEpoch, leader_id: NodeId, endpoints: tuple[Endpoint, ...]) -> None:
    assert leader_id != quorum.me.node_id, "a node does not follow itself"
    _leave(quorum)
    state = quorum.state.seen(epoch) if epoch > quorum.epoch else quorum.state
    quorum.remember(state.led_by(leader_id))
    _enter(quorum, _follower(quorum, leader_id, endpoints))


def _follower(quorum: Quorum, leader_id: NodeId, endpoints: tuple[Endpoint, ...]) -> Follower:
    deadline = quorum.now_ms + quorum.settings.fetch_timeout_ms
    return Follower(leader_id, endpoints, fetch_deadline_ms=quorum.fetch_deadline(), update_voter_ms=deadline)


def to_resigned(quorum: Quorum) -> None:
    role = quorum.role
    assert isinstance(role, Leader)
    successors = role.progress.successors(quorum.me)
    _leave(quorum)
    others = {voter.key.node_id for voter in quorum.voters.others(quorum.me.node_id)}
    _enter(quorum, LeaderResigned(_resigned_deadline(quorum), successors, others))


def _resigned_deadline(quorum: Quorum) -> int:
    # A node that was removed from the voters must leave this role too, and holds no elections.
    return quorum.now_ms + quorum.settings.election_timeout_ms if not quorum.may_stand else quorum.random_election_deadline()


def _leave(quorum: Quorum) -> None:
    role = quorum.role
    if not isinstance(role, Leader):
        return
    end_change(quorum, role, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    for parked in role.parked:
        leader = quorum.leader_info(parked.listener_name)
        quorum.emit(Reply(parked.token, fetch_response(ErrorCode.NOT_LEADER_OR_FOLLOWER, leader, parked.version)))
    role.parked = []
    quorum.emit(Resigned(quorum.epoch))


def _enter(quorum: Quorum, role: Role) -> None:
    quorum.role = role
    quorum.in_flight.forget_all()
