"""The quorum's state machine: ``step(event, now_ms) -> effects``, in the order in which they must
be performed.

Kafka's Raft is pull-based: followers fetch, and the offset from which they fetch is their
acknowledgement. The roles and their transitions are in :mod:`barnabas.quorum.core.roles`. These
invariants hold at every moment:

- An epoch has at most one leader: a voter votes once in it, and has that vote on disk before it
  answers.
- The high watermark is the largest offset that a majority has on disk, never falls, and only moves
  over a batch of the leader's own epoch.
- Records below the high watermark are never truncated.

A node that is the only voter elects itself when it starts, without a timeout, because no other
leader can exist. After every event the node does everything that its role is ready to do;
:attr:`QuorumNode.deadline_ms` is the time at which the role is ready for more without an event.
"""

from __future__ import annotations

from typing import assert_never

from barnabas.env.entropy import Entropy, SystemEntropy
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, LeaderEpoch, NodeId
from barnabas.quorum.core import elections, following, leading, transitions, voter_changes
from barnabas.quorum.core.effects import Effect, LeaderKnown
from barnabas.quorum.core.events import (
    Answered,
    Append,
    Event,
    Flushed,
    LeaderGone,
    LogTrimmed,
    Requested,
    Resign,
    SnapshotInstalled,
    SnapshotRefused,
    Started,
    Stop,
    Tick,
    Truncated,
    UpgradeKRaftVersion,
)
from barnabas.quorum.core.progress import ReplicaProgress
from barnabas.quorum.core.quorum import NEVER_MS, Identity, Quorum
from barnabas.quorum.core.quorum_state import QuorumState
from barnabas.quorum.core.roles import Candidate, Follower, Leader, LeaderResigned, Prospective, Unattached
from barnabas.quorum.core.settings import QuorumSettings
from barnabas.quorum.core.voters import VoterSet, address_of
from barnabas.wire.messages.add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from barnabas.wire.messages.begin_quorum_epoch import BeginQuorumEpochRequest, BeginQuorumEpochResponse
from barnabas.wire.messages.end_quorum_epoch import EndQuorumEpochRequest, EndQuorumEpochResponse
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse
from barnabas.wire.messages.fetch_snapshot import FetchSnapshotRequest, FetchSnapshotResponse
from barnabas.wire.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from barnabas.wire.messages.update_raft_voter import UpdateRaftVoterRequest, UpdateRaftVoterResponse
from barnabas.wire.messages.vote import VoteRequest, VoteResponse

# A role may hand over to the next a few times within one step (a lone voter becomes prospective,
# candidate, leader); more would be an endless loop.
TURNS_MAX = 8


