"""Groups as their coordinators describe them, of every kind: members, assignments, topology. Values
only.

Kinds differ in their words, not in their shape: a member of a streams group has *tasks*, and the
partitions that follow from them; a member of a share group shares its partitions with others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from barnabas.console.core.topic import TopicPartition


class GroupKind(StrEnum):
    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


@dataclass(frozen=True, slots=True)
class TopicAssignment:
    topic: str
    partitions: list[int]


@dataclass(frozen=True, slots=True)
class SubtopologyTasks:
    subtopology: str
    tasks: list[int]


@dataclass(frozen=True, slots=True)
class Member:
    id: str
    client_id: str
    host: str
    instance_id: str | None = None
    epoch: int | None = None
    """Members of classic groups have none."""
    assignment: list[TopicAssignment] = field(default_factory=list)
    target: list[TopicAssignment] | None = None
    """Where the assignment goes, for the protocol that moves partitions one by one."""
    active_tasks: list[SubtopologyTasks] = field(default_factory=list)
    standby_tasks: list[SubtopologyTasks] = field(default_factory=list)
    endpoint: str | None = None

    @property
    def partitions(self) -> int:
        return sum(len(each.partitions) for each in self.assignment)

    @property
    def is_moving(self) -> bool:
        return self.target is not None and self.target != self.assignment


@dataclass(frozen=True, slots=True)
class TopologyTopic:
    role: str
    """source, repartition, changelog or sink."""
    topic: str


@dataclass(frozen=True, slots=True)
class Subtopology:
    id: str
    topics: list[TopologyTopic]


@dataclass(frozen=True, slots=True)
class Group:
    id: str
    kind: GroupKind
    state: str
    protocol: str
    """The protocol type of a classic group: ``consumer``, ``connect``, or a word of its program."""
    assignor: str
    members: list[Member]
    epoch: int | None = None
    target_epoch: int | None = None
    topology: list[Subtopology] = field(default_factory=list)
    topology_epoch: int | None = None


def assigned(topics: Iterable[tuple[str, Iterable[int]]]) -> list[TopicAssignment]:
    merged: dict[str, set[int]] = {}
    for topic, partitions in topics:
        merged.setdefault(topic, set()).update(partitions)
    return [TopicAssignment(topic, sorted(merged[topic])) for topic in sorted(merged)]


def partitions_of_tasks(tasks: Iterable[SubtopologyTasks], topology: Iterable[Subtopology]) -> list[TopicAssignment]:
    """A task reads the partition of its number in each source of its subtopology."""
    sources = {each.id: [one.topic for one in each.topics if one.role in ("source", "repartition")] for each in topology}
    return assigned((topic, each.tasks) for each in tasks for topic in sources.get(each.subtopology, ()))


def owners(members: Iterable[Member]) -> Mapping[TopicPartition, list[Member]]:
    """Members of each partition; several of them only in a share group."""
    found: dict[TopicPartition, list[Member]] = {}
    for member in members:
        for each in member.assignment:
            for partition in each.partitions:
                found.setdefault(TopicPartition(each.topic, partition), []).append(member)
    return found
