"""Members of consumer groups that still use JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

They are members like the others; this module translates their protocol. A join is a heartbeat with
epoch 0 and has an immediate response, with the member epoch as its generation. There is no leader,
and a sync fetches the assignment. A heartbeat gets REBALANCE_IN_PROGRESS whenever rejoining would
advance the member: if there is a newer target, if it must revoke partitions, or if the partitions
it waits for are free.
"""

from __future__ import annotations

from barnabas.coordinators.group.classic.classic_group import refused_join, refused_sync
from barnabas.coordinators.group.classic.joining import Join
from barnabas.coordinators.group.classic.leaving import left
from barnabas.coordinators.group.consumer.admission import admit, static_member, unknown
from barnabas.coordinators.group.consumer.consumer_group import PROTOCOL_TYPE, ConsumerGroup
from barnabas.coordinators.group.consumer.embedded_protocol import read_subscription, write_assignment
from barnabas.coordinators.group.consumer.group_change import GroupChange
from barnabas.coordinators.group.consumer.member import JOIN_EPOCH, ClassicProtocol, ClassicSide, ConsumerMember, MemberState, Subscription
from barnabas.coordinators.group.consumer.rebalancing import Rebalancing
from barnabas.coordinators.group.group import Group
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.outcome import Outcome
from barnabas.env.entropy import random_uuid
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid, uuid_text
from barnabas.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.wire.messages.join_group import JoinGroupResponse
from barnabas.wire.messages.leave_group import LeaveGroupResponse, MemberIdentity, MemberResponse
from barnabas.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_MEMBER_ID_REQUIRED_VERSION_MIN = 4


