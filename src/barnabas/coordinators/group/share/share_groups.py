"""The share groups of a shard: the effects of heartbeats, timeouts and topic changes.

A heartbeat is the whole protocol of membership. It always takes the same steps, most of which find
nothing to do:

    admit       find the member of the heartbeat and check its epoch
    subscribe   apply its subscription; the group epoch rises if that or a topic changed, or if
                partitions were initialized
    aim         compute a target for a new epoch, at most once in each assignment interval
    reconcile   give the member its part of the target
    initialize  request state for new partitions; they are assigned once it exists
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.metadata_hash import metadata_hash
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.group.share.admission import admit, check_request, unknown
from barnabas.coordinators.group.share.description import describe_group, not_described
from barnabas.coordinators.group.share.effects import InitializeStates
from barnabas.coordinators.group.share.group_steps import aim, follow_topics, reconcile
from barnabas.coordinators.group.share.initialization import Initialization
from barnabas.coordinators.group.share.member import JOIN_EPOCH, LEAVE_EPOCH, ShareMember, ShareSubscription
from barnabas.coordinators.group.share.replays import Replays
from barnabas.coordinators.group.share.sessions import Sessions
from barnabas.coordinators.group.share.share_change import ShareChange
from barnabas.coordinators.group.share.share_group import ShareGroup
from barnabas.coordinators.group.share.share_offsets import ShareOffsets
from barnabas.coordinators.group.topic_partitions import by_topic
from barnabas.coordinators.outcome import Outcome
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.wire.messages.share_group_describe import DescribedGroup
from barnabas.wire.messages.share_group_heartbeat import (
    Assignment,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    TopicPartitions,
)


class ShareGroups:
    def __init__(self, shard: GroupShard) -> None:
        self._shard = shard
        self._sessions = Sessions(shard, self._fence)
        self._initialization = Initialization(shard)
        self.offsets = ShareOffsets(shard, self._initialization)
        self.replays = Replays(shard.groups, forget_session=self._sessions.forget, forget_group=self._initialization.forget).by_key

    def loaded(self, now_ms: int) -> None:
        for group in self._own():
            for member_id in group.members:
                self._sessions.expect_heartbeat(group.group_id, member_id, now_ms)

    def _own(self) -> list[ShareGroup]:
        return [group for group in self._shard.groups.values() if isinstance(group, ShareGroup)]

    # -- requests ----------------------------------------------------------------------------------

    def heartbeat(
        self, request: ShareGroupHeartbeatRequest, *, client_id: str, client_host: str, now_ms: int
    ) -> Outcome[ShareGroupHeartbeatResponse]:
        refusal = check_request(request)
        if refusal is not None:
            return Outcome(refused(refusal))
        leaves = request.member_epoch == LEAVE_EPOCH
        answered = self._leave(request) if leaves else self._stay(request, client_id, client_host, now_ms)
        return Outcome(refused(answered)) if isinstance(answered, Refusal) else answered

    def describe(self, group_id: str) -> Outcome[DescribedGroup]:
        """GROUP_ID_NOT_FOUND for a group that does not exist or is of another kind."""
        group = self._shard.groups.get(group_id)
        if isinstance(group, ShareGroup):
            return Outcome(describe_group(group, self._shard.image().topics.by_id))
        return Outcome(not_described(group_id, ErrorCode.GROUP_ID_NOT_FOUND, _why_not(group_id, exists=group is not None)))

    def initialized_partitions(self, group_id: str) -> Outcome[list[IdPartition]]:
        """The partitions with state; none of a group that does not exist or is of another kind."""
        group = self._shard.groups.get(group_id)
        return Outcome(sorted(group.states.initialized_partitions()) if isinstance(group, ShareGroup) else [])

    # -- joining and staying -----------------------------------------------------------------------

    def _stay(
        self, request: ShareGroupHeartbeatRequest, client_id: str, client_host: str, now_ms: int
    ) -> Outcome[ShareGroupHeartbeatResponse] | Refusal:
        group = self._group_of(request)
        if isinstance(group, Refusal):
            return group
        size_max = self._shard.settings.share.size_max
        if len(group.members) >= size_max and request.member_id not in group.members:
            message = f"The share group has reached its maximum capacity of {size_max} members."
            return Refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, message)
        before = admit(group, request.member_id, request.member_epoch)
        if isinstance(before, Refusal):
            return before
        asked = _asked_by(request, before.subscription, client_id=client_id, client_host=client_host)
        change, topics = ShareChange(group), self._shard.image().topics
        member = change.subscribe(before.member_id, asked)
        changed = before.member_id not in group.members or asked.topics != before.subscription.topics
        rose = follow_topics(change, topics, changed=changed)
        settings, own = self._shard.settings.share, self._shard.settings_of(group.group_id)
        aim(change, topics, interval_ms=settings.assignment_interval_ms.of(own), now_ms=now_ms)
        member = change.assign(member.member_id, reconcile(change, member, topics, changed=rose))
        effects = self._initialization.begin(change, now_ms)
        self._sessions.expect_heartbeat(group.group_id, member.member_id, now_ms)
        # A member sends its topics when it joins, and when it does not know the outcome of its last
        # heartbeat; then the response has all fields too.
        shows_all = request.subscribed_topic_names is not None or request.member_epoch == JOIN_EPOCH
        changed_partitions = member.assignment.partitions != before.assignment.partitions
        response = ShareGroupHeartbeatResponse(
            throttle_time_ms=0,
            error_code=ErrorCode.NONE,
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=settings.heartbeat_interval_ms.of(own),
            assignment=_assignment(member) if shows_all or changed_partitions else None,
        )
        # If the log refuses the records, the requests do not go out; the next heartbeat repeats
        # them.
        return Outcome(response, change.records, effects=effects, if_refused=lambda _: self._initialization.forget(group.group_id))

    def _group_of(self, request: ShareGroupHeartbeatRequest) -> ShareGroup | Refusal:
        """A join creates the group. A group of another kind never becomes a share group."""
        group = self._shard.groups.get(request.group_id)
        if isinstance(group, ShareGroup):
            return group
        if group is None and request.member_epoch == JOIN_EPOCH:
            return ShareGroup(request.group_id)
        return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, _why_not(request.group_id, exists=group is not None, kind="Share group"))

    # -- leaving -----------------------------------------------------------------------------------

    def _leave(self, request: ShareGroupHeartbeatRequest) -> Outcome[ShareGroupHeartbeatResponse] | Refusal:
        group = self._shard.groups.get(request.group_id)
        if not isinstance(group, ShareGroup):
            return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, _why_not(request.group_id, exists=group is not None))
        if request.member_id not in group.members:
            return unknown(group.group_id, request.member_id)
        response = ShareGroupHeartbeatResponse(
            throttle_time_ms=0, error_code=ErrorCode.NONE, member_id=request.member_id, member_epoch=LEAVE_EPOCH, heartbeat_interval_ms=0
        )
        return Outcome(response, self._without(group, request.member_id).records)

    def _without(self, group: ShareGroup, member_id: str) -> ShareChange:
        change = ShareChange(group)
        change.remove(member_id)
        change.bump(metadata_hash(change.subscribed_topics(), self._shard.image().topics))
        return change

    def _fence(self, group: ShareGroup, member_id: str, now_ms: int) -> Outcome[Any]:
        return Outcome(
            None,
            self._without(group, member_id).records,
            # If the log refuses the removal, the member stays; try again after another session
            # timeout.
            if_refused=lambda _: self._sessions.expect_heartbeat(group.group_id, member_id, now_ms),
        )

    # -- what the shell reports --------------------------------------------------------------------

    def initialized(self, asked: InitializeStates, refused: Collection[IdPartition]) -> Outcome[frozenset[IdPartition]]:
        """The share coordinator has initialized the partitions of a request, except the refused
        ones. The answer is the partitions for which that does not count any more.
        """
        return self._initialization.finish(asked, refused)

    def forget_topic(self, topic_id: Uuid) -> Outcome[None]:
        """A topic was deleted. The share coordinator learns it too, and deletes the state."""
        changes = [ShareChange(group) for group in self._own()]
        for change in changes:
            change.take_states(change.states.without({topic_id}))
        return Outcome(None, [record for change in changes for record in change.records])


def _why_not(group_id: str, *, exists: bool, kind: str = "Group") -> str:
    return f"Group {group_id} is not a share group." if exists else f"{kind} {group_id} not found."


def _asked_by(request: ShareGroupHeartbeatRequest, before: ShareSubscription, *, client_id: str, client_host: str) -> ShareSubscription:
    """A field that the heartbeat leaves out keeps its value."""
    names = request.subscribed_topic_names
    return replace(
        before,
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        client_id=client_id,
        client_host=client_host,
        topics=before.topics if names is None else tuple(sorted(set(names))),
    )


def _assignment(member: ShareMember) -> Assignment:
    topics = by_topic(member.assignment.partitions).items()
    return Assignment(topic_partitions=[TopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in topics])


def refused(refusal: Refusal) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(
        throttle_time_ms=0, error_code=refusal.code, error_message=refusal.message, member_epoch=0, heartbeat_interval_ms=0
    )
