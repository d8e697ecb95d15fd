"""The path of a classic group from one generation to the next, and its timers.

Four timers drive it: the session of a member, from its last request; the initial delay of an empty
group; the rebalance timeout for joins; the same timeout for syncs. Each is a named timer of the
shard and looks up its group by id when it is due, since the group may be gone by then.

The state here exists only in this coordinator, except that an empty group is written. Functions
return the records to write.
"""

from __future__ import annotations

from barnabas.coordinators.group.classic.classic_group import ClassicGroup, refused_sync
from barnabas.coordinators.group.classic.classic_member import ClassicMember
from barnabas.coordinators.group.classic.group_records import group_record
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.outcome import Outcome
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.errors import ErrorCode
from barnabas.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember

# A new member whose connection broke joins again as another new member. The coordinator removes the
# first one after this time.
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60_000
# While no static member has joined, the coordinator waits again and again until their sessions end.
# This is the shortest such wait: a rebalance timeout may be 0, which would not wait at all.
_NONE_JOINED_WAIT_MS_MIN = 1_000
# A client that just got its member id returns with it at once. If the initial delay is shorter than
# that takes, the group would begin without these clients, and rebalance again for them.
_RETURN_MS_MAX = 10
_RETURN_STEP_MS = 1

Records = list[CoordinatorRecord]


