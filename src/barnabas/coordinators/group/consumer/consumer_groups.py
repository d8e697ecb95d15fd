"""The consumer groups of a shard: the effects of heartbeats, timeouts and topic changes.

A heartbeat is the whole protocol. It always takes the same steps, most of which find nothing to do:

    admit       find the member of the heartbeat and check its epoch
    subscribe   apply its subscription; the group epoch rises if that or a topic changed
    aim         compute a target for a new epoch, at most once in each assignment interval
    approach    move the member one step closer to its target

Sessions and revocations have deadlines; a member that misses one is removed, and the group epoch
rises.
"""

from __future__ import annotations

from dataclasses import replace

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.classic.classic_group import ClassicGroup
from barnabas.coordinators.group.classic.classic_groups import ClassicGroups
from barnabas.coordinators.group.consumer.admission import admit, check_request, static_member, unknown
from barnabas.coordinators.group.consumer.classic_members import ClassicMembers
from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup
from barnabas.coordinators.group.consumer.description import describe_group, not_described
from barnabas.coordinators.group.consumer.group_change import GroupChange
from barnabas.coordinators.group.consumer.group_timings import heartbeat_interval_ms
from barnabas.coordinators.group.consumer.member import (
    JOIN_EPOCH,
    NO_REBALANCE_TIMEOUT,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
    MemberState,
    Subscription,
)
from barnabas.coordinators.group.consumer.migration import upgrade
from barnabas.coordinators.group.consumer.rebalancing import Rebalancing
from barnabas.coordinators.group.consumer.replays import Replays
from barnabas.coordinators.group.consumer.target import chosen_assignor
from barnabas.coordinators.group.consumer.visible_topics import VisibleTopics
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.group.topic_partitions import by_topic
from barnabas.coordinators.outcome import Outcome
from barnabas.env.entropy import random_uuid
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid, uuid_text
from barnabas.model.pattern import matcher
from barnabas.wire.messages.consumer_group_describe import DescribedGroup
from barnabas.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ResponseTopicPartitions,
)


class ConsumerGroups:
    def __init__(self, shard: GroupShard, classic: ClassicGroups) -> None:
        self._shard = shard
        self._rebalancing = Rebalancing(shard, classic)
        self._deadlines = self._rebalancing.deadlines
        self._assignors = self._rebalancing.assignors
        self.replays = Replays(shard.groups, self._deadlines.forget).by_key
        classic.consumer_groups = ClassicMembers(shard, self._rebalancing)

    def loaded(self, now_ms: int) -> None:
        for group in self._shard.groups.values():
            if isinstance(group, ConsumerGroup):
                for member in group.members.values():
                    self._deadlines.expect_heartbeat(group.group_id, member, now_ms)
                    if member.classic is None and member.ownership.state is MemberState.UNREVOKED_PARTITIONS:
                        self._deadlines.expect_revocation(group.group_id, member, now_ms)

    def unloaded(self) -> None:
        """No request waits here: every heartbeat has an immediate response."""

    # -- requests ----------------------------------------------------------------------------------

    def heartbeat(
        self,
        request: ConsumerGroupHeartbeatRequest,
        *,
        version: int,
        client_id: str,
        client_host: str,
        visible: VisibleTopics,
        now_ms: int,
    ) -> Outcome[ConsumerGroupHeartbeatResponse]:
        refusal = check_request(request, version=version, assignors=self._assignors)
        if refusal is not None:
            return Outcome(refused(refusal))
        if request.member_epoch < 0:
            answered = self._leave(request, now_ms)
        else:
            answered = self._stay(request, client_id, client_host, visible, now_ms)
        return Outcome(refused(answered)) if isinstance(answered, Refusal) else answered

    def describe(self, group_id: str) -> Outcome[DescribedGroup]:
        """GROUP_ID_NOT_FOUND for a group that does not exist or uses another protocol."""
        group = self._group(group_id)
        if isinstance(group, Refusal):
            return Outcome(not_described(group_id, group.code, group.message))
        assignor = chosen_assignor(group.interests.votes, self._assignors)
        return Outcome(describe_group(group, assignor, self._shard.image().topics.by_id))

    # -- joining and staying -----------------------------------------------------------------------

    def _stay(
        self, request: ConsumerGroupHeartbeatRequest, client_id: str, client_host: str, visible: VisibleTopics, now_ms: int
    ) -> Outcome[ConsumerGroupHeartbeatResponse] | Refusal:
        joins = request.member_epoch == JOIN_EPOCH
        change = self._change_for_joining(request.group_id, now_ms) if joins else self._change(request.group_id)
        if isinstance(change, Refusal):
            return change
        if len(change.group.members) >= self._shard.settings.consumer_size_max and change.member(request.member_id) is None:
            message = f"The consumer group has reached its maximum capacity of {self._shard.settings.consumer_size_max} members."
            return Refusal(ErrorCode.GROUP_MAX_SIZE_REACHED, message)
        member_id = request.member_id or uuid_text(Uuid(random_uuid(self._shard.entropy)))
        reported = reported_partitions(request)
        before = admit(change, member_id, instance_id=request.instance_id, epoch=request.member_epoch, reported=reported)
        if isinstance(before, Refusal):
            return before
        # A join carries all fields, so a client that replaces a static member does not inherit its
        # subscription.
        known = Subscription() if joins else before.subscription
        asked = asked_by(request, known, client_id=client_id, client_host=client_host)
        if asked.pattern and asked.pattern != before.subscription.pattern and asked.pattern not in change.patterns:
            problem = matcher(asked.pattern)
            if isinstance(problem, str):
                return Refusal(
                    ErrorCode.INVALID_REGULAR_EXPRESSION,
                    f"SubscribedTopicRegex `{asked.pattern}` is not a valid regular expression: {problem}.",
                )
        member = self._rebalancing.follow(change, before, asked, reported, now_ms, visible=visible)
        if isinstance(member, Refusal):
            return member
        self._deadlines.expect_heartbeat(request.group_id, member, now_ms)
        send_assignment = is_full(request) or member.ownership.assigned.keys() != before.ownership.assigned.keys()
        return Outcome(self._accepted(request.group_id, member, send_assignment=send_assignment), change.records)

    # -- leaving -----------------------------------------------------------------------------------

    def _leave(self, request: ConsumerGroupHeartbeatRequest, now_ms: int) -> Outcome[ConsumerGroupHeartbeatResponse] | Refusal:
        group = self._group(request.group_id)
        if isinstance(group, Refusal):
            return group
        if request.instance_id is None:
            member = group.members.get(request.member_id) or unknown(group.group_id, request.member_id)
        else:
            member = static_member(group, request.member_id, request.instance_id)
        if isinstance(member, Refusal):
            return member
        change, answer = GroupChange(group), _left(member.member_id, request.member_epoch)
        if request.member_epoch == STATIC_LEAVE_EPOCH:
            change.own(member.member_id, member.ownership.left_for_a_while())
            return Outcome(answer, change.records)
        return self._rebalancing.without(change, [member.member_id], answer, now_ms)

    # -- groups ------------------------------------------------------------------------------------

    def _group(self, group_id: str) -> ConsumerGroup | Refusal:
        group = self._shard.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group
        if group is not None:
            return _not_a_consumer_group(group_id)
        return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found.")

    def _change(self, group_id: str) -> GroupChange | Refusal:
        group = self._group(group_id)
        return group if isinstance(group, Refusal) else GroupChange(group)

    def _change_for_joining(self, group_id: str, now_ms: int) -> GroupChange | Refusal:
        """A join finds a group, creates one, replaces an empty classic group, or upgrades a classic
        group with members.
        """
        group = self._shard.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return GroupChange(group)
        if group is None:
            return GroupChange(ConsumerGroup(group_id))
        if not isinstance(group, ClassicGroup):
            return _not_a_consumer_group(group_id)
        if group.empty_since_ms is not None:
            return GroupChange(ConsumerGroup(group_id), group.tombstones())
        upgraded = upgrade(group, self._shard.image().topics, self._shard.settings)
        if isinstance(upgraded, GroupChange):
            for member in upgraded.members.values():
                self._deadlines.expect_heartbeat(group_id, member, now_ms)
        return upgraded

    # -- answers -----------------------------------------------------------------------------------

    def _accepted(self, group_id: str, member: ConsumerMember, *, send_assignment: bool) -> ConsumerGroupHeartbeatResponse:
        return ConsumerGroupHeartbeatResponse(
            throttle_time_ms=0,
            error_code=ErrorCode.NONE,
            member_id=member.member_id,
            member_epoch=member.epoch,
            heartbeat_interval_ms=heartbeat_interval_ms(self._shard.settings_of(group_id), self._shard.settings),
            assignment=_assignment(member) if send_assignment else None,
        )


