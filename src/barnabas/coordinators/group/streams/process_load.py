"""The tasks of one process of a Streams application, while they are being assigned."""

from __future__ import annotations

import heapq

from barnabas.coordinators.group.streams.tasks import TaskId


class ProcessLoad:
    """Members are the threads of the process. Ties are broken by their ids, so that the same input
    has the same result.
    """

    __slots__ = ("_queue", "active", "counts", "process_id", "standby", "tasks")

    def __init__(self, process_id: str) -> None:
        self.process_id = process_id
        self.tasks: set[TaskId] = set()
        self.counts: dict[str, int] = {}
        self.active: dict[str, set[TaskId]] = {}
        self.standby: dict[str, set[TaskId]] = {}
        # Members by their counts. An entry is stale if the member has got more tasks since.
        self._queue: list[tuple[int, str]] = []

    def add_member(self, member_id: str) -> None:
        self.counts[member_id] = 0
        heapq.heappush(self._queue, (0, member_id))
        self.active[member_id] = set()
        self.standby[member_id] = set()

    @property
    def load(self) -> float:
        """Tasks for each thread."""
        return len(self.tasks) / len(self.counts)

    def lightest_member(self) -> str:
        while self._queue[0][0] != self.counts[self._queue[0][1]]:
            heapq.heappop(self._queue)
        return self._queue[0][1]

    def place_active(self, member_id: str, task: TaskId) -> int:
        """The number of tasks that the member has now."""
        return self._place(self.active, member_id, task)

    def place_standby(self, member_id: str, task: TaskId) -> int:
        return self._place(self.standby, member_id, task)

    def _place(self, tasks: dict[str, set[TaskId]], member_id: str, task: TaskId) -> int:
        assert task not in self.tasks, "a process has at most one copy of a task"
        self.tasks.add(task)
        tasks[member_id].add(task)
        self.counts[member_id] += 1
        heapq.heappush(self._queue, (self.counts[member_id], member_id))
        return self.counts[member_id]
