"""Elections: asking for votes, granting them, and learning the result.

A voter grants one vote per epoch, to a candidate whose log is at least as far as its own; so the
winner has every record that was ever committed. A pre-vote is no promise, and a voter that
hears from a leader refuses it.
"""

from __future__ import annotations

from typing import Any

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, LeaderEpoch, NodeId, Uuid
from barnabas.quorum.core.effects import Complain, Reply
from barnabas.quorum.core.events import LeaderGone
from barnabas.quorum.core.log_outline import OffsetAndEpoch
from barnabas.quorum.core.messages import (
    begin_response,
    end_request,
    end_response,
    endpoints_in,
    one_partition,
    refused_begin,
    refused_end,
    refused_vote,
    successors_in,
    vote_request,
    vote_response,
)
from barnabas.quorum.core.quorum import Quorum, endpoints_or_known, plausible_epoch, validate_voter_request
from barnabas.quorum.core.roles import Candidate, Follower, Leader, LeaderResigned, Prospective, Unattached
from barnabas.quorum.core.settings import SUCCESSION_STEP_MS
from barnabas.quorum.core.transitions import after_lost_prevote, grant_vote, to_candidate, to_follower, to_leader, to_unattached
from barnabas.quorum.core.voters import Endpoint, ReplicaKey, address_of
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from barnabas.wire.messages.vote import VoteRequest, VoteResponse

# -- requests of other nodes -------------------------------------------------------------------


def on_vote_request(quorum: Quorum, token: int, request: VoteRequest, version: int, listener_name: str | None) -> None:
    if not quorum.known_cluster(request.cluster_id):
        quorum.emit(Reply(token, refused_vote(ErrorCode.INCONSISTENT_CLUSTER_ID)))
        return
    partition = one_partition(request.topics)
    if partition is None:
        quorum.emit(Reply(token, refused_vote(ErrorCode.INVALID_REQUEST)))
        return
    candidate = ReplicaKey(NodeId(partition.replica_id), Uuid(partition.replica_directory_id))
    end_of_log = OffsetAndEpoch(partition.last_offset, partition.last_offset_epoch)
    epoch, pre_vote = partition.replica_epoch, partition.pre_vote
    # A candidate has started a new epoch, so its log cannot have batches of that epoch; the log of
    # a node that asks for a pre-vote can.
    illegal_epoch = end_of_log.epoch > epoch or (end_of_log.epoch == epoch and not pre_vote)
    error = validate_voter_request(quorum, candidate.node_id, epoch)
    granted = False
    if end_of_log.offset < 0 or end_of_log.epoch < 0 or illegal_epoch or candidate.node_id == quorum.me.node_id:
        error = ErrorCode.INVALID_REQUEST
    elif error == ErrorCode.NONE:
        if epoch > quorum.epoch:
            to_unattached(quorum, LeaderEpoch(epoch))
        if not quorum.names_this_replica(ReplicaKey(NodeId(request.voter_id), Uuid(partition.voter_directory_id))):
            error = ErrorCode.INVALID_VOTER_KEY
        else:
            granted = _would_grant(quorum, candidate, up_to_date=quorum.log.is_behind(end_of_log), pre_vote=pre_vote)
            if granted and not pre_vote and quorum.state.voted_id == NO_NODE:
                grant_vote(quorum, candidate)
    quorum.emit(Reply(token, vote_response(error, quorum.leader_info(listener_name), version, granted=granted)))


def _would_grant(quorum: Quorum, candidate: ReplicaKey, *, up_to_date: bool, pre_vote: bool) -> bool:
    match quorum.role:
        case Leader():
            return False
        case Follower(has_fetched=has_fetched):
            return pre_vote and up_to_date and not has_fetched
        case Candidate() | LeaderResigned():
            return pre_vote and up_to_date
        case Unattached(leader_id=leader_id) | Prospective(leader_id=leader_id):
            state = quorum.state
            if pre_vote:
                return up_to_date
            if state.voted_id != NO_NODE:
                same_directory = not any(state.voted_directory_id) or state.voted_directory_id == candidate.directory_id
                return state.voted_id == candidate.node_id and same_directory
            return leader_id == NO_NODE and up_to_date


def on_begin_request(quorum: Quorum, token: int, request: BeginQuorumEpochRequest, version: int, listener_name: str | None) -> None:
    partition = _partition_for_this(quorum, request)
    if isinstance(partition, ErrorCode):
        quorum.emit(Reply(token, refused_begin(partition)))
        return
    error = _accept_leader(quorum, request, partition)
    if error == ErrorCode.NONE and not quorum.names_this_replica(ReplicaKey(NodeId(request.voter_id), Uuid(partition.voter_directory_id))):
        error = ErrorCode.INVALID_VOTER_KEY
    quorum.emit(Reply(token, begin_response(error, quorum.leader_info(listener_name), version)))


