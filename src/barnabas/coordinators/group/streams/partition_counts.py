"""The partition counts of internal topics, which follow from those of the source topics.

1. A repartition topic has the count that the application fixed, or else the highest count of the
   sources of the subtopology that writes it. Repartition topics feed each other, so this repeats
   until nothing changes.
2. Topics of a copartition group get one count: that of the user's topics in it, which must agree,
   or else that of the fixed repartition topics of the topology, or else the highest.
3. A changelog has as many partitions as its subtopology has tasks.

The counts, and the order in which they are found, are Kafka's: its topics keep their counts when
another coordinator takes over.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from barnabas.coordinators.group.refusal import Refusal
from barnabas.coordinators.group.streams.statuses import Condition, StatusCode
from barnabas.coordinators.group.streams.topology import CopartitionGroup, Subtopology, Topology
from barnabas.coordinators.group.streams.visit_order import in_visit_order
from barnabas.model.errors import ErrorCode

# By topic. A topic that exists has its real count, any other the decided one.
Counts: TypeAlias = Mapping[str, int]

_NOT_ALL: Final = "Failed to compute number of partitions for all repartition topics"


def decide_counts(topology: Topology, existing: Counts) -> dict[str, int] | Condition | Refusal:
    """The counts of all internal topics, existing or not. All source topics exist."""
    visited = [topology.subtopologies[each] for each in in_visit_order(topology.subtopologies)]
    decided = _repartition_counts(visited, existing)
    if isinstance(decided, Refusal):
        return decided
    counts = ChainMap(existing, decided)  # type: ignore[arg-type]
    fixed = [topic.name for each in visited for topic in each.repartition_sources if topic.partitions]
    flexible = {topic.name for each in visited for topic in each.repartition_sources if not topic.partitions}
    for subtopology in visited:
        for group in subtopology.copartition_groups:
            enforced = _copartitioned(_names(subtopology, group), fixed, flexible, counts)
            if isinstance(enforced, Condition):
                return enforced
            decided |= enforced
    for subtopology in visited:
        count = task_count(subtopology, counts)
        if count is None:
            return _invalid(f"No source topics found for subtopology {subtopology.subtopology_id}")
        decided |= dict.fromkeys((topic.name for topic in subtopology.changelogs), count)
    return decided


def task_count(subtopology: Subtopology, counts: Counts) -> int | None:
    return max((counts[name] for name in subtopology.all_sources), default=None)


def _repartition_counts(visited: Iterable[Subtopology], existing: Counts) -> dict[str, int] | Refusal:
    counts = {topic.name: topic.partitions for each in visited for topic in each.repartition_sources if topic.partitions}
    while True:
        progress = unknown = False
        for subtopology in visited:
            for sink in subtopology.repartition_sinks:
                if sink not in counts:
                    found = [counts[topic.name] for topic in subtopology.repartition_sources if topic.name in counts]
                    found += [existing[name] for name in subtopology.source_topics if name in existing]
                    if found:
                        counts[sink] = max(found)
                    progress, unknown = progress or bool(found), unknown or not found
        if not unknown:
            break
        if not progress:
            return _invalid(f"{_NOT_ALL}. There may be loops in the topology that cannot be resolved.")
    if any(topic.name not in counts for each in visited for topic in each.repartition_sources):
        return _invalid(f"{_NOT_ALL}, because a repartition source topic is never used as a sink topic.")
    return counts


def _copartitioned(names: set[str], fixed: list[str], flexible: set[str], counts: Counts) -> dict[str, int] | Condition:
    repartition = {name: counts[name] for name in names if name in flexible or name in fixed}
    of_user = {name: counts[name] for name in names if name not in repartition}
    if not names:
        return {}
    if of_user:
        agreed = set(of_user.values())
    elif fixed:
        agreed = {counts[name] for name in fixed}
    else:
        agreed = {max(repartition.values())}
    if len(agreed) > 1:
        return _incorrect(f"Following topics do not have the same number of partitions: [{_shown(of_user or repartition)}]")
    (count,) = agreed
    for name in fixed:
        if name in repartition and repartition[name] != count:
            return _incorrect(
                f"Number of partitions [{repartition[name]}] of repartition topic [{name}] doesn't match number of partitions [{count}] "
                "of the source topic."
            )
    return dict.fromkeys(repartition, count)


def _names(subtopology: Subtopology, group: CopartitionGroup) -> set[str]:
    sources = {subtopology.source_topics[index] for index in group.source_topics}
    return sources.union(subtopology.repartition_sources[index].name for index in group.repartition_sources)


def _shown(counts: Counts) -> str:
    return "{" + ", ".join(f"{name}={count}" for name, count in sorted(counts.items())) + "}"


def _incorrect(detail: str) -> Condition:
    return Condition(StatusCode.INCORRECTLY_PARTITIONED_TOPICS, detail)


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.STREAMS_INVALID_TOPOLOGY, message)
