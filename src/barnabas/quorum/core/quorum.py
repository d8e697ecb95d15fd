"""The state that all roles share: the identity of this node, its persistent state, the outline of
its log, and the effects it asks for.

Roles change in :mod:`barnabas.quorum.core.transitions` only. Elections, the leader's work and the
follower's work are modules of functions over this state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.env.entropy import Entropy
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NO_NODE, LeaderEpoch, NodeId
from barnabas.quorum.core.control_history import ControlHistory
from barnabas.quorum.core.effects import Committed, Effect, Flush, Persist, Send, WriteControl
from barnabas.quorum.core.in_flight import Address, Asked, InFlight
from barnabas.quorum.core.log_outline import EpochStart, LogOutline
from barnabas.quorum.core.messages import LeaderInfo
from barnabas.quorum.core.quorum_state import QuorumState
from barnabas.quorum.core.roles import Follower, Leader, LeaderResigned, Prospective, Role, Unattached
from barnabas.quorum.core.settings import (
    CHECK_QUORUM_FETCH_TIMEOUTS,
    EPOCH_ACCEPTED_MAX,
    EPOCHS_AHEAD_MAX,
    FETCH_TIMEOUT_JITTER,
    QuorumSettings,
)
from barnabas.quorum.core.voters import SUPPORTED_KRAFT_VERSIONS, Endpoint, ReplicaKey, Voter, VoterSet, address_of
from barnabas.records.control_batch import ControlType

# The election deadline of an observer, which holds no elections.
NEVER_MS = 1 << 62


@dataclass(frozen=True, slots=True)
class Identity:
    """The identity of a node in the quorum."""

    key: ReplicaKey
    cluster_id: str
    # The listener on which controllers reach each other: the first of controller.listener.names.
    listener_name: str = "CONTROLLER"
    endpoints: tuple[Endpoint, ...] = ()
    # The node has the role controller, so it may become a voter, and acknowledges only records that
    # are on its disk.
    may_vote: bool = True
    # Addresses of nodes that may know the leader.
    bootstrap: tuple[Address, ...] = ()


class Quorum:
    def __init__(self, identity: Identity, configured: VoterSet, state: QuorumState, settings: QuorumSettings, entropy: Entropy) -> None:
        self.identity = identity
        self.me = identity.key
        self.state = state
        self.settings = settings
        self.entropy = entropy
        self.history = ControlHistory(configured)
        self.log = LogOutline()
        self.in_flight = InFlight(timeout_ms=settings.request_timeout_ms, backoff_ms=settings.retry_backoff_ms)
        self.role: Role = Unattached(NEVER_MS)
        self.high_watermark = 0
        self.stopping = False
        self.now_ms = 0
        self.effects: list[Effect] = []

    # -- questions ---------------------------------------------------------------------------------

    @property
    def epoch(self) -> LeaderEpoch:
        return self.state.epoch

    @property
    def voters(self) -> VoterSet:
        return self.history.voters

    @property
    def is_voter(self) -> bool:
        return self.identity.may_vote and self.voters.includes(self.me)

    @property
    def may_stand(self) -> bool:
        """Voters may stand, and so may a voter that is being removed while it cannot know that its
        removal is committed: it may be the only one that has the record which removes it, and then
        no other voter could be elected (Raft thesis, 4.2.2)."""
        if self.is_voter:
            return True
        latest = self.history.latest
        uncommitted = latest is not None and latest.offset >= self.high_watermark
        return uncommitted and self.identity.may_vote and self.history.previous_voters.includes(self.me)

    @property
    def check_quorum_ms(self) -> int:
        return int(self.settings.fetch_timeout_ms * CHECK_QUORUM_FETCH_TIMEOUTS)

    @property
    def alone(self) -> bool:
        return self.is_voter and len(self.voters) == 1

    @property
    def myself_as_voter(self) -> Voter:
        return Voter(self.me, self.identity.endpoints, SUPPORTED_KRAFT_VERSIONS)

    @property
    def leader_id(self) -> NodeId:
        match self.role:
            case Leader() | LeaderResigned():
                return self.me.node_id
            case Unattached(leader_id=leader_id) | Prospective(leader_id=leader_id) | Follower(leader_id=leader_id):
                return leader_id
        return NO_NODE

    @property
    def leader_endpoints(self) -> tuple[Endpoint, ...]:
        match self.role:
            case Leader() | LeaderResigned():
                return self.identity.endpoints
            case Prospective(leader_endpoints=endpoints) | Follower(leader_endpoints=endpoints):
                return endpoints
        return ()

    def leader_info(self, listener_name: str | None) -> LeaderInfo:
        """The leader and its epoch, as in every response to a request that arrived on this
        listener.

        While controllers move to another listener, the first of ``controller.listener.names``
        differs from node to node. The node that asks would use the address with the security
        protocol of its own first listener, so it must never receive the address of another one. It
        receives no address when this node does not know the leader's there.
        """
        asked_on = self.identity.listener_name if listener_name is None else listener_name
        return LeaderInfo(self.leader_id, self.epoch, address_of(self.leader_endpoints, asked_on))

    def known_cluster(self, cluster_id: str | None) -> bool:
        return cluster_id is None or cluster_id == self.identity.cluster_id

    def names_this_replica(self, key: ReplicaKey) -> bool:
        """Whether a voter that a peer names is this replica. A peer that names none means the node
        it reached."""
        if key.node_id == NO_NODE:
            return True
        return key.node_id == self.me.node_id and (not any(key.directory_id) or key.directory_id == self.me.directory_id)

    def address_of_voter(self, node_id: NodeId) -> Address | None:
        found = address_of(self.voters.endpoints_of(node_id), self.identity.listener_name)
        return Address(*found) if found is not None else None

    def bootstrap_addresses(self) -> list[Address]:
        """The configured addresses and those of the voters, without this node's."""
        mine = {Address(each.host, each.port) for each in self.identity.endpoints}
        voters = (self.address_of_voter(voter.key.node_id) for voter in self.voters.others(self.me.node_id))
        known = dict.fromkeys([*self.identity.bootstrap, *(each for each in voters if each is not None)])
        return [address for address in known if address not in mine]

    # -- actions ----------------------------------------------------------------------------------

    def emit(self, *effects: Effect) -> None:
        self.effects += effects

    def remember(self, state: QuorumState) -> None:
        if state != self.state:
            self.state = state
            self.emit(Persist(state))

    def random_election_deadline(self) -> int:
        if not self.may_stand:
            return NEVER_MS
        timeout_ms = self.settings.election_timeout_ms
        return self.now_ms + timeout_ms + (self.entropy.below(timeout_ms) if timeout_ms > 0 else 0)

    def fetch_deadline(self) -> int:
        """A deadline that differs a little each time. All followers get responses from their leader
        at the same moments. If they also gave it up at the same moment they would split the vote,
        and the next election would come a whole election timeout later."""
        timeout_ms = self.settings.fetch_timeout_ms
        return self.now_ms + timeout_ms + self.entropy.below(1 + int(timeout_ms * FETCH_TIMEOUT_JITTER))

    def send(self, address: Address, request: Any, *, node_id: int = NO_NODE, aside: bool = False) -> bool:
        """False when a request to that address is in flight, or a pause is not over."""
        if not aside and not self.in_flight.ready(address, self.now_ms):
            return False
        request_id = self.in_flight.sent(Asked(address, request, node_id, self.now_ms, aside))
        self.emit(Send(request_id, address.host, address.port, request, self.settings.request_timeout_ms))
        return True

    def write_control(self, *records: tuple[ControlType, bytes]) -> None:
        base_offset = self.log.end_offset
        self.log.extend(base_offset + len(records), [EpochStart(self.epoch, base_offset)])
        self.emit(WriteControl(self.epoch, base_offset, records), Flush(self.log.end_offset, self.log.generation))

    def commit(self, offset: int) -> bool:
        """Returns whether the high watermark rose. It never falls, and is never above the end of
        the log."""
        offset = min(offset, self.log.end_offset)
        if offset <= self.high_watermark:
            return False
        self.high_watermark = offset
        self.emit(Committed(offset))
        return True


