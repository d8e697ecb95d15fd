"""The classic groups of a shard: JoinGroup, SyncGroup, Heartbeat and LeaveGroup, and the replay of
their records.

This module is the entry point. It calls ``joining``, ``syncing`` and ``leaving``, which all lead to
``rebalancing``. If the log refuses a record, the requests that wait for it get the error code of
the log; the API handlers translate it for clients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from barnabas.coordinators.group.classic.classic_group import ClassicGroup, refused_join, refused_sync
from barnabas.coordinators.group.classic.group_records import new_group_record, restore
from barnabas.coordinators.group.classic.joining import Join, Joining, join_of
from barnabas.coordinators.group.classic.leaving import leave, left
from barnabas.coordinators.group.classic.rebalancing import Rebalancing
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.coordinators.group.classic.syncing import Syncing, stabilize
from barnabas.coordinators.group.group import Group
from barnabas.coordinators.group.group_kind import GroupKind
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.outcome import Outcome
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.errors import ErrorCode
from barnabas.wire.coordinator_records.group_metadata import GroupMetadataKey
from barnabas.wire.messages.describe_groups import DescribedGroup, DescribedGroupMember
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_EMPTY = "Empty"
# Members of share groups and streams groups never use JoinGroup.
_KINDS_WITH_CLASSIC_MEMBERS = frozenset({GroupKind.CLASSIC, GroupKind.CONSUMER})
_MEMBERS_VERSION_MIN = 3  # Of LeaveGroup; before it, a request had one member.


class ConsumerGroupRequests(Protocol):
    """Serves classic members of consumer groups, which send the same requests."""

    def join(self, group: Group, join: Join, now_ms: int) -> Outcome[JoinGroupResponse]: ...

    def sync(self, group: Group, request: SyncGroupRequest, now_ms: int) -> Outcome[SyncGroupResponse]: ...

    def heartbeat(self, group: Group, request: HeartbeatRequest, now_ms: int) -> Outcome[HeartbeatResponse]: ...

    def leave(self, group: Group, members: list[MemberIdentity], now_ms: int) -> Outcome[LeaveGroupResponse]: ...


class ClassicGroups:
    def __init__(self, shard: GroupShard) -> None:
        self.consumer_groups: ConsumerGroupRequests | None = None
        """Set by the consumer groups of the shard. Without it, all groups are classic."""
        self._shard = shard
        self._rebalancing = Rebalancing(shard)
        self._joining = Joining(shard, self._rebalancing)
        self._syncing = Syncing(self._rebalancing)
        self._active = False
        self.replays: dict[type[Any], Callable[[CoordinatorRecord], None]] = {GroupMetadataKey: self._replay}

    # -- the log -----------------------------------------------------------------------------------

    def _replay(self, record: CoordinatorRecord) -> None:
        group_id = record.key.group
        known = self._shard.groups.get(group_id)
        if record.value is None:
            # A consumer group that has replaced this one stays.
            if isinstance(known, ClassicGroup):
                self._end(known, ErrorCode.REBALANCE_IN_PROGRESS)
                del self._shard.groups[group_id]
        elif self._active and isinstance(known, ClassicGroup):
            stabilize(known, record.value)
        else:
            group = self._new(group_id)
            restore(group, record.value)
            self._shard.groups[group_id] = group

    def loaded(self, now_ms: int) -> None:
        self._active = True
        for group in self._own():
            self.begin_sessions(group, now_ms)
            if len(group.members) > self._shard.settings.size_max:
                # The limit was lowered. The members that rejoin last are refused.
                self._rebalancing.prepare(group, now_ms)

    def begin_sessions(self, group: ClassicGroup, now_ms: int) -> None:
        """Start the sessions of members that come from the log or from a consumer group."""
        for member in group.members.values():
            self._rebalancing.extend_session(group, member, now_ms)

    def adopt(self, group_id: str, now_ms: int) -> None:
        """Rebalance a former consumer group that was just replayed as a classic one."""
        group = self._shard.groups.get(group_id)
        if isinstance(group, ClassicGroup) and group.state is ClassicState.STABLE:
            self.begin_sessions(group, now_ms)
            self._rebalancing.prepare(group, now_ms)

    def unloaded(self) -> None:
        for group in self._own():
            self._end(group, ErrorCode.NOT_COORDINATOR)

    def _own(self) -> list[ClassicGroup]:
        return [group for group in self._shard.groups.values() if isinstance(group, ClassicGroup)]

    def _end(self, group: ClassicGroup, error: ErrorCode) -> None:
        self._rebalancing.forget(group)
        group.state = ClassicState.DEAD
        group.answer_all(error)

    def _new(self, group_id: str) -> ClassicGroup:
        return ClassicGroup(group_id, self._rebalancing.extend_session)

    def simple_group(self, group_id: str) -> Group:
        """The group of some offsets, created if it does not exist. Its consumers, if any, assign
        their partitions themselves.
        """
        return self._shard.groups.setdefault(group_id, self._new(group_id))

    # -- operations --------------------------------------------------------------------------------

    def join(self, request: JoinGroupRequest, *, version: int, client_id: str, client_host: str, now_ms: int) -> Outcome[JoinGroupResponse]:
        settings = self._shard.settings
        if not settings.session_timeout_ms_min <= request.session_timeout_ms <= settings.session_timeout_ms_max:
            return Outcome(refused_join(ErrorCode.INVALID_SESSION_TIMEOUT, request.member_id))
        join = join_of(request, version=version, client_id=client_id, client_host=client_host)
        group = self._shard.groups.get(request.group_id)
        if isinstance(group, ClassicGroup):
            return self._joining.join(group, join, now_ms)
        if group is not None and not _may_be_replaced(group):
            if group.kind is not GroupKind.CONSUMER:
                return Outcome(refused_join(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
            assert self.consumer_groups is not None
            return self.consumer_groups.join(group, join, now_ms)
        if request.member_id:
            return Outcome(refused_join(ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
        return self._create(join, group, now_ms)

    def _create(self, join: Join, replaced: Group | None, now_ms: int) -> Outcome[JoinGroupResponse]:
        """The first join creates the group, which may replace an empty group of another kind."""
        group = self._new(join.group_id)
        group.state_since_ms = now_ms
        if not group.supports(join.protocol_type, join.protocol_names):
            return Outcome(refused_join(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        self._shard.groups[join.group_id] = group
        outcome = self._joining.join(group, join, now_ms)
        assert not outcome.records, "a group that was just made has nothing to write yet"

        def refused(code: ErrorCode) -> None:
            self._end(group, code)
            if self._shard.groups.get(group.group_id) is group:
                del self._shard.groups[group.group_id]
                if replaced is not None:
                    self._shard.groups[group.group_id] = replaced

        tombstones = replaced.tombstones() if replaced is not None else []
        return Outcome(outcome.answer, [*tombstones, new_group_record(group)], if_refused=refused)

    def sync(self, request: SyncGroupRequest, *, now_ms: int) -> Outcome[SyncGroupResponse]:
        group = self._shard.groups.get(request.group_id)
        if group is None or group.kind not in _KINDS_WITH_CLASSIC_MEMBERS:
            return Outcome(refused_sync(ErrorCode.UNKNOWN_MEMBER_ID))
        if not isinstance(group, ClassicGroup):
            assert self.consumer_groups is not None
            return self.consumer_groups.sync(group, request, now_ms)
        return self._syncing.sync(group, request, now_ms)

    def heartbeat(self, request: HeartbeatRequest, *, now_ms: int) -> Outcome[HeartbeatResponse]:
        group = self._shard.groups.get(request.group_id)
        if group is None or group.kind not in _KINDS_WITH_CLASSIC_MEMBERS:
            return Outcome(HeartbeatResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        if not isinstance(group, ClassicGroup):
            assert self.consumer_groups is not None
            return self.consumer_groups.heartbeat(group, request, now_ms)
        return Outcome(HeartbeatResponse(error_code=self._heartbeat(group, request, now_ms)))

    def _heartbeat(self, group: ClassicGroup, request: HeartbeatRequest, now_ms: int) -> ErrorCode:
        error = group.check_member(request.member_id, request.group_instance_id)
        if error:
            return error
        if request.generation_id != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
        self._rebalancing.extend_session(group, group.members[request.member_id], now_ms)
        # While the leader assigns, there is nothing to rejoin for: the member is in the newest
        # generation.
        return ErrorCode.REBALANCE_IN_PROGRESS if group.state is ClassicState.PREPARING_REBALANCE else ErrorCode.NONE

    def leave(self, request: LeaveGroupRequest, *, version: int, now_ms: int) -> Outcome[LeaveGroupResponse]:
        members = request.members if version >= _MEMBERS_VERSION_MIN else [MemberIdentity(member_id=request.member_id)]
        group = self._shard.groups.get(request.group_id)
        if group is None or group.kind not in _KINDS_WITH_CLASSIC_MEMBERS:
            unknown = [left(member, ErrorCode.UNKNOWN_MEMBER_ID) for member in members]
            return Outcome(LeaveGroupResponse(error_code=ErrorCode.NONE, members=unknown))
        if not isinstance(group, ClassicGroup):
            assert self.consumer_groups is not None
            return self.consumer_groups.leave(group, members, now_ms)
        return leave(self._rebalancing, group, members, now_ms)

    def describe(self, group_id: str) -> Outcome[DescribedGroup]:
        """GROUP_ID_NOT_FOUND and Dead for a group that does not exist or is not classic."""
        group = self._shard.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            why = f"Group {group_id} not found." if group is None else f"Group {group_id} is not a classic group."
            return Outcome(not_described(group_id, ErrorCode.GROUP_ID_NOT_FOUND, ClassicState.DEAD.value, why))
        # Until the group is stable, it has no agreed protocol under which to show metadata.
        protocol = group.protocol if group.state is ClassicState.STABLE else None
        members = [
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.subscription(protocol) if protocol is not None else b"",
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ]
        return Outcome(
            DescribedGroup(
                error_code=ErrorCode.NONE,
                group_id=group_id,
                group_state=group.state_name,
                protocol_type=group.protocol_type,
                protocol_data=protocol or "",
                members=members,
            )
        )


def _may_be_replaced(group: Group) -> bool:
    """A share group stays one, even without members: its delivery state is kept elsewhere."""
    return group.state_name == _EMPTY and group.kind is not GroupKind.SHARE


def not_described(group_id: str, error: ErrorCode, state: str = "", message: str | None = None) -> DescribedGroup:
    return DescribedGroup(
        error_code=error, error_message=message, group_id=group_id, group_state=state, protocol_type="", protocol_data="", members=[]
    )
