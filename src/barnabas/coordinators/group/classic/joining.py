"""JoinGroup: new members, members that rejoin, and static members that return under a new id.

A dynamic member first gets an id and then joins with it (KIP-394), so that a client that loses its
connection does not leave a member without a client behind. A static member (KIP-345) is known by
its instance id: it takes its place again under a new id, without a rebalance if its protocols do
not change the agreed one.
"""

from __future__ import annotations

from uuid import UUID

from barnabas.coordinators.group.classic.classic_group import ClassicGroup, refused_join
from barnabas.coordinators.group.classic.classic_member import ClassicMember, Protocols
from barnabas.coordinators.group.classic.group_records import group_record
from barnabas.coordinators.group.classic.rebalancing import NEW_MEMBER_JOIN_TIMEOUT_MS, Rebalancing, generation_members, joined
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.outcome import Outcome
from barnabas.env.entropy import UUID_BYTES
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse

_MEMBER_ID_REQUIRED_VERSION_MIN = 4
_SKIP_ASSIGNMENT_VERSION_MIN = 9
_REBALANCE_TIMEOUT_VERSION_MIN = 1
# The most characters of the client id in a member id, which must fit into a string of the protocol.
_NAME_CHARACTERS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Join:
    """A JoinGroup request and its client."""

    group_id: str
    member_id: str
    instance_id: str | None
    protocol_type: str
    protocols: Protocols
    rebalance_timeout_ms: int
    session_timeout_ms: int
    version: int
    client_id: str
    client_host: str

    @property
    def protocol_names(self) -> list[str]:
        return [name for name, _ in self.protocols]


def join_of(request: JoinGroupRequest, *, version: int, client_id: str, client_host: str) -> Join:
    # Version 0 has one timeout for both.
    timeout_ms = request.rebalance_timeout_ms if version >= _REBALANCE_TIMEOUT_VERSION_MIN else request.session_timeout_ms
    return Join(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        protocol_type=request.protocol_type,
        protocols=tuple((each.name, each.metadata) for each in request.protocols),
        rebalance_timeout_ms=timeout_ms,
        session_timeout_ms=request.session_timeout_ms,
        version=version,
        client_id=client_id,
        client_host=client_host,
    )


