"""The tasks of one process of a Streams application, and of its members, while they are being
assigned.
"""

from __future__ import annotations

import heapq

from barnabas.coordinators.group.streams.tasks import NO_TARGET, TaskId, Tasks


class MemberLoad:
    """A member is a thread of its process."""

    __slots__ = ("active", "count", "member_id", "previous", "process", "standby")

    def __init__(self, member_id: str, process: ProcessLoad, previous: Tasks) -> None:
        self.member_id = member_id
        self.process = process
        self.previous = previous
        self.count = 0
        self.active: list[TaskId] = []
        self.standby: list[TaskId] = []

    def take_active(self, task: TaskId) -> None:
        self.active.append(task)
        self.count += 1
        self.process.count += 1

    def take_standby(self, task: TaskId) -> None:
        assert task not in self.process.tasks, "a process has at most one copy of a task"
        self.process.tasks.add(task)
        self.standby.append(task)
        self.count += 1
        self.process.count += 1

    @property
    def assigned(self) -> Tasks:
        """The previous object if the tasks are the same: most members keep theirs, and comparing
        them is then free.
        """
        previous = self.previous
        if not self.standby and not previous.standby and not previous.warmup:
            if len(self.active) == len(previous.active) and previous.active.issuperset(self.active):
                return previous
            return Tasks(frozenset(self.active)) if self.active else NO_TARGET
        return Tasks(frozenset(self.active), frozenset(self.standby))


class ProcessLoad:
    """Ties are broken by the ids of members, so that the same input has the same result."""

    __slots__ = ("_queue", "count", "members", "process_id", "tasks")

    def __init__(self, process_id: str) -> None:
        self.process_id = process_id
        self.members: list[MemberLoad] = []
        self.count = 0
        # Filled when standby tasks are assigned: until then a process cannot get a task twice.
        self.tasks: set[TaskId] = set()
        # Members by their counts, made when it is first asked for. An entry is stale if the member
        # has got more tasks since.
        self._queue: list[tuple[int, str, MemberLoad]] = []

    @property
    def load(self) -> float:
        """Tasks for each thread."""
        return self.count / len(self.members)

    def lightest_member(self) -> MemberLoad:
        if len(self.members) == 1:
            return self.members[0]
        if not self._queue:
            self._queue = [(each.count, each.member_id, each) for each in self.members]
            heapq.heapify(self._queue)
        while self._queue[0][0] != (member := self._queue[0][2]).count:
            heapq.heapreplace(self._queue, (member.count, member.member_id, member))
        return self._queue[0][2]