class ClassicMembers:
    def __init__(self, shard: GroupShard, rebalancing: Rebalancing) -> None:
        self._shard = shard
        self._rebalancing = rebalancing

    def join(self, group: Group, join: Join, now_ms: int) -> Outcome[JoinGroupResponse]:
        assert isinstance(group, ConsumerGroup)
        member_id = join.member_id or uuid_text(Uuid(random_uuid(self._shard.entropy)))
        if len(group.members) >= self._shard.settings.consumer_size_max and join.member_id not in group.members:
            return Outcome(refused_join(ErrorCode.GROUP_MAX_SIZE_REACHED, join.member_id))
        said = read_subscription(join.protocols[0][1], self._shard.image().topics) if join.protocols else None
        if said is None or not _understands(group, join):
            return Outcome(refused_join(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, join.member_id))
        if not join.member_id and join.instance_id is None and join.version >= _MEMBER_ID_REQUIRED_VERSION_MIN:
            return Outcome(refused_join(ErrorCode.MEMBER_ID_REQUIRED, member_id))
        change = GroupChange(group)
        if join.instance_id is None or not join.member_id:
            before = admit(change, member_id, instance_id=join.instance_id, epoch=JOIN_EPOCH, reported=None, classic=True)
        else:
            before = static_member(group, member_id, join.instance_id)
        if isinstance(before, Refusal):
            return Outcome(refused_join(before.code, join.member_id))
        asked = Subscription(
            instance_id=join.instance_id,
            rack_id=said.rack_id,
            client_id=join.client_id,
            client_host=join.client_host,
            topics=said.topics,
            rebalance_timeout_ms=join.rebalance_timeout_ms,
            classic=ClassicSide(join.session_timeout_ms, tuple(ClassicProtocol(*each) for each in join.protocols)),
        )
        member = self._rebalancing.follow(change, before, asked, said.owned, now_ms, visible=None)
        if isinstance(member, Refusal):
            return Outcome(refused_join(ErrorCode.UNKNOWN_MEMBER_ID, join.member_id))
        self._rebalancing.deadlines.expect_heartbeat(group.group_id, member, now_ms)
        self._rebalancing.deadlines.expect_sync(group.group_id, member, now_ms)
        return self._rebalancing.settled(change, _joined(member, join.protocols[0][0]), now_ms)

    def sync(self, group: Group, request: SyncGroupRequest, now_ms: int) -> Outcome[SyncGroupResponse]:
        assert isinstance(group, ConsumerGroup)
        member = _classic_member(group, request.member_id, request.group_instance_id)
        if isinstance(member, ErrorCode):
            return Outcome(refused_sync(member))
        assert member.classic is not None
        first = member.classic.protocols[0]
        if member.epoch != request.generation_id:
            return Outcome(refused_sync(ErrorCode.ILLEGAL_GENERATION))
        if request.protocol_type not in (None, PROTOCOL_TYPE) or request.protocol_name not in (None, first.name):
            return Outcome(refused_sync(ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        # A member that must revoke partitions has to finish that first; it rejoins afterwards
        # anyway.
        if self._rebalancing.behind(group, member, now_ms) and member.ownership.state is not MemberState.UNREVOKED_PARTITIONS:
            self._rebalancing.deadlines.expect_rejoin(group.group_id, member, now_ms)
            return Outcome(refused_sync(ErrorCode.REBALANCE_IN_PROGRESS))
        self._rebalancing.deadlines.synced(group.group_id, member.member_id)
        self._rebalancing.deadlines.expect_heartbeat(group.group_id, member, now_ms)
        topics = self._shard.image().topics
        said = read_subscription(first.metadata, topics)
        assignment = write_assignment(member.ownership.assigned, topics, said.version if said is not None else 0)
        return Outcome(
            SyncGroupResponse(
                error_code=ErrorCode.NONE,
                protocol_type=request.protocol_type,
                protocol_name=request.protocol_name,
                assignment=assignment,
            )
        )

    def heartbeat(self, group: Group, request: HeartbeatRequest, now_ms: int) -> Outcome[HeartbeatResponse]:
        assert isinstance(group, ConsumerGroup)
        return Outcome(HeartbeatResponse(error_code=self._heartbeat(group, request, now_ms)))

    def _heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest, now_ms: int) -> ErrorCode:
        member = _classic_member(group, request.member_id, request.group_instance_id)
        if isinstance(member, ErrorCode):
            return member
        if member.epoch != request.generation_id:
            return ErrorCode.ILLEGAL_GENERATION
        self._rebalancing.deadlines.expect_heartbeat(group.group_id, member, now_ms)
        if not self._should_rejoin(group, member, now_ms):
            return ErrorCode.NONE
        self._rebalancing.deadlines.expect_rejoin(group.group_id, member, now_ms)
        return ErrorCode.REBALANCE_IN_PROGRESS

    def _should_rejoin(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> bool:
        if self._rebalancing.behind(group, member, now_ms) or member.ownership.state is MemberState.UNREVOKED_PARTITIONS:
            return True
        missing = group.targets.get(member.member_id, frozenset()) - member.ownership.assigned.keys()
        waits = member.ownership.state is MemberState.UNRELEASED_PARTITIONS
        return waits and all(group.free_for(member.member_id, slot) for slot in missing)

    def leave(self, group: Group, members: list[MemberIdentity], now_ms: int) -> Outcome[LeaveGroupResponse]:
        assert isinstance(group, ConsumerGroup)
        answers: list[MemberResponse] = []
        leaving: dict[str, None] = {}
        for each in members:
            member = _leaving(group, each)
            if isinstance(member, ErrorCode):
                answers.append(left(each, member))
            else:
                leaving[member.member_id] = None
                answers.append(left(each, ErrorCode.NONE))
        answer = LeaveGroupResponse(error_code=ErrorCode.NONE, members=answers)
        return self._rebalancing.without(GroupChange(group), leaving, answer, now_ms) if leaving else Outcome(answer)


def _understands(group: ConsumerGroup, join: Join) -> bool:
    """Whether all classic members share a protocol, in case only they remain one day."""
    sides = [member.classic for member in group.members.values() if member.classic is not None]
    common = set(join.protocol_names).intersection(*({protocol.name for protocol in side.protocols} for side in sides))
    return join.protocol_type == PROTOCOL_TYPE and bool(common)


def _classic_member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember | ErrorCode:
    member = _member(group, member_id, instance_id)
    return member if isinstance(member, ErrorCode) or member.classic is not None else ErrorCode.UNKNOWN_MEMBER_ID


def _member(group: ConsumerGroup, member_id: str, instance_id: str | None) -> ConsumerMember | ErrorCode:
    if instance_id is None:
        member = group.members.get(member_id) or unknown(group.group_id, member_id)
    else:
        member = static_member(group, member_id, instance_id)
    return member.code if isinstance(member, Refusal) else member


def _leaving(group: ConsumerGroup, identity: MemberIdentity) -> ConsumerMember | ErrorCode:
    """An administrator removes members of both protocols; static ones by their instance ids,
    without member ids."""
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if not member_id and instance_id is not None:
        member_id = group.instances.get(instance_id, "")
    return _member(group, member_id, instance_id)


def _joined(member: ConsumerMember, protocol: str) -> JoinGroupResponse:
    """There is no leader, because the coordinator assigns."""
    return JoinGroupResponse(
        error_code=ErrorCode.NONE,
        generation_id=member.epoch,
        protocol_type=PROTOCOL_TYPE,
        protocol_name=protocol,
        leader="",
        member_id=member.member_id,
        members=[],
    )