class Joining:
    def __init__(self, shard: GroupShard, rebalancing: Rebalancing) -> None:
        self._shard = shard
        self._rebalancing = rebalancing

    def join(self, group: ClassicGroup, join: Join, now_ms: int) -> Outcome[JoinGroupResponse]:
        if not self._has_room(group, join.member_id):
            self._rebalancing.drop(group, join.member_id)
            return _refused(ErrorCode.GROUP_MAX_SIZE_REACHED)
        if not group.supports(join.protocol_type, join.protocol_names):
            return _refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, join.member_id)
        if not join.member_id:
            return self._join_new(group, join, now_ms)
        if join.member_id in group.pending and join.instance_id is None:
            return self._add(group, join, join.member_id, now_ms)
        error = group.check_member(join.member_id, join.instance_id)
        if error:
            return _refused(error, join.member_id)
        return self._rejoin(group, group.members[join.member_id], join, now_ms)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        size_max = self._shard.settings.size_max
        if group.state is ClassicState.EMPTY:
            return True
        member = group.members.get(member_id)
        if group.state is ClassicState.PREPARING_REBALANCE:
            # Count the members that have joined, not all members: if the limit was lowered, the
            # last to rejoin are too many.
            return (member is not None and member.waiting_join is not None) or group.joined < size_max
        return member is not None or len(group.members) < size_max

    # -- joins without a member id -----------------------------------------------------------------

    def _join_new(self, group: ClassicGroup, join: Join, now_ms: int) -> Outcome[JoinGroupResponse]:
        name = join.client_id if join.instance_id is None else join.instance_id
        member_id = f"{name[:_NAME_CHARACTERS_MAX]}-{UUID(bytes=self._shard.entropy.bytes(UUID_BYTES), version=4)}"
        if join.instance_id is not None:
            known = group.instances.get(join.instance_id)
            if known is not None:
                return self._replace_static(group, group.members[known], join, member_id, now_ms)
        elif join.version >= _MEMBER_ID_REQUIRED_VERSION_MIN:
            group.pending.add(member_id)
            self._rebalancing.set_session(group, member_id, now_ms + join.session_timeout_ms)
            return _refused(ErrorCode.MEMBER_ID_REQUIRED, member_id)
        return self._add(group, join, member_id, now_ms)

    def _add(self, group: ClassicGroup, join: Join, member_id: str, now_ms: int) -> Outcome[JoinGroupResponse]:
        member = ClassicMember(
            member_id=member_id,
            instance_id=join.instance_id,
            client_id=join.client_id,
            client_host=join.client_host,
            rebalance_timeout_ms=join.rebalance_timeout_ms,
            session_timeout_ms=join.session_timeout_ms,
            protocols=join.protocols,
            new=True,
        )
        group.protocol_type = join.protocol_type
        group.add(member)
        group.grew = True
        answer = group.wait_for_join(member)
        self._rebalancing.set_session(group, member_id, now_ms + NEW_MEMBER_JOIN_TIMEOUT_MS)
        return Outcome(answer, self._rebalancing.proceed(group, now_ms))

    # -- joins of known members --------------------------------------------------------------------

    def _rejoin(self, group: ClassicGroup, member: ClassicMember, join: Join, now_ms: int) -> Outcome[JoinGroupResponse]:
        same = member.protocols == join.protocols
        leads = group.leader == member.member_id
        if same and group.state is ClassicState.COMPLETING_REBALANCE:
            # The member probably missed the response to its join.
            return Outcome(joined(group, member.member_id, generation_members(group)))
        if same and group.state is ClassicState.STABLE and not leads:
            return Outcome(joined(group, member.member_id, []))
        # A leader that joins a stable group wants a rebalance, for a reason that the subscriptions
        # do not show.
        _update(group, member, join)
        answer = group.wait_for_join(member)
        return Outcome(answer, self._rebalancing.proceed(group, now_ms))

    def _replace_static(
        self, group: ClassicGroup, member: ClassicMember, join: Join, member_id: str, now_ms: int
    ) -> Outcome[JoinGroupResponse]:
        old_id, old_leader = member.member_id, group.leader
        before = (member.protocols, member.rebalance_timeout_ms, member.session_timeout_ms)
        self._rebalancing.end_session(group, old_id)
        group.rename(member, member_id)
        _update(group, member, join)
        self._rebalancing.extend_session(group, member, now_ms)
        if group.state is not ClassicState.STABLE or group.elected_protocol() != group.protocol:
            # While the group completes, the leader assigns to the old id and the new one would get
            # nothing, so this needs a rebalance too.
            answer = group.wait_for_join(member)
            return Outcome(answer, self._rebalancing.proceed(group, now_ms))

        group.note_subscriptions()

        def revert(_: ErrorCode) -> None:
            if group.members.get(member_id) is not member:
                return
            protocols, rebalance_timeout_ms, session_timeout_ms = before
            self._rebalancing.end_session(group, member_id)
            group.rename(member, old_id)
            group.update(member, protocols, rebalance_timeout_ms=rebalance_timeout_ms, session_timeout_ms=session_timeout_ms)
            group.note_subscriptions()
            self._rebalancing.extend_session(group, member, now_ms)

        if join.version >= _SKIP_ASSIGNMENT_VERSION_MIN:
            answer_now = joined(group, member_id, generation_members(group), skip_assignment=group.leader == member_id)
        else:
            # A leader of an older version cannot skip the assignment, so the response does not name
            # it as leader.
            answer_now = joined(group, member_id, [])
            answer_now.leader = old_leader or ""
        record = group_record(group, {each.member_id: each.assignment for each in group.members.values()})
        return Outcome(answer_now, [record], if_refused=revert)


def _update(group: ClassicGroup, member: ClassicMember, join: Join) -> None:
    group.update(member, join.protocols, rebalance_timeout_ms=join.rebalance_timeout_ms, session_timeout_ms=join.session_timeout_ms)


def _refused(error: ErrorCode, member_id: str = "") -> Outcome[JoinGroupResponse]:
    return Outcome(refused_join(error, member_id))
