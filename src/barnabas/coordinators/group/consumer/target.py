"""The target assignment: the members' preferred assignor, applied to their topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from barnabas.coordinators.group.assignors import ASSIGNORS
from barnabas.coordinators.group.assignors.assignor import IdPartition, Subscriber
from barnabas.coordinators.group.consumer.group_change import GroupChange
from barnabas.coordinators.group.consumer.member import ConsumerMember
from barnabas.metadata.topics import TopicsImage
from barnabas.model.ids import Uuid


def chosen_assignor(members: Iterable[ConsumerMember], configured: Sequence[str]) -> str:
    """The assignor with the most votes; without votes the first configured one. Names that are no
    longer configured do not count.
    """
    votes = Counter(member.subscription.assignor for member in members if member.subscription.assignor in configured)
    votes.pop(None, None)
    favourite = max(votes.items(), key=lambda vote: (vote[1], -configured.index(str(vote[0]))), default=None)
    return configured[0] if favourite is None else str(favourite[0])


def compute_target(change: GroupChange, topics: TopicsImage, configured: Sequence[str]) -> dict[str, frozenset[IdPartition]]:
    counts: dict[Uuid, int] = {}
    subscribers = []
    # Most members of a group subscribe to the same topics.
    ids_of: dict[frozenset[str], frozenset[Uuid]] = {}
    for member in change.members.values():
        names = frozenset(change.topics_of(member.subscription))
        topic_ids = ids_of.get(names)
        if topic_ids is None:
            known = [topics.by_name[name] for name in names if name in topics.by_name]
            counts.update((topic.topic_id, len(topic.partitions)) for topic in known)
            topic_ids = ids_of[names] = frozenset(topic.topic_id for topic in known)
        subscribers.append(
            Subscriber(
                member_id=member.member_id,
                instance_id=member.instance_id,
                topic_ids=topic_ids,
                held=change.targets.get(member.member_id, frozenset()),
            )
        )
    return ASSIGNORS[chosen_assignor(change.members.values(), configured)](subscribers, counts)