class QuorumNode:
    def __init__(
        self,
        identity: Identity,
        configured: VoterSet,
        state: QuorumState,
        settings: QuorumSettings | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        """``configured`` are the voters of ``controller.quorum.voters``; voters in the log replace
        them."""
        self.quorum = Quorum(identity, configured, state, settings or QuorumSettings(), entropy or SystemEntropy())
        self._announced = (NO_NODE, LeaderEpoch(-1))
        self._started = False
        # Voters that did not answer the last request.
        self._unreachable: set[NodeId] = set()

    # -- state ------------------------------------------------------------------------------------

    @property
    def node_id(self) -> NodeId:
        return self.quorum.me.node_id

    @property
    def state(self) -> QuorumState:
        return self.quorum.state

    @property
    def epoch(self) -> LeaderEpoch:
        return self.quorum.state.epoch

    @property
    def leading(self) -> bool:
        return isinstance(self.quorum.role, Leader)

    @property
    def log_end_offset(self) -> int:
        return self.quorum.log.end_offset

    @property
    def high_watermark(self) -> int:
        return self.quorum.high_watermark

    @property
    def epoch_start_offset(self) -> int:
        role = self.quorum.role
        return role.epoch_start_offset if isinstance(role, Leader) else 0

    @property
    def voters(self) -> VoterSet:
        return self.quorum.voters

    @property
    def kraft_version(self) -> int:
        return self.quorum.history.kraft_version

    @property
    def leader_id(self) -> NodeId:
        """The leader of the current epoch; -1 while it is unknown, and after it has resigned."""
        return NO_NODE if isinstance(self.quorum.role, LeaderResigned) else self.quorum.leader_id

    @property
    def leader_address(self) -> tuple[str, int] | None:
        if isinstance(self.quorum.role, LeaderResigned):
            return None
        return address_of(self.quorum.leader_endpoints, self.quorum.identity.listener_name)

    @property
    def told_high_watermark(self) -> int:
        """The high watermark as followers receive it: -1 while no batch of the leader's own epoch
        is committed."""
        role = self.quorum.role
        return -1 if isinstance(role, Leader) and not role.established else self.quorum.high_watermark

    def replicas(self, now_ms: int) -> tuple[list[ReplicaProgress], list[ReplicaProgress]]:
        """Voters and observers as the leader knows them; empty on any other node."""
        quorum = self.quorum
        if not isinstance(quorum.role, Leader):
            return [], []
        progress = quorum.role.progress
        voters = list(progress.voters())
        for index, replica in enumerate(voters):
            if replica.key.node_id == self.node_id:
                voters[index] = ReplicaProgress(quorum.me, quorum.log.end_offset, now_ms, now_ms)
        return voters, progress.observers(now_ms)

    @property
    def handed_over(self) -> bool:
        """Whether a node that is stopping may stop now: another node leads, or none is left that
        could."""
        quorum = self.quorum
        match quorum.role:
            case Leader():
                return False
            case LeaderResigned():
                others = {voter.key.node_id for voter in quorum.voters.others(self.node_id)}
                return others <= self._unreachable
        return not quorum.is_voter or quorum.leader_id != NO_NODE or quorum.state.leader_id != self.node_id

    @property
    def deadline_ms(self) -> int:
        """When to send a :class:`~barnabas.quorum.core.events.Tick`, unless another event comes
        first."""
        quorum = self.quorum
        requests_ms = quorum.in_flight.next_ms(quorum.now_ms)
        match quorum.role:
            case Leader() as role:
                role_ms = leading.deadline_of_leader(quorum, role)
            case Follower(fetch_deadline_ms=role_ms):
                role_ms = role_ms if quorum.may_stand else NEVER_MS
            case Unattached(election_deadline_ms=role_ms) | LeaderResigned(election_deadline_ms=role_ms):
                pass
            case Prospective(election_deadline_ms=role_ms) | Candidate(election_deadline_ms=role_ms):
                pass
        if quorum.stopping and not isinstance(quorum.role, Leader):
            role_ms = NEVER_MS
        return min(role_ms, requests_ms if requests_ms is not None else NEVER_MS)

    # -- events -----------------------------------------------------------------------------------

    def step(self, event: Event, now_ms: int) -> list[Effect]:
        quorum = self.quorum
        quorum.now_ms = max(quorum.now_ms, now_ms)
        assert self._started or isinstance(event, Started | Append), "a node is started first"
        self._handle(event)
        self._take_turns()
        self._announce_leader()
        effects, quorum.effects = quorum.effects, []
        return effects

    def _handle(self, event: Event) -> None:
        quorum = self.quorum
        match event:
            case Started():
                self._start(event)
            case Tick():
                quorum.in_flight.expire(quorum.now_ms)
            case Append():
                leading.append(quorum, event)
            case Flushed():
                self._flushed(event)
            case Truncated():
                following.on_truncated(quorum, event)
            case Requested():
                self._requested(event)
            case Answered():
                self._answered(event)
            case SnapshotInstalled():
                following.on_snapshot_installed(quorum, event)
            case SnapshotRefused():
                following.on_snapshot_refused(quorum, event)
            case LogTrimmed():
                quorum.log.trimmed(event.start_offset, event.snapshots)
            case UpgradeKRaftVersion():
                voter_changes.upgrade(quorum, event.version)
            case Resign():
                if isinstance(quorum.role, Leader) and event.epoch == quorum.epoch:
                    transitions.to_resigned(quorum)
            case LeaderGone():
                elections.on_leader_gone(quorum, event)
            case Stop():
                quorum.stopping = True
            case _:
                assert_never(event)

    def _start(self, event: Started) -> None:
        quorum = self.quorum
        self._started = True
        quorum.log = event.log
        quorum.log.flushed_offset = event.log.end_offset
        quorum.history.add(event.changes)
        # A snapshot only ever contains committed records.
        snapshot = event.log.latest_snapshot
        quorum.high_watermark = max(event.log.start_offset, snapshot.offset if snapshot is not None else 0)
        transitions.start(quorum)

    def _flushed(self, event: Flushed) -> None:
        log = self.quorum.log
        if event.generation != log.generation:
            return
        assert event.end_offset <= log.end_offset, f"flushed to {event.end_offset}, written to {log.end_offset}"
        log.flushed_offset = max(log.flushed_offset, event.end_offset)
        if isinstance(self.quorum.role, Leader):
            leading.advance(self.quorum, self.quorum.role)

    def _requested(self, event: Requested) -> None:
        quorum, token, version, listener_name = self.quorum, event.token, event.version, event.listener_name
        match event.request:
            case FetchRequest() as request:
                leading.on_fetch_request(quorum, token, request, version, listener_name)
            case VoteRequest() as request:
                elections.on_vote_request(quorum, token, request, version, listener_name)
            case BeginQuorumEpochRequest() as request:
                elections.on_begin_request(quorum, token, request, version, listener_name)
            case EndQuorumEpochRequest() as request:
                elections.on_end_request(quorum, token, request, version, listener_name)
            case FetchSnapshotRequest() as request:
                leading.on_snapshot_request(quorum, token, request, version, listener_name)
            case AddRaftVoterRequest() as request:
                voter_changes.on_add_request(quorum, token, request)
            case RemoveRaftVoterRequest() as request:
                voter_changes.on_remove_request(quorum, token, request)
            case UpdateRaftVoterRequest() as request:
                voter_changes.on_update_request(quorum, token, request, listener_name)
            case other:
                raise AssertionError(f"{type(other).__name__} is no event of the quorum")

    def _answered(self, event: Answered) -> None:
        quorum = self.quorum
        asked = quorum.in_flight.take(event.request_id)
        if asked is None:
            return
        node_id, response = NodeId(asked.node_id), event.response
        self._unreachable.discard(node_id)
        match asked.request, response:
            case ApiVersionsRequest(), _:
                usable = voter_changes.on_versions_answer(quorum, node_id, response)
            case VoteRequest(), ErrorCode.UNSUPPORTED_VERSION:
                elections.prevote_unsupported(quorum)
                usable = False
            case _, ErrorCode():
                self._unreachable.add(node_id)
                usable = False
            case VoteRequest(), VoteResponse():
                usable = elections.on_vote_answer(quorum, node_id, response)
            case FetchRequest() as request, FetchResponse():
                usable = following.on_fetch_answer(quorum, request, response)
            case FetchSnapshotRequest(), FetchSnapshotResponse():
                usable = following.on_snapshot_answer(quorum, response)
            case BeginQuorumEpochRequest(), BeginQuorumEpochResponse():
                usable = leading.on_begin_answer(quorum, response)
            case EndQuorumEpochRequest(), EndQuorumEpochResponse():
                usable = elections.on_end_answer(quorum, node_id, response)
            case UpdateRaftVoterRequest(), UpdateRaftVoterResponse():
                usable = voter_changes.on_update_answer(quorum, response)
            case (AddRaftVoterRequest(), AddRaftVoterResponse()) | (RemoveRaftVoterRequest(), RemoveRaftVoterResponse()):
                usable = True
            case _:
                usable = False
        if usable:
            quorum.in_flight.succeeded(asked.address)
        else:
            quorum.in_flight.failed(asked.address, quorum.now_ms)

    # -- what the role is ready to do --------------------------------------------------------------

    def _take_turns(self) -> None:
        for _ in range(TURNS_MAX):
            before = self.quorum.role
            self._take_turn()
            if self.quorum.role is before:
                return
        raise AssertionError(f"roles follow one another without end, last {self.quorum.role}")

    def _take_turn(self) -> None:
        quorum = self.quorum
        if not self._started:
            return
        match quorum.role:
            case Leader() as role:
                leading.poll_leader(quorum, role)
            case Follower() as role:
                following.poll_follower(quorum, role)
            case Unattached(election_deadline_ms=deadline):
                if quorum.may_stand and not quorum.stopping and quorum.now_ms >= deadline:
                    transitions.to_prospective(quorum)
                else:
                    following.fetch_from_anyone(quorum)
            case Prospective(election_deadline_ms=deadline) as role:
                if not quorum.stopping and quorum.now_ms >= deadline:
                    transitions.after_lost_prevote(quorum, role)
                else:
                    elections.ask_for_votes(quorum, role)
            case Candidate(election_deadline_ms=deadline) as role:
                if not quorum.stopping and quorum.now_ms >= deadline:
                    transitions.to_prospective(quorum)
                else:
                    elections.ask_for_votes(quorum, role)
            case LeaderResigned(election_deadline_ms=deadline) as role:
                if not quorum.stopping and quorum.now_ms >= deadline:
                    transitions.to_unattached(quorum, LeaderEpoch(quorum.epoch + 1))
                else:
                    elections.announce_resignation(quorum, role)

    def _announce_leader(self) -> None:
        known = (self.leader_id, self.epoch)
        if known != self._announced:
            self._announced = known
            self.quorum.emit(LeaderKnown(*known))
