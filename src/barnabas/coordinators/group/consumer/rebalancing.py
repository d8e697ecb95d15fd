"""The parts that heartbeats of both protocols share: subscriptions, targets, and the removal of
members.
"""

from __future__ import annotations

from collections.abc import Iterable, Set as AbstractSet
from typing import Any, TypeVar

from barnabas.coordinators.group.assignors import ASSIGNORS
from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.classic.classic_groups import ClassicGroups
from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup
from barnabas.coordinators.group.consumer.deadlines import Deadlines
from barnabas.coordinators.group.consumer.group_change import GroupChange
from barnabas.coordinators.group.consumer.group_steps import aim, approach, follow_subscriptions, may_aim
from barnabas.coordinators.group.consumer.group_timings import assignment_interval_ms
from barnabas.coordinators.group.consumer.member import ConsumerMember, MemberState, Subscription
from barnabas.coordinators.group.consumer.migration import downgrade, may_downgrade
from barnabas.coordinators.group.consumer.topic_names import TopicNames
from barnabas.coordinators.group.consumer.visible_topics import VisibleTopics
from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.shard import GroupShard
from barnabas.coordinators.outcome import Outcome
from barnabas.model.errors import ErrorCode

R = TypeVar("R")


class Rebalancing:
    def __init__(self, shard: GroupShard, classic: ClassicGroups) -> None:
        self._shard = shard
        self._classic = classic
        self._names = TopicNames(shard.image)
        self.assignors = tuple(name for name in shard.settings.consumer_assignors if name in ASSIGNORS) or tuple(ASSIGNORS)[:1]
        self.deadlines = Deadlines(shard, self._fence)

    def follow(
        self,
        change: GroupChange,
        before: ConsumerMember,
        asked: Subscription,
        reported: AbstractSet[IdPartition] | None,
        now_ms: int,
        *,
        visible: VisibleTopics | None,
    ) -> ConsumerMember | Refusal:
        """Apply the member's subscription and move it one step closer to its target.

        ``visible`` is None for members of the classic protocol, which have no patterns.
        """
        topics = self._shard.image().topics
        changed = change.member(before.member_id) is None or not asked.reads_like(before.subscription)
        member = change.subscribe(before.member_id, asked)
        follow_subscriptions(change, topics, self._names, visible, changed=changed, now_ms=now_ms)
        aim(change, topics, self.assignors, interval_ms=self._interval_ms(change.group_id), now_ms=now_ms)
        ownership = approach(change, member, topics, reported=reported, subscription_changed=changed)
        if ownership is None:
            message = "The consumer group member is in an unknown state. The member must abandon all its partitions and rejoin."
            return Refusal(ErrorCode.FENCED_MEMBER_EPOCH, message)
        if ownership != member.ownership:
            member = change.own(member.member_id, ownership)
            self.deadlines.revoked(change.group_id, member.member_id)
            # Classic members revoke between heartbeat and rejoin, which has its own deadline.
            if ownership.state is MemberState.UNREVOKED_PARTITIONS and member.classic is None:
                self.deadlines.expect_revocation(change.group_id, member, now_ms)
        return member

    def behind(self, group: ConsumerGroup, member: ConsumerMember, now_ms: int) -> bool:
        """Whether there is, or can now be, a target that the member does not know yet."""
        pending = group.epoch > group.target_epoch and may_aim(group, self._interval_ms(group.group_id), now_ms)
        return pending or member.epoch < group.target_epoch

    def without(self, change: GroupChange, member_ids: Iterable[str], answer: R, now_ms: int) -> Outcome[R]:
        """Remove members from the group. Their timers end when that is replayed: until then the log
        may refuse the removal.
        """
        for member_id in member_ids:
            change.remove(member_id)
        follow_subscriptions(change, self._shard.image().topics, self._names, None, changed=True, now_ms=now_ms)
        return self.settled(change, answer, now_ms)

    def settled(self, change: GroupChange, answer: R, now_ms: int) -> Outcome[R]:
        """The change, with a downgrade to a classic group if only classic members are left."""
        if not may_downgrade(change, self._shard.settings):
            return Outcome(answer, change.records)
        downgrade(change, self._shard.image().topics, now_ms)
        return Outcome(answer, change.records, if_committed=lambda: self._classic.adopt(change.group_id, now_ms))

    def _fence(self, group: ConsumerGroup, member_id: str, now_ms: int) -> Outcome[Any]:
        member = group.members[member_id]
        outcome = self.without(GroupChange(group), [member_id], None, now_ms)
        return Outcome(
            None,
            outcome.records,
            if_committed=outcome.if_committed,
            # If the log refuses the removal, the member stays; try again after another session
            # timeout.
            if_refused=lambda _: self.deadlines.expect_heartbeat(group.group_id, member, now_ms),
        )

    def _interval_ms(self, group_id: str) -> int:
        return assignment_interval_ms(self._shard.settings_of(group_id), self._shard.settings)