def endpoints_or_known(quorum: Quorum, endpoints: Sequence[Endpoint], leader_id: NodeId) -> tuple[Endpoint, ...]:
    """The leader's endpoints in a message, or those in the voter set if the message has none."""
    if address_of(endpoints, quorum.identity.listener_name) is not None:
        return tuple(endpoints)
    return quorum.voters.endpoints_of(leader_id)


def plausible_epoch(quorum: Quorum, epoch: int) -> bool:
    """Whether an epoch that a peer names is plausible. An implausible one is ignored, because an
    epoch once accepted stays for ever."""
    return epoch <= quorum.epoch or epoch <= min(quorum.epoch + EPOCHS_AHEAD_MAX, EPOCH_ACCEPTED_MAX)


def validate_voter_request(quorum: Quorum, sender: int, epoch: int) -> ErrorCode:
    if epoch < quorum.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.INVALID_REQUEST if sender < 0 or not plausible_epoch(quorum, epoch) else ErrorCode.NONE


def validate_leader_request(quorum: Quorum, epoch: int) -> ErrorCode:
    if epoch < quorum.epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if epoch > quorum.epoch:
        return ErrorCode.UNKNOWN_LEADER_EPOCH
    if not isinstance(quorum.role, Leader):
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    return ErrorCode.BROKER_NOT_AVAILABLE if quorum.stopping else ErrorCode.NONE
