"""A topology together with the topics that exist: the tasks of each subtopology, and the internal
topics that are still missing.

It is computed from the log's topology and the metadata, and is not in the log itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, replace

from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.streams.partition_counts import Counts, decide_counts, task_count
from barnabas.coordinators.group.streams.statuses import Condition, StatusCode
from barnabas.coordinators.group.streams.topology import InternalTopic, Subtopology, Topology
from barnabas.metadata.topics import TopicsImage
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode

# A target with more tasks does not fit into a record of one megabyte if one member gets them all,
# and takes seconds to compute.
TASKS_MAX = 100_000
_NAMES_SHOWN_MAX = 3


@dataclass(frozen=True, slots=True)
class ConfiguredSubtopology:
    subtopology: Subtopology
    """Its internal topics have their partition counts."""
    task_count: int

    @property
    def subtopology_id(self) -> str:
        return self.subtopology.subtopology_id

    @property
    def stateful(self) -> bool:
        return bool(self.subtopology.changelogs)


@dataclass(frozen=True, slots=True)
class ConfiguredTopology:
    topology: Topology
    subtopologies: Mapping[str, ConfiguredSubtopology] = field(default_factory=dict)
    """Sorted by id; empty if the partition counts could not be decided."""
    missing: Mapping[str, InternalTopic] = field(default_factory=dict)
    problem: Condition | None = None

    @property
    def ready(self) -> bool:
        """Whether tasks can be assigned."""
        return self.problem is None


def configure(topology: Topology, topics: TopicsImage) -> ConfiguredTopology | Refusal:
    existing = {name: len(topics.by_name[name].partitions) for name in topology.required_topics if name in topics.by_name}
    problem: Condition | None
    absent = sorted({name for each in topology.subtopologies.values() for name in each.source_topics if name not in existing})
    if absent:
        problem = Condition(StatusCode.MISSING_SOURCE_TOPICS, f"Source topics {_summary(absent)} are missing.")
        return ConfiguredTopology(topology, problem=problem)
    decided = decide_counts(topology, existing)
    if isinstance(decided, Refusal):
        return decided
    if isinstance(decided, Condition):
        return ConfiguredTopology(topology, problem=decided)
    counts = {**decided, **existing}
    subtopologies = {each: _configured(topology.subtopologies[each], decided, counts) for each in sorted(topology.subtopologies)}
    tasks = sum(each.task_count for each in subtopologies.values())
    if tasks > TASKS_MAX:
        message = f"A streams group has at most {TASKS_MAX} tasks, and this topology has {tasks}."
        return Refusal(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)
    wanted = {
        topic.name: topic
        for each in subtopologies.values()
        for topic in (*each.subtopology.repartition_sources, *each.subtopology.changelogs)
    }
    for name in sorted(existing.keys() & wanted.keys()):
        if existing[name] != wanted[name].partitions:
            detail = f"Existing topic {name} has different number of partitions: expected {wanted[name].partitions}, found {existing[name]}"
            return ConfiguredTopology(topology, problem=Condition(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, detail))
    missing = {name: topic for name, topic in sorted(wanted.items()) if name not in existing}
    problem = Condition(StatusCode.MISSING_INTERNAL_TOPICS, f"Internal topics are missing: {_summary(missing)}") if missing else None
    return ConfiguredTopology(topology, subtopologies, missing, problem)


def _configured(subtopology: Subtopology, decided: Counts, counts: Counts) -> ConfiguredSubtopology:
    def counted(topics: tuple[InternalTopic, ...]) -> tuple[InternalTopic, ...]:
        return tuple(replace(topic, partitions=topic.partitions or decided[topic.name]) for topic in topics)

    count = task_count(subtopology, counts)
    assert count is not None, "a subtopology without sources was refused"
    return ConfiguredSubtopology(
        replace(
            subtopology,
            repartition_sources=counted(subtopology.repartition_sources),
            changelogs=counted(subtopology.changelogs),
        ),
        count,
    )


def _summary(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - _NAMES_SHOWN_MAX
    return ", ".join(listed[:_NAMES_SHOWN_MAX]) + (f" and {more} additional topics" if more > 0 else "")
