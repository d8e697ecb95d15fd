"""Tasks of a streams group. A task is one partition of all source topics of a subtopology.

A task has one *active* copy, which processes records. A *standby* copy only follows the changelogs
of the task, so that it can take over. A *warm-up* copy catches up before it becomes active; the log
and the protocol have fields for it, but Kafka 4.3 assigns none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

from barnabas.model.dataclass import dataclass

# The subtopology and the partition. A plain tuple: groups hold thousands of them in sets.
TaskId: TypeAlias = tuple[str, int]


class TaskGroup(NamedTuple):
    """The tasks of a subtopology."""

    subtopology_id: str
    task_count: int
    stateful: bool


@dataclass(frozen=True)
class Tasks:
    active: frozenset[TaskId] = frozenset()
    standby: frozenset[TaskId] = frozenset()
    warmup: frozenset[TaskId] = frozenset()

    @property
    def none(self) -> bool:
        return not (self.active or self.standby or self.warmup)

    @cached_property
    def active_by_partition(self) -> tuple[TaskId, ...]:
        """The active tasks in the order in which the assignor visits them."""
        return tuple(sorted(self.active, key=by_partition))


@dataclass(frozen=True, slots=True)
class OwnedTasks:
    """The tasks of a member. An active task has the member epoch in which the member received it:
    commits with that or a later epoch are valid for its partitions (KIP-1251).
    """

    active: Mapping[TaskId, int] = field(default_factory=dict)
    standby: frozenset[TaskId] = frozenset()
    warmup: frozenset[TaskId] = frozenset()

    @property
    def none(self) -> bool:
        return not (self.active or self.standby or self.warmup)

    def equals(self, target: Tasks) -> bool:
        return self.active.keys() == target.active and self.standby == target.standby and self.warmup == target.warmup

    def some_in(self, reported: Tasks) -> bool:
        if not self.standby.isdisjoint(reported.standby) or not self.warmup.isdisjoint(reported.warmup):
            return True
        return any(task in reported.active for task in self.active)

    def all_of(self, reported: Tasks) -> bool:
        """Whether all reported tasks are among these."""
        return reported.active <= self.active.keys() and reported.standby <= self.standby and reported.warmup <= self.warmup


NO_TASKS: Final = OwnedTasks()
NO_TARGET: Final = Tasks()


def by_partition(task: TaskId) -> tuple[int, str]:
    """The key of an order in which tasks of one partition number stay together."""
    return task[1], task[0]


def by_subtopology(tasks: Iterable[TaskId]) -> dict[str, list[int]]:
    """Sorted, so that the same assignment always has the same bytes."""
    grouped: dict[str, list[int]] = {}
    for subtopology_id, partition in sorted(tasks):
        grouped.setdefault(subtopology_id, []).append(partition)
    return grouped