def on_end_request(quorum: Quorum, token: int, request: EndQuorumEpochRequest, version: int, listener_name: str | None) -> None:
    partition = _partition_for_this(quorum, request)
    if isinstance(partition, ErrorCode):
        quorum.emit(Reply(token, refused_end(partition)))
        return
    error = _accept_leader(quorum, request, partition)
    if error == ErrorCode.NONE and isinstance(quorum.role, Follower) and quorum.role.leader_id == partition.leader_id:
        quorum.role.fetch_deadline_ms = quorum.now_ms + _succession_backoff_ms(quorum, successors_in(partition))
        # The leader has resigned, so this node grants the pre-vote of a successor at once. With two
        # voters left a refusal would cost the successor its backoff.
        quorum.role.has_fetched = False
    quorum.emit(Reply(token, end_response(error, quorum.leader_info(listener_name), version)))


def _partition_for_this(quorum: Quorum, request: BeginQuorumEpochRequest | EndQuorumEpochRequest) -> Any | ErrorCode:
    if not quorum.known_cluster(request.cluster_id):
        return ErrorCode.INCONSISTENT_CLUSTER_ID
    partition = one_partition(request.topics)
    return ErrorCode.INVALID_REQUEST if partition is None else partition


def _accept_leader(quorum: Quorum, request: BeginQuorumEpochRequest | EndQuorumEpochRequest, partition: Any) -> ErrorCode:
    """Accept the statement of a leader that its epoch begins or ends, or return the error code of
    the refusal."""
    error = validate_voter_request(quorum, partition.leader_id, partition.leader_epoch)
    if error != ErrorCode.NONE:
        return error
    endpoints = [Endpoint(each.name, each.host, each.port) for each in request.leader_endpoints]
    learned = learn_leader(quorum, NodeId(partition.leader_id), LeaderEpoch(partition.leader_epoch), endpoints)
    return ErrorCode.NONE if learned else ErrorCode.INVALID_REQUEST


def _succession_backoff_ms(quorum: Quorum, successors: list[ReplicaKey]) -> int:
    """The first successor stands at once and each further one waits twice as long as the one
    before, so that they do not split the vote."""
    most_ms = quorum.settings.election_backoff_max_ms
    position = next((index for index, key in enumerate(successors) if quorum.names_this_replica(key)), len(successors))
    if position == 0 and successors:
        return 0
    if position >= len(successors):
        return most_ms
    return min(most_ms, (most_ms >> (len(successors) - 1)) << (position - 1))


# -- what other nodes report -------------------------------------------------------------------


def learn_leader(quorum: Quorum, leader_id: NodeId, epoch: LeaderEpoch, endpoints: list[Endpoint] | tuple[Endpoint, ...]) -> bool:
    """Follow the leader that a peer names. False when the peer must be wrong: the epoch has another
    leader, or this node would lead it without knowing."""
    mine = leader_id == quorum.me.node_id
    if (mine and not isinstance(quorum.role, Leader)) or (
        epoch == quorum.epoch and NO_NODE not in (leader_id, quorum.leader_id) and leader_id != quorum.leader_id
    ):
        if mine and isinstance(quorum.role, LeaderResigned) and epoch == quorum.epoch:
            return True  # The peer repeats the epoch from which this node has resigned.
        quorum.emit(
            Complain(f"a peer reports that {leader_id} leads epoch {epoch}, but here {quorum.leader_id} leads epoch {quorum.epoch}")
        )
        return False
    if mine and epoch > quorum.epoch:
        quorum.emit(Complain(f"a peer reports that this node leads epoch {epoch}, but it leads epoch {quorum.epoch}"))
        return False
    known = endpoints_or_known(quorum, endpoints, leader_id) if leader_id != NO_NODE else ()
    reachable = address_of(known, quorum.identity.listener_name) is not None
    if epoch > quorum.epoch:
        if leader_id != NO_NODE and reachable:
            to_follower(quorum, epoch, leader_id, known)
        else:
            to_unattached(quorum, epoch, leader_id)
    elif epoch == quorum.epoch and reachable and not mine:
        if quorum.leader_id == NO_NODE or not quorum.leader_endpoints:
            to_follower(quorum, epoch, leader_id, known)
        elif isinstance(quorum.role, Follower) and len(known) > len(quorum.role.leader_endpoints):
            quorum.role.leader_endpoints = known
    return True


