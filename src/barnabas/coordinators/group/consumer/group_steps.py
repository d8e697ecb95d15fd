"""The steps by which a group follows its members and topics: a new epoch, a new target, and one
step of a member towards it.

Each step works on a :class:`GroupChange` and on its arguments; none knows requests, timers or the
log.
"""

from __future__ import annotations

from collections.abc import Sequence, Set as AbstractSet

from barnabas.coordinators.group.assignment_interval import may_assign
from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.coordinators.group.consumer.consumer_group import ConsumerGroup, MetadataSeen
from barnabas.coordinators.group.consumer.group_change import GroupChange
from barnabas.coordinators.group.consumer.member import ConsumerMember, Ownership
from barnabas.coordinators.group.consumer.reconciliation import reconcile
from barnabas.coordinators.group.consumer.target import changed_targets
from barnabas.coordinators.group.consumer.topic_names import TopicNames
from barnabas.coordinators.group.consumer.visible_topics import VisibleTopics
from barnabas.coordinators.group.metadata_hash import metadata_hash
from barnabas.metadata.topics import TopicsImage
from barnabas.model.pattern import matching


def follow_subscriptions(
    change: GroupChange, topics: TopicsImage, names: TopicNames, visible: VisibleTopics | None, *, changed: bool, now_ms: int
) -> None:
    """Raise the group epoch if a subscription ``changed``, or if subscribed topics did.

    ``visible`` is None where no client with a pattern asks; patterns then stay as they are.
    """
    seen = change.group.metadata_seen
    matched = None if seen is None else seen.matched
    version = matched if visible is None else (names.version, visible.version)
    current = seen is not None and seen.topics is topics and seen.epoch == change.group.epoch and version == matched
    if current and not changed:
        return
    _forget_patterns(change)
    rematched = visible is not None and _match_patterns(change, names, visible, refresh=version != matched, now_ms=now_ms)
    digest = metadata_hash(change.subscribed_topics(), topics)
    if changed or rematched or digest != change.metadata_hash:
        change.bump(digest)
    change.group.metadata_seen = MetadataSeen(topics, version, change.epoch)


def _forget_patterns(change: GroupChange) -> None:
    for text in change.patterns.keys() - change.used_patterns():
        change.forget_pattern(text)


def _match_patterns(change: GroupChange, names: TopicNames, visible: VisibleTopics, *, refresh: bool, now_ms: int) -> bool:
    """Match new patterns, or all patterns if topics were created or deleted or rules changed. True
    if a pattern now matches other topics.
    """
    used = change.used_patterns()
    changed = False
    for text in sorted(used if refresh else used - change.patterns.keys()):
        found = frozenset(name for name in matching(text, names.names) if name in visible.names)
        known = change.patterns.get(text)
        if known is None or known.topics != found:
            change.resolve(text, found, names.version, now_ms)
            changed = True
    return changed


def aim(change: GroupChange, topics: TopicsImage, assignors: Sequence[str], *, interval_ms: int, now_ms: int) -> None:
    """Compute a target for a newer epoch, at most one in ``interval_ms``: a hundred members that
    join at once cause two, not a hundred.
    """
    if change.epoch > change.target_epoch and may_aim(change.group, interval_ms, now_ms):
        change.aim(changed_targets(change, topics, assignors), now_ms)


def may_aim(group: ConsumerGroup, interval_ms: int, now_ms: int) -> bool:
    return may_assign(group.target_timestamp_ms, interval_ms, now_ms)


def approach(
    change: GroupChange,
    member: ConsumerMember,
    topics: TopicsImage,
    *,
    reported: AbstractSet[IdPartition] | None,
    subscription_changed: bool,
) -> Ownership | None:
    """Move the member one step towards its target; None fences it."""
    if member.ownership.reconciled_to(change.target_epoch) and not subscription_changed:
        return member.ownership
    subscribed = change.topics_of(member.subscription)
    return reconcile(
        member.ownership,
        target_epoch=change.target_epoch,
        target=change.targets.get(member.member_id, frozenset()),
        reported=reported,
        subscribed_ids={topics.by_name[name].topic_id for name in subscribed if name in topics.by_name},
        subscription_changed=subscription_changed,
        free=lambda slot: change.group.free_for(member.member_id, slot),
    )
