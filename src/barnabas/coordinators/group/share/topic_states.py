"""The topics whose share partitions have state in the share coordinator, as the group knows it.

    (none) -> initializing    the share coordinator gets the request
    initializing -> initialized    it has done so; or back to (none): it refused
    initialized -> deleting -> (none)    the offsets of the topic, or the whole group, are deleted

A topic may be initializing and initialized at once: it got more partitions, or an administrator
moves its offsets. Deletion is by topic, the rest by partition. Values are immutable.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set as AbstractSet
from dataclasses import field, replace
from typing import NamedTuple

from barnabas.coordinators.group.assignors.assignor import IdPartition
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import Uuid


class TopicPartitions(NamedTuple):
    name: str
    partitions: frozenset[int]


@dataclass(frozen=True, slots=True)
class TopicStates:
    initializing: Mapping[Uuid, TopicPartitions] = field(default_factory=dict)
    initialized: Mapping[Uuid, TopicPartitions] = field(default_factory=dict)
    deleting: Mapping[Uuid, str] = field(default_factory=dict)
    """The names of topics, by their ids."""

    def initialized_partitions(self) -> frozenset[IdPartition]:
        return frozenset((topic_id, number) for topic_id, topic in self.initialized.items() for number in topic.partitions)

    def begin(self, topics: Mapping[Uuid, TopicPartitions]) -> TopicStates:
        """The state of these partitions is being initialized. That ends a deletion of theirs."""
        deleting = {topic_id: name for topic_id, name in self.deleting.items() if topic_id not in topics}
        return replace(self, initializing=_union(self.initializing, topics), deleting=deleting)

    def finish(self, partitions: Iterable[IdPartition]) -> TopicStates:
        """The share coordinator has initialized these partitions. Partitions that are no longer
        initializing do not count: their topic was deleted meanwhile.
        """
        done = _only(self.initializing, frozenset(partitions))
        return replace(self, initializing=_without(self.initializing, done), initialized=_union(self.initialized, done))

    def give_up(self, partitions: Iterable[IdPartition]) -> TopicStates:
        """The share coordinator refused these partitions; a later heartbeat asks again."""
        return replace(self, initializing=_without(self.initializing, _only(self.initializing, frozenset(partitions))))

    def begin_deleting(self, names: Mapping[Uuid, str]) -> TopicStates:
        return TopicStates(
            initializing={topic_id: topic for topic_id, topic in self.initializing.items() if topic_id not in names},
            initialized={topic_id: topic for topic_id, topic in self.initialized.items() if topic_id not in names},
            deleting={**self.deleting, **names},
        )

    def deleted(self, topic_ids: AbstractSet[Uuid]) -> TopicStates:
        """The share coordinator has deleted the state of these topics."""
        return replace(self, deleting={topic_id: name for topic_id, name in self.deleting.items() if topic_id not in topic_ids})

    def without(self, topic_ids: AbstractSet[Uuid]) -> TopicStates:
        """These topics do not exist any more."""
        names = dict.fromkeys(topic_ids & (self.initializing.keys() | self.initialized.keys() | self.deleting.keys()), "")
        return self.begin_deleting(names).deleted(topic_ids) if names else self


def _union(some: Mapping[Uuid, TopicPartitions], more: Mapping[Uuid, TopicPartitions]) -> dict[Uuid, TopicPartitions]:
    union = dict(some)
    for topic_id, topic in more.items():
        known = union.get(topic_id)
        union[topic_id] = TopicPartitions(topic.name, topic.partitions if known is None else known.partitions | topic.partitions)
    return union


def _only(topics: Mapping[Uuid, TopicPartitions], partitions: frozenset[IdPartition]) -> dict[Uuid, TopicPartitions]:
    kept = {
        topic_id: TopicPartitions(topic.name, frozenset(number for number in topic.partitions if (topic_id, number) in partitions))
        for topic_id, topic in topics.items()
    }
    return {topic_id: topic for topic_id, topic in kept.items() if topic.partitions}


def _without(some: Mapping[Uuid, TopicPartitions], fewer: Mapping[Uuid, TopicPartitions]) -> dict[Uuid, TopicPartitions]:
    left = {
        topic_id: topic if topic_id not in fewer else TopicPartitions(topic.name, topic.partitions - fewer[topic_id].partitions)
        for topic_id, topic in some.items()
    }
    return {topic_id: topic for topic_id, topic in left.items() if topic.partitions}
