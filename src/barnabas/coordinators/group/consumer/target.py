"""The target assignment: the members' preferred assignor, applied to their topics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.coordinators.group.assignors import ASSIGNORS
from barnabas.coordinators.group.assignors.assignor import Assignments, Subscriber
from barnabas.coordinators.group.assignors.uniform_assignor import assign_uniform, reassign_alike
from barnabas.coordinators.group.consumer.group_change import GroupChange
from barnabas.metadata.topics import TopicsImage
from barnabas.model.ids import Uuid


def chosen_assignor(votes: Mapping[str, int], configured: Sequence[str]) -> str:
    """The assignor with the most votes; without votes the first configured one. Names that are no
    longer configured do not count.
    """
    known = (name for name in configured if votes.get(name))
    # The first of the best is the one that is configured first.
    return max(known, key=lambda name: votes[name], default=configured[0])


def changed_targets(change: GroupChange, topics: TopicsImage, configured: Sequence[str]) -> Assignments:
    """The targets that differ from the previous ones."""
    assignor = ASSIGNORS[chosen_assignor(change.interests.votes, configured)]
    before = change.targets
    subscriptions = change.interests.subscriptions
    counts: dict[Uuid, int] = {}
    topic_ids: dict[tuple[tuple[str, ...], str], frozenset[Uuid]] = {}
    for names, pattern in subscriptions:
        known = [topics.by_name[name] for name in change.topics_read(names, pattern) if name in topics.by_name]
        counts.update((topic.topic_id, len(topic.partitions)) for topic in known)
        topic_ids[names, pattern] = frozenset(topic.topic_id for topic in known)
    if assignor is assign_uniform and len(set(topic_ids.values())) == 1:
        changed = reassign_alike(change.members.keys(), before, next(iter(topic_ids.values())), counts)
        if changed is not None:
            return changed
    subscribers = [
        Subscriber(
            member_id=member.member_id,
            instance_id=member.instance_id,
            topic_ids=topic_ids[member.subscription.topics, member.subscription.pattern],
            held=before.get(member.member_id, frozenset()),
        )
        for member in change.members.values()
    ]
    targets = assignor(subscribers, counts)
    return {member_id: target for member_id, target in targets.items() if before.get(member_id) != target}
