"""SyncGroup: the leader sends assignments; every member receives its own once they are in the
log.
"""

from __future__ import annotations

from barnabas.coordinators.group.classic.classic_group import ClassicGroup, refused_sync
from barnabas.coordinators.group.classic.classic_member import ClassicMember
from barnabas.coordinators.group.classic.group_records import group_record
from barnabas.coordinators.group.classic.rebalancing import Rebalancing
from barnabas.coordinators.group.classic.state import ClassicState
from barnabas.coordinators.outcome import Outcome
from barnabas.model.errors import ErrorCode
from barnabas.model.promise import Promise
from barnabas.wire.coordinator_records.group_metadata import GroupMetadataValue
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


class Syncing:
    def __init__(self, rebalancing: Rebalancing) -> None:
        self._rebalancing = rebalancing

    def sync(self, group: ClassicGroup, request: SyncGroupRequest, now_ms: int) -> Outcome[SyncGroupResponse]:
        error = _check(group, request)
        if error:
            return Outcome(refused_sync(error))
        member = group.members[request.member_id]
        if group.state is ClassicState.PREPARING_REBALANCE:
            return Outcome(refused_sync(ErrorCode.REBALANCE_IN_PROGRESS))
        self._rebalancing.synced(group, member.member_id)
        if group.state is ClassicState.STABLE:
            return Outcome(_assigned(group, member))
        if member.waiting_sync is None:
            member.waiting_sync = Promise()
        if group.leader != member.member_id:
            return Outcome(member.waiting_sync)
        return self._assign(group, request, member.waiting_sync, now_ms)

    def _assign(
        self, group: ClassicGroup, request: SyncGroupRequest, answer: Promise[SyncGroupResponse], now_ms: int
    ) -> Outcome[SyncGroupResponse]:
        given = {each.member_id: each.assignment for each in request.assignments}
        assignments = {member_id: given.get(member_id, b"") for member_id in group.members}
        # Keyed by the current ids: before the records are committed, a static member may return
        # under another id.
        waiting = [(member, assignments[name], member.waiting_sync) for name, member in group.members.items() if member.waiting_sync]
        protocol_type, protocol = group.protocol_type, group.protocol

        def committed() -> None:
            for member, assignment, promise in waiting:
                if member.waiting_sync is promise:
                    member.waiting_sync = None
                if not promise.done:
                    promise.resolve(
                        SyncGroupResponse(
                            error_code=ErrorCode.NONE,
                            protocol_type=protocol_type,
                            protocol_name=protocol,
                            assignment=assignment,
                        )
                    )
                    if group.members.get(member.member_id) is member and not member.overdue:
                        self._rebalancing.extend_session(group, member, now_ms)

        def refused(code: ErrorCode) -> None:
            # No member has seen these assignments, so the group must rebalance, unless it already
            # does.
            if group.state is ClassicState.COMPLETING_REBALANCE and group.generation == request.generation_id:
                self._rebalancing.refuse_syncs(group, code, now_ms)
                self._rebalancing.prepare(group, now_ms)
            for _, _, promise in waiting:
                if not promise.done:
                    promise.resolve(refused_sync(code))

        return Outcome(answer, [group_record(group, assignments)], if_committed=committed, if_refused=refused)


def stabilize(group: ClassicGroup, value: GroupMetadataValue) -> None:
    """The assignments of this generation are in the log. The group already knows everything else in
    the record.
    """
    if group.state is ClassicState.COMPLETING_REBALANCE and group.generation == value.generation:
        for written in value.members:
            group.members[written.member_id].assignment = written.assignment
        group.move_to(ClassicState.STABLE, value.current_state_timestamp)


def _check(group: ClassicGroup, request: SyncGroupRequest) -> ErrorCode:
    error = group.check_member(request.member_id, request.group_instance_id)
    if error:
        return error
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if request.protocol_type not in (None, group.protocol_type) or request.protocol_name not in (None, group.protocol):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return ErrorCode.NONE


def _assigned(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    return SyncGroupResponse(
        error_code=ErrorCode.NONE, protocol_type=group.protocol_type, protocol_name=group.protocol, assignment=member.assignment
    )
