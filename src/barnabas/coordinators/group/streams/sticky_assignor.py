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
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import NamedTuple, TypeAlias

from barnabas.coordinators.group.streams.process_load import MemberLoad, ProcessLoad
from barnabas.coordinators.group.streams.tasks import TaskGroup, TaskId, Tasks, by_partition


class TaskMember(NamedTuple):
    member_id: str
    process_id: str
    previous: Tasks
    """The previous target."""


# A process in a heap, behind its load and its id.
_Queued: TypeAlias = tuple[float, str, ProcessLoad]


def assign_sticky(members: Iterable[TaskMember], groups: Sequence[TaskGroup], *, standbys: int) -> dict[str, Tasks]:
    row = sorted(members, key=itemgetter(0))
    if not row:
        return {}
    assignment = _Assignment(row, groups, standbys)
    assignment.place_active()
    if standbys > 0:
        assignment.place_standbys()
    return {each.member_id: each.assigned for each in assignment.members}


class _Quota:
    """The even share of members that still have room: as members fill up, the others share the
    rest.
    """

    __slots__ = ("members", "share", "tasks")

    def __init__(self, tasks: int, members: int) -> None:
        self.tasks = tasks
        self.members = members
        self.share = -(-tasks // members)

    def took(self, count: int) -> None:
        """A member has ``count`` tasks now."""
        if count == self.share:
            self.members -= 1
            self.tasks -= count
            self.share = -(-self.tasks // self.members) if self.members else 0


class _Assignment:
    def __init__(self, row: Sequence[TaskMember], groups: Sequence[TaskGroup], standbys: int) -> None:
        self.members: list[MemberLoad] = []
        self._processes: dict[str, ProcessLoad] = {}
        self._groups = groups
        self._standbys = standbys
        self._previous_active: dict[TaskId, list[MemberLoad]] = {}
        self._previous_standby: dict[TaskId, list[MemberLoad]] = {}
        for member_id, process_id, previous in row:
            process = self._processes.get(process_id)
            if process is None:
                process = self._processes[process_id] = ProcessLoad(process_id)
            member = MemberLoad(member_id, process, previous)
            process.members.append(member)
            self.members.append(member)
            for task in previous.active:
                self._previous_active.setdefault(task, []).append(member)
            for task in previous.standby:
                self._previous_standby.setdefault(task, []).append(member)
        active = sum(group.task_count for group in groups)
        copies = sum(group.task_count for group in groups if group.stateful) * standbys
        self._active_quota = _Quota(active, len(row))
        self._quota = _Quota(active + copies, len(row))

    # -- active tasks ------------------------------------------------------------------------------

    def place_active(self) -> None:
        tasks = [(group.subtopology_id, number) for group in self._groups for number in range(group.task_count)]
        if len(self._groups) > 1:
            tasks.sort(key=by_partition)
        for previous in (self._previous_active, self._previous_standby):
            if previous:
                tasks = self._keep_active(tasks, previous)
        tasks.sort()
        queue = self._queue()
        for task in tasks:
            process = queue[0][2]
            member = process.lightest_member()
            member.take_active(task)
            self._quota.took(member.count)
            heapq.heapreplace(queue, (process.load, process.process_id, process))
        if self._standbys:
            for member in self.members:
                member.process.tasks.update(member.active)

    def _keep_active(self, tasks: Sequence[TaskId], previous: Mapping[TaskId, Sequence[MemberLoad]]) -> list[TaskId]:
        """The tasks that stay with no previous member. A group assigns all its tasks whenever a
        member joins, so this loop decides what a join costs.
        """
        left = []
        active_quota, quota = self._active_quota, self._quota
        for task in tasks:
            candidates = previous.get(task)
            if candidates is None:
                left.append(task)
                continue
            share = active_quota.share
            member = candidates[0]
            # A task seldom has two previous owners.
            if len(candidates) > 1:
                member = min((each for each in candidates if each.count < share), key=_load_of, default=member)
            if member.count >= share:
                left.append(task)
                continue
            member.active.append(task)
            member.process.count += 1
            member.count = count = member.count + 1
            if count == share:
                active_quota.took(count)
            if count == quota.share:
                quota.took(count)
        return left

    # -- standby tasks -----------------------------------------------------------------------------

    def place_standbys(self) -> None:
        tasks = ((group.subtopology_id, number) for group in self._groups if group.stateful for number in range(group.task_count))
        left: list[tuple[TaskId, int]] = []
        for task in sorted(tasks, key=by_partition, reverse=True):
            kept = 0
            while kept < self._standbys and self._keep_standby(task):
                kept += 1
            if kept < self._standbys:
                left.append((task, self._standbys - kept))
        queue = self._queue()
        for task, copies in sorted(left, reverse=True):
            self._spread(task, copies, queue)

    def _keep_standby(self, task: TaskId) -> bool:
        for previous in (self._previous_active, self._previous_standby):
            share = self._quota.share
            free = [each for each in previous.get(task, ()) if each.count < share and task not in each.process.tasks]
            if free:
                self._place_standby(min(free, key=_load_of), task)
                return True
        return False

    def _spread(self, task: TaskId, copies: int, queue: list[_Queued]) -> None:
        """To the processes with the lowest loads that do not have the task."""
        visited = []
        while copies and queue:
            process = heapq.heappop(queue)[2]
            if task not in process.tasks:
                self._place_standby(process.lightest_member(), task)
                copies -= 1
            visited.append(process)
        for process in visited:
            heapq.heappush(queue, (process.load, process.process_id, process))

    def _place_standby(self, member: MemberLoad, task: TaskId) -> None:
        member.take_standby(task)
        self._quota.took(member.count)

    def _queue(self) -> list[_Queued]:
        queue = [(process.load, process.process_id, process) for process in self._processes.values()]
        heapq.heapify(queue)
        return queue


def _load_of(member: MemberLoad) -> tuple[float, int]:
    return member.process.load, member.count