def _not_a_consumer_group(group_id: str) -> Refusal:
    return Refusal(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a consumer group.")


def _assignment(member: ConsumerMember) -> Assignment:
    topics = by_topic(member.ownership.assigned).items()
    return Assignment(topic_partitions=[ResponseTopicPartitions(topic_id=topic_id, partitions=numbers) for topic_id, numbers in topics])


def _left(member_id: str, epoch: int) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0, error_code=ErrorCode.NONE, member_id=member_id, member_epoch=epoch, heartbeat_interval_ms=0
    )


def refused(refusal: Refusal) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        throttle_time_ms=0, error_code=refusal.code, error_message=refusal.message, member_epoch=0, heartbeat_interval_ms=0
    )


def reported_partitions(request: ConsumerGroupHeartbeatRequest) -> frozenset[IdPartition] | None:
    if request.topic_partitions is None:
        return None
    return frozenset((topic.topic_id, partition) for topic in request.topic_partitions for partition in topic.partitions)


def is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """A member sends all fields when it joins, and when it does not know the outcome of its last
    heartbeat; then the response has all fields too.
    """
    subscribes = request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
    says_all = request.rebalance_timeout_ms != NO_REBALANCE_TIMEOUT and subscribes and request.topic_partitions is not None
    return request.member_epoch == JOIN_EPOCH or says_all


def asked_by(request: ConsumerGroupHeartbeatRequest, before: Subscription, *, client_id: str, client_host: str) -> Subscription:
    """A field that the heartbeat leaves out keeps its value. Most heartbeats leave out all."""
    names, timeout_ms = request.subscribed_topic_names, request.rebalance_timeout_ms
    if (
        names is None
        and request.subscribed_topic_regex is None
        and timeout_ms == NO_REBALANCE_TIMEOUT
        and request.instance_id is None
        and request.rack_id is None
        and request.server_assignor is None
        and before.classic is None
        and before.client_id == client_id
        and before.client_host == client_host
    ):
        return before
    return replace(
        before,
        instance_id=before.instance_id if request.instance_id is None else request.instance_id,
        rack_id=before.rack_id if request.rack_id is None else request.rack_id,
        client_id=client_id,
        client_host=client_host,
        topics=before.topics if names is None else tuple(sorted(set(names))),
        pattern=before.pattern if request.subscribed_topic_regex is None else request.subscribed_topic_regex,
        rebalance_timeout_ms=before.rebalance_timeout_ms if timeout_ms == NO_REBALANCE_TIMEOUT else timeout_ms,
        assignor=before.assignor if request.server_assignor is None else request.server_assignor,
        classic=None,
    )
