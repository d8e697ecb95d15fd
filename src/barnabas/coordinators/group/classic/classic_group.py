"""One classic group: its members, their leader, and the protocol they agreed on. Other modules
decide about requests.

The log has the group as it last was Stable or Empty; all states in between exist only in this
coordinator. After a crash the group returns to its last stable generation, and members of a later
one get ILLEGAL_GENERATION.

Invariants: the leader is a member; an instance id belongs to exactly one member; a member that
waits for a join is counted in ``joined``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import field

from barnabas.coordinators.group.classic.classic_member import ClassicMember, Protocols
from barnabas.coordinators.group.classic.state import ClassicState, may_follow
from barnabas.coordinators.group.classic.subscriptions import subscribed_topics
from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.wire.coordinator_records.group_metadata import GroupMetadataKey
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.sync_group import SyncGroupResponse

TIME_UNKNOWN = -1  # The value in the log.


@dataclass(slots=True, eq=False)
class ClassicGroup:
    group_id: str
    extend_session: Callable[[ClassicGroup, ClassicMember, int], None]
    protocol_type: str = ""
    """Empty for a group that only has offsets."""
    generation: int = 0
    protocol: str | None = None
    leader: str | None = None
    state: ClassicState = ClassicState.EMPTY
    state_since_ms: int = TIME_UNKNOWN
    """Unknown for a group that only has offsets, or that an old Kafka wrote."""
    members: dict[str, ClassicMember] = field(default_factory=dict)
    instances: dict[str, str] = field(default_factory=dict)
    """Instance id to member id."""
    pending: set[str] = field(default_factory=set)
    """Member ids that the coordinator gave out and that have not joined yet."""
    not_synced: set[str] = field(default_factory=set)
    joined: int = 0
    initial: bool = False
    """The current rebalance is the first of a group that was empty."""
    grew: bool = False
    """A member joined during the delay of the initial rebalance."""
    subscribed: frozenset[str] | None = None
    """The topics of its members; None if they are unknown."""
    _supporters: Counter[str] = field(default_factory=Counter)

    # -- the Group protocol ------------------------------------------------------------------------

    @property
    def kind(self) -> GroupKind:
        return GroupKind.CLASSIC

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def empty_since_ms(self) -> int | None:
        return self.state_since_ms if self.state is ClassicState.EMPTY else None

    def subscribed_to(self, topic: str) -> bool:
        if self.state is ClassicState.EMPTY:
            return False
        # The subscriptions of another protocol type are unknown, so every topic counts as
        # subscribed.
        return self.subscribed is None or topic in self.subscribed

    def check_commit(self, *, member_id: str, instance_id: str | None, epoch: int, transactional: bool) -> ErrorCode:
        if self.state is ClassicState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if epoch < 0 and self.state is ClassicState.EMPTY:
            return ErrorCode.NONE  # A tool, or a consumer that assigns its partitions itself.
        if epoch >= 0 or member_id or instance_id is not None:
            error = self.check_member(member_id, instance_id)
            if error:
                return error
            if epoch != self.generation:
                return ErrorCode.ILLEGAL_GENERATION
        elif not transactional and self.state is not ClassicState.EMPTY:
            # Transactional commits of old clients carry neither member nor generation, so they are
            # accepted without.
            return ErrorCode.UNKNOWN_MEMBER_ID
        if not transactional and self.state is ClassicState.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def check_fetch(self, *, member_id: str | None, epoch: int) -> ErrorCode:
        return ErrorCode.GROUP_ID_NOT_FOUND if self.state is ClassicState.DEAD else ErrorCode.NONE

    def check_delete(self) -> ErrorCode:
        if self.state is ClassicState.DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NONE if self.state is ClassicState.EMPTY else ErrorCode.NON_EMPTY_GROUP

    def tombstones(self) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(GroupMetadataKey(group=self.group_id), None)]

    def committed(self, member_id: str, now_ms: int) -> None:
        member = self.members.get(member_id)
        if member is not None and self.state in (ClassicState.STABLE, ClassicState.PREPARING_REBALANCE):
            self.extend_session(self, member, now_ms)

    # -- members -----------------------------------------------------------------------------------

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Check a member id together with its instance id."""
        if instance_id is not None:
            owner = self.instances.get(instance_id)
            if owner is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
            if owner != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
        return ErrorCode.NONE if member_id in self.members else ErrorCode.UNKNOWN_MEMBER_ID

    def add(self, member: ClassicMember) -> None:
        assert member.member_id not in self.members
        if member.instance_id is not None:
            assert member.instance_id not in self.instances
            self.instances[member.instance_id] = member.member_id
        self.members[member.member_id] = member
        self.pending.discard(member.member_id)
        self._supporters.update(member.protocol_names())
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending member id. Its waiting requests get UNKNOWN_MEMBER_ID."""
        self.pending.discard(member_id)
        self.not_synced.discard(member_id)
        member = self.members.get(member_id)
        if member is None:
            return
        self.answer_join(member, refused_join(ErrorCode.UNKNOWN_MEMBER_ID))
        self.answer_sync(member, refused_sync(ErrorCode.UNKNOWN_MEMBER_ID))
        del self.members[member_id]
        self._supporters.subtract(member.protocol_names())
        if member.instance_id is not None:
            del self.instances[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def rename(self, member: ClassicMember, member_id: str) -> None:
        """A static member returns under a new id. It keeps its place, also as leader; a process
        that still uses the old id is fenced.
        """
        assert member.instance_id is not None
        old_id = member.member_id
        self.answer_join(member, refused_join(ErrorCode.FENCED_INSTANCE_ID, old_id))
        self.answer_sync(member, refused_sync(ErrorCode.FENCED_INSTANCE_ID))
        del self.members[old_id]
        member.member_id = member_id
        self.members[member_id] = member
        self.instances[member.instance_id] = member_id
        if old_id in self.not_synced:
            self.not_synced.remove(old_id)
            self.not_synced.add(member_id)
        if self.leader == old_id:
            self.leader = member_id

    def update(self, member: ClassicMember, protocols: Protocols, *, rebalance_timeout_ms: int, session_timeout_ms: int) -> None:
        self._supporters.subtract(member.protocol_names())
        member.protocols = protocols
        self._supporters.update(member.protocol_names())
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest rebalance timeout of all members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # -- waiting -----------------------------------------------------------------------------------

    def wait_for_join(self, member: ClassicMember) -> Promise[JoinGroupResponse]:
        """A repeated join shares the promise of the first, so that both get a response."""
        if member.waiting_join is None:
            member.waiting_join = Promise()
            self.joined += 1
        return member.waiting_join

    def answer_join(self, member: ClassicMember, response: JoinGroupResponse) -> None:
        waiting, member.waiting_join = member.waiting_join, None
        if waiting is not None:
            self.joined -= 1
            waiting.resolve(response)

    def answer_sync(self, member: ClassicMember, response: SyncGroupResponse) -> None:
        waiting, member.waiting_sync = member.waiting_sync, None
        if waiting is not None and not waiting.done:
            waiting.resolve(response)

    def answer_all(self, error: ErrorCode) -> None:
        for member in list(self.members.values()):
            self.answer_join(member, refused_join(error, member.member_id))
            self.answer_sync(member, refused_sync(error))

    @property
    def all_joined(self) -> bool:
        return self.joined == len(self.members) and not self.pending

    # -- protocols and generations -----------------------------------------------------------------

    def supports(self, protocol_type: str, names: Iterable[str]) -> bool:
        """Whether a member with these protocols shares one with all current members."""
        if self.state is ClassicState.EMPTY:
            return bool(protocol_type) and any(True for _ in names)
        return protocol_type == self.protocol_type and any(self._supporters[name] == len(self.members) for name in names)

    def elected_protocol(self) -> str:
        """Of the protocols that all members support, the one with the most votes."""
        candidates = {name for name, supporters in self._supporters.items() if supporters == len(self.members)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return votes.most_common(1)[0][0]

    def elect_joined_leader(self) -> bool:
        """An absent leader cannot assign, so elect one of the members that have joined. False if
        none has joined.
        """
        if self.leader is not None and self.members[self.leader].waiting_join is not None:
            return True
        joined = next((member.member_id for member in self.members.values() if member.waiting_join is not None), None)
        if joined is not None:
            self.leader = joined
        return joined is not None

    def move_to(self, state: ClassicState, now_ms: int) -> None:
        assert may_follow(self.state, state), f"a group does not go from {self.state.value} to {state.value}"
        self.initial = state is ClassicState.PREPARING_REBALANCE and self.state is ClassicState.EMPTY
        self.state = state
        self.state_since_ms = now_ms

    def begin_generation(self, now_ms: int) -> None:
        self.generation += 1
        self.not_synced.clear()
        self.protocol = self.elected_protocol() if self.members else None
        self.note_subscriptions()
        self.move_to(ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY, now_ms)

    def note_subscriptions(self) -> None:
        self.subscribed = subscribed_topics(self.protocol_type, self.protocol, self.members.values())


def refused_join(error: ErrorCode, member_id: str = "") -> JoinGroupResponse:
    return JoinGroupResponse(error_code=error, protocol_name=None, leader="", member_id=member_id, members=[])


def refused_sync(error: ErrorCode) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error, assignment=b"")
