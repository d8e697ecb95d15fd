"""The topology of a Streams application: its subtopologies and their topics. The first member that
joins brings it, and the group keeps it.

A *subtopology* reads source topics, which belong to the user, and repartition topics, which other
subtopologies write. It keeps its state in changelog topics. Repartition and changelog topics are
*internal topics*: the group creates them. Topics of a *copartition group* are joined, so they need
equal partition counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cached_property

from barnabas.model.dataclass import dataclass

# Bounds on the work for one topology. Applications have tens of subtopologies; the record of a
# topology must fit into a batch of one megabyte anyway.
SUBTOPOLOGIES_MAX = 1_000
TOPICS_MAX = 10_000
COPARTITION_GROUPS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class InternalTopic:
    name: str
    partitions: int = 0
    """0 if the coordinator must find the number."""
    replication_factor: int = 0
    """0 for the default of the broker."""
    configs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CopartitionGroup:
    """Indexes into the lists of the subtopology."""

    source_topics: tuple[int, ...] = ()
    source_patterns: tuple[int, ...] = ()
    repartition_sources: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Subtopology:
    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_patterns: tuple[str, ...] = ()
    changelogs: tuple[InternalTopic, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    repartition_sources: tuple[InternalTopic, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()

    @property
    def all_sources(self) -> Iterator[str]:
        yield from self.source_topics
        yield from (topic.name for topic in self.repartition_sources)

    @property
    def topic_count(self) -> int:
        return len(self.source_topics) + len(self.changelogs) + len(self.repartition_sinks) + len(self.repartition_sources)


@dataclass(frozen=True)
class Topology:
    epoch: int = 0
    subtopologies: Mapping[str, Subtopology] = field(default_factory=dict)
    """By id, in the order of the request or the record."""

    @cached_property
    def required_topics(self) -> frozenset[str]:
        """The topics whose partitions decide about the tasks."""
        names = {name for each in self.subtopologies.values() for name in each.all_sources}
        return frozenset(names.union(topic.name for each in self.subtopologies.values() for topic in each.changelogs))

    @cached_property
    def readers(self) -> Mapping[str, str]:
        """The subtopology that reads a topic."""
        return {name: each.subtopology_id for each in self.subtopologies.values() for name in each.all_sources}


def why_invalid(topology: Topology, subtopology_count: int) -> str | None:
    """Faults that no topics can cure. ``subtopology_count`` is that of the request,
    where ids may repeat.
    """
    if subtopology_count != len(topology.subtopologies):
        return "The ids of subtopologies must differ."
    if subtopology_count > SUBTOPOLOGIES_MAX:
        return f"A topology has at most {SUBTOPOLOGIES_MAX} subtopologies, this one has {subtopology_count}."
    if topology.epoch < 0:
        return "The epoch of a topology cannot be negative."
    every = topology.subtopologies.values()
    for subtopology in every:
        for topic in subtopology.changelogs:
            if topic.partitions != 0:
                return f"Changelog topic {topic.name} must have an undefined partition count, but it is set to {topic.partitions}."
    topics = sum(each.topic_count for each in every)
    if topics > TOPICS_MAX:
        return f"A topology names at most {TOPICS_MAX} topics, this one names {topics}."
    groups = sum(len(each.copartition_groups) for each in every)
    if groups > COPARTITION_GROUPS_MAX:
        return f"A topology has at most {COPARTITION_GROUPS_MAX} copartition groups, this one has {groups}."
    return next((problem for each in every if (problem := _why_subtopology_invalid(each)) is not None), None)


def _why_subtopology_invalid(subtopology: Subtopology) -> str | None:
    for topic in subtopology.repartition_sources:
        if topic.partitions < 0:
            return f"Repartition topic {topic.name} cannot have {topic.partitions} partitions."
    for group in subtopology.copartition_groups:
        known = all(0 <= index < len(subtopology.source_topics) for index in group.source_topics) and all(
            0 <= index < len(subtopology.repartition_sources) for index in group.repartition_sources
        )
        if not known:
            return f"A copartition group of subtopology {subtopology.subtopology_id} names a topic that the subtopology does not have."
    return None