class Rebalancing:
    def __init__(self, shard: GroupShard) -> None:
        self._shard = shard
        self._timers = shard.timers

    # -- generations -------------------------------------------------------------------------------

    def proceed(self, group: ClassicGroup, now_ms: int) -> Records:
        """After a change: begin a rebalance, or end the join phase of the current one if all
        members have joined.
        """
        if group.state is not ClassicState.PREPARING_REBALANCE:
            return self.prepare(group, now_ms)
        if group.all_joined and not group.initial:
            return self.complete_join(group, now_ms)
        return []

    def prepare(self, group: ClassicGroup, now_ms: int) -> Records:
        if group.state is ClassicState.COMPLETING_REBALANCE:
            self.refuse_syncs(group, ErrorCode.REBALANCE_IN_PROGRESS, now_ms)
        group.not_synced.clear()
        self._timers.cancel(_sync_timer(group.group_id))
        group.move_to(ClassicState.PREPARING_REBALANCE, now_ms)
        if group.initial:
            group.grew = False
            delay_ms = self._shard.settings.initial_rebalance_delay_ms
            self._wait_for_more(
                group,
                now_ms,
                delay_ms=delay_ms,
                remaining_ms=max(group.rebalance_timeout_ms - delay_ms, 0),
                return_ms=max(_RETURN_MS_MAX - delay_ms, 0),
            )
            return []
        if group.all_joined:
            return self.complete_join(group, now_ms)
        self._wait_for_joins(group, now_ms)
        return []

    def complete_join(self, group: ClassicGroup, now_ms: int) -> Records:
        """The joined members form the next generation. Absent static members belong to it until
        their sessions end.
        """
        self._timers.cancel(_join_timer(group.group_id))
        for member in [each for each in group.members.values() if each.waiting_join is None and not each.static]:
            self.drop(group, member.member_id)
        if not group.elect_joined_leader() and group.members:
            self._wait_for_joins(group, now_ms, at_least_ms=_NONE_JOINED_WAIT_MS_MIN)
            return []
        group.begin_generation(now_ms)
        if group.state is ClassicState.EMPTY:
            return [group_record(group, {})]
        roll = generation_members(group)
        for member in group.members.values():
            # The writer of an earlier generation's assignments answers the syncs that wait for
            # their commit.
            member.waiting_sync = None
            member.new = False
            group.not_synced.add(member.member_id)
            self.extend_session(group, member, now_ms)
        for member in list(group.members.values()):
            group.answer_join(member, joined(group, member.member_id, roll))
        self._wait_for_syncs(group, now_ms)
        return []

    def refuse_syncs(self, group: ClassicGroup, error: ErrorCode, now_ms: int) -> None:
        """This generation will get no assignments."""
        for member in list(group.members.values()):
            member.assignment = b""
            if member.waiting_sync is not None:
                group.answer_sync(member, refused_sync(error))
                self.extend_session(group, member, now_ms)

    def synced(self, group: ClassicGroup, member_id: str) -> None:
        group.not_synced.discard(member_id)
        if not group.not_synced:
            self._timers.cancel(_sync_timer(group.group_id))

    # -- removal of members ------------------------------------------------------------------------

    def drop(self, group: ClassicGroup, member_id: str) -> None:
        self.end_session(group, member_id)
        group.remove(member_id)

    def forget(self, group: ClassicGroup) -> None:
        """Cancel all timers of a group that is removed."""
        for member_id in [*group.members, *group.pending]:
            self.end_session(group, member_id)
        self._timers.cancel(_join_timer(group.group_id))
        self._timers.cancel(_sync_timer(group.group_id))

    # -- timers ------------------------------------------------------------------------------------

    def extend_session(self, group: ClassicGroup, member: ClassicMember, now_ms: int) -> None:
        member.overdue = False
        self.set_session(group, member.member_id, now_ms + member.session_timeout_ms)

    def set_session(self, group: ClassicGroup, member_id: str, deadline_ms: int) -> None:
        group_id = group.group_id
        self._timers.set(
            _session_timer(group_id, member_id),
            deadline_ms,
            lambda now_ms: Outcome(None, self._expire_session(group_id, member_id, now_ms)),
        )

    def end_session(self, group: ClassicGroup, member_id: str) -> None:
        self._timers.cancel(_session_timer(group.group_id, member_id))

    def _expire_session(self, group_id: str, member_id: str, now_ms: int) -> Records:
        group = self._shard.groups.get(group_id)
        if not isinstance(group, ClassicGroup):
            return []
        member = group.members.get(member_id)
        if member is None and member_id not in group.pending:
            return []
        if member is not None and (member.excused or member.overdue):
            waits = member.excused
            self.extend_session(group, member, now_ms)
            member.overdue = waits
            return []
        group.remove(member_id)
        if group.state is ClassicState.PREPARING_REBALANCE:
            return self.complete_join(group, now_ms) if group.all_joined else []
        return self.prepare(group, now_ms) if member is not None else []

    def _wait_for_more(self, group: ClassicGroup, now_ms: int, *, delay_ms: int, remaining_ms: int, return_ms: int) -> None:
        """The first members of a group rarely come alone, and each later one costs all members a
        rebalance. Members that have an id but have not joined with it get ``return_ms`` more.
        """
        group_id = group.group_id

        def waited(now_ms: int) -> Outcome[None]:
            group = self._preparing(group_id)
            if group is None:
                return Outcome(None)
            if group.grew and remaining_ms:
                group.grew = False
                next_delay_ms = min(self._shard.settings.initial_rebalance_delay_ms, remaining_ms)
                left_ms = max(remaining_ms - delay_ms, 0)
                self._wait_for_more(group, now_ms, delay_ms=next_delay_ms, remaining_ms=left_ms, return_ms=return_ms)
            elif group.pending and return_ms:
                left_ms = return_ms - _RETURN_STEP_MS
                self._wait_for_more(group, now_ms, delay_ms=_RETURN_STEP_MS, remaining_ms=remaining_ms, return_ms=left_ms)
            else:
                return Outcome(None, self.complete_join(group, now_ms))
            return Outcome(None)

        self._timers.set(_join_timer(group_id), now_ms + delay_ms, waited)

    def _wait_for_joins(self, group: ClassicGroup, now_ms: int, *, at_least_ms: int = 0) -> None:
        group_id = group.group_id

        def waited(now_ms: int) -> Outcome[None]:
            group = self._preparing(group_id)
            return Outcome(None, self.complete_join(group, now_ms) if group is not None else ())

        self._timers.set(_join_timer(group_id), now_ms + max(group.rebalance_timeout_ms, at_least_ms), waited)

    def _preparing(self, group_id: str) -> ClassicGroup | None:
        group = self._shard.groups.get(group_id)
        return group if isinstance(group, ClassicGroup) and group.state is ClassicState.PREPARING_REBALANCE else None

    def _wait_for_syncs(self, group: ClassicGroup, now_ms: int) -> None:
        group_id, generation = group.group_id, group.generation

        def waited(now_ms: int) -> Outcome[None]:
            group = self._shard.groups.get(group_id)
            if not isinstance(group, ClassicGroup) or group.generation != generation or not group.not_synced:
                return Outcome(None)
            for member_id in list(group.not_synced):
                self.drop(group, member_id)
            return Outcome(None, self.prepare(group, now_ms))

        self._timers.set(_sync_timer(group_id), now_ms + group.rebalance_timeout_ms, waited)


def _session_timer(group_id: str, member_id: str) -> tuple[str, str, str]:
    return ("classic session", group_id, member_id)


def _join_timer(group_id: str) -> tuple[str, str]:
    return ("classic join", group_id)


def _sync_timer(group_id: str) -> tuple[str, str]:
    return ("classic sync", group_id)


def generation_members(group: ClassicGroup) -> list[JoinGroupResponseMember]:
    """The member list with which the leader assigns."""
    assert group.protocol is not None
    return [
        JoinGroupResponseMember(
            member_id=member.member_id, group_instance_id=member.instance_id, metadata=member.subscription(group.protocol)
        )
        for member in group.members.values()
    ]


def joined(group: ClassicGroup, member_id: str, roll: list[JoinGroupResponseMember], *, skip_assignment: bool = False) -> JoinGroupResponse:
    """Only the leader gets ``roll``."""
    assert group.leader is not None
    return JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=group.leader,
        skip_assignment=skip_assignment,
        member_id=member_id,
        members=roll if group.leader == member_id else [],
    )