def settle(quorum: Quorum, error: int, leader_id: int, epoch: int, endpoints: tuple[Endpoint, ...]) -> bool | None:
    """Handle the part that every response has: the leader and its epoch. Returns None when the rest
    of the response counts too; otherwise whether the peer gave a usable response, after which no
    pause is needed."""
    leader = NodeId(leader_id) if leader_id >= 0 else NO_NODE
    if not plausible_epoch(quorum, epoch):
        quorum.emit(Complain(f"a peer reports that {leader_id} leads epoch {epoch}, which is too far from epoch {quorum.epoch}"))
        return False
    if epoch < quorum.epoch or error == ErrorCode.UNKNOWN_LEADER_EPOCH:
        return True
    if epoch > quorum.epoch or error in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER):
        return learn_leader(quorum, leader, LeaderEpoch(epoch), endpoints)
    if leader != NO_NODE and quorum.leader_id == NO_NODE:
        learned = learn_leader(quorum, leader, LeaderEpoch(epoch), endpoints)
        return None if learned and error == ErrorCode.NONE else learned
    if error in (ErrorCode.BROKER_NOT_AVAILABLE, ErrorCode.INVALID_REQUEST):
        return False
    return True if error == ErrorCode.INVALID_VOTER_KEY else None


def on_leader_gone(quorum: Quorum, event: LeaderGone) -> None:
    """Stand without waiting for the fetch timeout, and grant the pre-vote of others that do. If the
    leader is alive after all, the other voters refuse the pre-vote, and this node goes back to
    following.
    """
    role = quorum.role
    if isinstance(role, Follower) and (role.leader_id, quorum.epoch) == (event.leader_id, event.epoch):
        role.has_fetched = False
        if quorum.may_stand:
            before = sum(each < quorum.me.node_id for each in quorum.voters if each != role.leader_id)
            wait_ms = before * SUCCESSION_STEP_MS
            role.fetch_deadline_ms = min(role.fetch_deadline_ms, quorum.now_ms + wait_ms)


# -- standing for election ---------------------------------------------------------------------


def ask_for_votes(quorum: Quorum, role: Prospective | Candidate) -> None:
    if role.votes.lost:
        return
    for voter_id in role.votes.unrecorded:
        voter, address = quorum.voters.get(voter_id), quorum.address_of_voter(voter_id)
        if voter is None or address is None:
            continue
        request = vote_request(
            quorum.identity.cluster_id,
            epoch=quorum.epoch,
            candidate=quorum.me,
            voter=voter.key,
            end_of_log=quorum.log.end,
            pre_vote=isinstance(role, Prospective),
        )
        quorum.send(address, request, node_id=voter_id)


def on_vote_answer(quorum: Quorum, voter_id: NodeId, response: VoteResponse) -> bool:
    """Count a vote. Returns whether the peer gave a usable response."""
    if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
        prevote_unsupported(quorum)
        return True
    partition = one_partition(response.topics)
    if response.error_code != ErrorCode.NONE or partition is None:
        return False
    endpoints = endpoints_in(response.node_endpoints, partition.leader_id, quorum.identity.listener_name)
    settled = settle(quorum, partition.error_code, partition.leader_id, partition.leader_epoch, endpoints)
    if settled is not None or partition.error_code != ErrorCode.NONE:
        return bool(settled)
    role = quorum.role
    if isinstance(role, Prospective | Candidate):
        role.votes.record(voter_id, granted=partition.vote_granted)
        if isinstance(role, Candidate) and role.votes.won:
            to_leader(quorum)
        elif isinstance(role, Prospective) and role.votes.won:
            to_candidate(quorum)
        elif isinstance(role, Prospective) and role.votes.lost:
            after_lost_prevote(quorum, role)
    return True


def prevote_unsupported(quorum: Quorum) -> None:
    """The voter is older than KIP-996 and knows no pre-vote. Without it there may be no majority,
    so stand at once, as such versions do."""
    if isinstance(quorum.role, Prospective):
        to_candidate(quorum)


# -- resigning -------------------------------------------------------------------------------------


def announce_resignation(quorum: Quorum, role: LeaderResigned) -> None:
    for voter_id in sorted(role.unacked_voters):
        address = quorum.address_of_voter(voter_id)
        if address is not None:
            request = end_request(
                quorum.identity.cluster_id,
                epoch=quorum.epoch,
                leader_id=quorum.me.node_id,
                endpoints=quorum.identity.endpoints,
                successors=role.successors,
            )
            quorum.send(address, request, node_id=voter_id)


def on_end_answer(quorum: Quorum, voter_id: NodeId, response: EndQuorumEpochResponse) -> bool:
    partition = one_partition(response.topics)
    if response.error_code != ErrorCode.NONE or partition is None:
        return False
    endpoints = endpoints_in(response.node_endpoints, partition.leader_id, quorum.identity.listener_name)
    settled = settle(quorum, partition.error_code, partition.leader_id, partition.leader_epoch, endpoints)
    if settled is not None or partition.error_code != ErrorCode.NONE:
        return bool(settled)
    if isinstance(quorum.role, LeaderResigned):
        quorum.role.unacked_voters.discard(voter_id)
    return True
