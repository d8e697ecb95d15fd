"""``sticky``: tasks stay where their state is, and processes get loads in proportion to their
threads.

Active tasks are assigned first, in three rounds: to the previous owner, to a member with a standby
copy, and to the process with the lowest load per thread. The first two rounds respect a quota, the
even share of each member. Standby copies follow for subtopologies with state: to the previous
owner of the active task or of a standby copy, and then to processes with a low load. A process
never gets two copies of a task, so there may be fewer copies than asked for.

The first rounds go by partition and then by subtopology: tasks of one partition number, which often
join the same keys, stay together. The last rounds go by subtopology, which spreads the load of a
busy subtopology over all processes.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.coordinators.group.streams.process_load import ProcessLoad
from barnabas.coordinators.group.streams.tasks import TaskId, Tasks


class TaskMember(NamedTuple):
    member_id: str
    process_id: str
    previous: Tasks
    """The previous target."""


class TaskGroup(NamedTuple):
    """The tasks of a subtopology."""

    subtopology_id: str
    task_count: int
    stateful: bool


def assign_sticky(members: Iterable[TaskMember], groups: Sequence[TaskGroup], *, standbys: int) -> dict[str, Tasks]:
    row = sorted(members, key=lambda each: each.member_id)
    if not row:
        return {}
    assignment = _Assignment(row, groups, standbys)
    assignment.place_active()
    if standbys > 0:
        assignment.place_standbys()
    return {
        each.member_id: Tasks(frozenset(process.active[each.member_id]), frozenset(process.standby[each.member_id]))
        for each in row
        for process in (assignment.processes[each.process_id],)
    }


@dataclass(slots=True)
class _Quota:
    """The even share of members that still have room: as members fill up, the others share the
    rest.
    """

    tasks: int
    members: int
    share: int = field(init=False)

    def __post_init__(self) -> None:
        self.share = -(-self.tasks // self.members) if self.members else 0

    def took(self, count: int) -> None:
        """A member has ``count`` tasks now."""
        if count == self.share:
            self.members -= 1
            self.tasks -= count
            self.__post_init__()


class _Assignment:
    def __init__(self, row: Sequence[TaskMember], groups: Sequence[TaskGroup], standbys: int) -> None:
        self.processes: dict[str, ProcessLoad] = {}
        self._groups = groups
        self._standbys = standbys
        self._previous_active: dict[TaskId, list[TaskMember]] = {}
        self._previous_standby: dict[TaskId, list[TaskMember]] = {}
        for each in row:
            process = self.processes.get(each.process_id)
            if process is None:
                process = self.processes[each.process_id] = ProcessLoad(each.process_id)
            process.add_member(each.member_id)
            for task in each.previous.active:
                self._previous_active.setdefault(task, []).append(each)
            for task in each.previous.standby:
                self._previous_standby.setdefault(task, []).append(each)
        active = sum(group.task_count for group in groups)
        copies = sum(group.task_count for group in groups if group.stateful) * standbys
        self._active_quota = _Quota(active, len(row))
        self._quota = _Quota(active + copies, len(row))

    # -- active tasks ------------------------------------------------------------------------------

    def place_active(self) -> None:
        tasks = sorted(((group.subtopology_id, number) for group in self._groups for number in range(group.task_count)), key=_by_partition)
        for previous in (self._previous_active, self._previous_standby):
            if previous:
                tasks = [task for task in tasks if not self._keep_active(task, previous.get(task, ()))]
        queue = [(process.load, process.process_id) for process in self.processes.values()]
        heapq.heapify(queue)
        for task in sorted(tasks):
            process = self.processes[queue[0][1]]
            self._count_active(process.place_active(process.lightest_member(), task))
            heapq.heapreplace(queue, (process.load, process.process_id))

    def _keep_active(self, task: TaskId, candidates: Sequence[TaskMember]) -> bool:
        member = self._lightest(candidates, task, self._active_quota)
        if member is None:
            return False
        self._count_active(self.processes[member.process_id].place_active(member.member_id, task))
        return True

    def _count_active(self, count: int) -> None:
        self._active_quota.took(count)
        self._quota.took(count)

    # -- standby tasks -----------------------------------------------------------------------------

    def place_standbys(self) -> None:
        tasks = ((group.subtopology_id, number) for group in self._groups if group.stateful for number in range(group.task_count))
        left: list[tuple[TaskId, int]] = []
        for task in sorted(tasks, key=_by_partition, reverse=True):
            kept = 0
            while kept < self._standbys and self._keep_standby(task):
                kept += 1
            if kept < self._standbys:
                left.append((task, self._standbys - kept))
        queue = [(process.load, process.process_id) for process in self.processes.values()]
        heapq.heapify(queue)
        for task, copies in sorted(left, reverse=True):
            self._spread(task, copies, queue)

    def _keep_standby(self, task: TaskId) -> bool:
        for previous in (self._previous_active, self._previous_standby):
            member = self._lightest(previous.get(task, ()), task, self._quota)
            if member is not None:
                self._quota.took(self.processes[member.process_id].place_standby(member.member_id, task))
                return True
        return False

    def _spread(self, task: TaskId, copies: int, queue: list[tuple[float, str]]) -> None:
        """To the processes with the lowest loads that do not have the task."""
        visited = []
        while copies and queue:
            load, process_id = heapq.heappop(queue)
            process = self.processes[process_id]
            if task not in process.tasks:
                self._quota.took(process.place_standby(process.lightest_member(), task))
                load = process.load
                copies -= 1
            visited.append((load, process_id))
        for each in visited:
            heapq.heappush(queue, each)

    def _lightest(self, candidates: Sequence[TaskMember], task: TaskId, quota: _Quota) -> TaskMember | None:
        """Of the candidates that may take the task, the one whose process has the lowest load."""
        free = [each for each in candidates if self._may_take(each, task, quota.share)]
        # A task seldom has two previous owners.
        return free[0] if len(free) == 1 else min(free, key=self._load_of, default=None)

    def _may_take(self, member: TaskMember, task: TaskId, share: int) -> bool:
        process = self.processes[member.process_id]
        return process.counts[member.member_id] < share and task not in process.tasks

    def _load_of(self, member: TaskMember) -> tuple[float, int]:
        process = self.processes[member.process_id]
        return process.load, process.counts[member.member_id]


def _by_partition(task: TaskId) -> tuple[int, str]:
    return task[1], task[0]
