"""The steps by which a share group follows its members and topics: a new epoch, a new target, and
the member's part of the target.

Each step works on a :class:`ShareChange` and on its arguments; none knows requests, timers or the
log.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordinators.group.assignment_interval import may_assign
from barnabas.coordinators.group.assignors.assignor import Assignments, IdPartition, Subscriber
from barnabas.coordinators.group.assignors.simple_assignor import assign_simple
from barnabas.coordinators.group.metadata_hash import metadata_hash
from barnabas.coordinators.group.share.member import ShareAssignment, ShareMember
from barnabas.coordinators.group.share.share_change import ShareChange
from barnabas.coordinators.group.share.share_group import ShareGroup, TopicsSeen
from barnabas.metadata.topics import TopicsImage
from barnabas.model.ids import Uuid


def follow_topics(change: ShareChange, topics: TopicsImage, *, changed: bool) -> bool:
    """Raise the group epoch if a subscription ``changed``, if subscribed topics did, or if
    partitions were initialized that no member has. True if the epoch rises.
    """
    seen = change.group.topics_seen
    current = seen is not None and seen.topics is topics and seen.epoch == change.group.epoch
    needed = changed or _assignment_is_outdated(change.group, topics)
    if current and not needed:
        return False
    digest = metadata_hash(change.subscribed_topics(), topics)
    if needed or digest != change.metadata_hash:
        change.bump(digest)
    change.group.topics_seen = TopicsSeen(topics, change.epoch)
    return change.epoch > change.group.epoch


def _assignment_is_outdated(group: ShareGroup, topics: TopicsImage) -> bool:
    """Whether the target of the current epoch has other partitions than the initialized ones. A
    target that does not exist yet will have them anyway.
    """
    if group.target_epoch < group.epoch or not group.states.initialized:
        return False
    assigned = frozenset[IdPartition]().union(*group.targets.values())
    return assigned != _assignable(group, group.subscribed_topics(), topics)


def _assignable(group: ShareGroup, subscribed: Iterable[str], topics: TopicsImage) -> frozenset[IdPartition]:
    ids = {topics.by_name[name].topic_id for name in subscribed if name in topics.by_name}
    return frozenset(slot for slot in group.states.initialized_partitions() if slot[0] in ids)


def aim(change: ShareChange, topics: TopicsImage, *, interval_ms: int, now_ms: int) -> None:
    """Compute a target for a newer epoch, at most one in ``interval_ms``."""
    if change.epoch > change.target_epoch and may_assign(change.group.target_timestamp_ms, interval_ms, now_ms):
        change.aim(_compute_target(change, topics), now_ms)


def _compute_target(change: ShareChange, topics: TopicsImage) -> Assignments:
    subscribers = [
        Subscriber(
            member_id=member.member_id,
            instance_id=None,
            topic_ids=_topic_ids(member, topics),
            held=change.targets.get(member.member_id, frozenset()),
        )
        for member in change.members.values()
    ]
    return assign_simple(subscribers, _assignable(change.group, change.subscribed_topics(), topics))


def _topic_ids(member: ShareMember, topics: TopicsImage) -> frozenset[Uuid]:
    return frozenset(topics.by_name[name].topic_id for name in member.subscription.topics if name in topics.by_name)


def reconcile(change: ShareChange, member: ShareMember, topics: TopicsImage, *, changed: bool) -> ShareAssignment:
    """The assignment of the member: at once the whole target, because nothing must be revoked
    before. If the group ``changed`` but has no new target yet, topics that the member no longer
    subscribes to are left out.
    """
    if member.epoch == change.target_epoch and not changed:
        return member.assignment
    ids = _topic_ids(member, topics)
    target = change.targets.get(member.member_id, frozenset())
    return member.assignment.at(change.target_epoch, frozenset(slot for slot in target if slot[0] in ids))
