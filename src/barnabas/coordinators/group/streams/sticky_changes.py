"""The changes that the sticky assignor makes to a target without standby tasks, found without
assigning every task again.

A group gets a new target whenever a member joins or leaves, and most members keep their tasks. The
assignor visits the tasks in the order of their partitions, and each stays with its member while
that has room. With T tasks and n members, *a* members have room for one task more than T // n,
where *a* is T % n: those that reach that number first. So a member loses tasks only from the end of
that order, and only if it is larger than it may be. The tasks that are left go to the processes
with the lowest loads, as in :mod:`~barnabas.coordinators.group.streams.sticky_assignor`.

This holds if each process has one member, so that its load is that of the member, and if no task
has two previous members. Otherwise the assignor must visit all tasks.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from functools import lru_cache

from barnabas.coordinators.group.streams.tasks import NO_TARGET, TaskGroup, TaskId, Tasks

# Groups that form or rebalance at the same time. A task takes about 150 bytes.
_TOPOLOGIES_REMEMBERED_MAX = 16


def changed_tasks(process_ids: Mapping[str, str], previous: Mapping[str, Tasks], groups: tuple[TaskGroup, ...]) -> dict[str, Tasks] | None:
    """The targets that differ from ``previous``, in the order of the member ids; None if the
    assignor must visit all tasks. ``process_ids`` has the process of each member.
    """
    held = {member_id: previous.get(member_id, NO_TARGET) for member_id in process_ids}
    if len(set(process_ids.values())) != len(process_ids) or any(each.standby or each.warmup for each in held.values()):
        return None
    tasks = _all_tasks(groups)
    sizes = {member_id: len(each.active) for member_id, each in held.items()}
    taken = set[TaskId]().union(*(each.active for each in held.values()))
    if len(taken) != sum(sizes.values()) or not taken <= tasks:
        return None
    left = [] if len(taken) == len(tasks) else list(tasks - taken)
    gained: dict[str, list[TaskId]] = {member_id: [] for member_id in process_ids.keys() - previous.keys()}
    kept: dict[str, tuple[TaskId, ...]] = {}
    for member_id, limit in _full_members(held, sizes, len(tasks)).items():
        if sizes[member_id] > limit:
            order = held[member_id].active_by_partition
            kept[member_id] = order[:limit]
            left += order[limit:]
            sizes[member_id] = limit
    left.sort()
    queue = _receivers(process_ids, sizes, len(tasks) // len(sizes), len(left))
    for task in left:
        count, process_id, member_id = queue[0]
        gained.setdefault(member_id, []).append(task)
        heapq.heapreplace(queue, (count + 1, process_id, member_id))
    changed = {}
    for member_id in sorted(kept.keys() | gained.keys()):
        target = Tasks(frozenset((*kept.get(member_id, held[member_id].active), *gained.get(member_id, ()))))
        if target != previous.get(member_id):
            changed[member_id] = target
    return changed


def _full_members(held: Mapping[str, Tasks], sizes: Mapping[str, int], task_count: int) -> dict[str, int]:
    """The members that have at least the even share, rounded up, and how many tasks each keeps."""
    quota, above_quota = divmod(task_count, len(sizes))
    share = quota + (above_quota > 0)
    full = [member_id for member_id, size in sizes.items() if size >= share]
    if not above_quota or len(full) <= above_quota:
        return dict.fromkeys(full, share)
    first = sorted((held[member_id].active_by_partition[share - 1][::-1], member_id) for member_id in full)
    return {member_id: share if place < above_quota else quota for place, (_, member_id) in enumerate(first)}


def _receivers(process_ids: Mapping[str, str], sizes: Mapping[str, int], quota: int, count: int) -> list[tuple[int, str, str]]:
    """A heap of the members that can get one of ``count`` tasks, the lowest loads first. Members at
    the quota get one only when all others have reached it.
    """
    below = [(size, process_ids[member_id], member_id) for member_id, size in sizes.items() if size < quota]
    if count > sum(quota - size for size, _, _ in below):
        below += [(size, process_ids[member_id], member_id) for member_id, size in sizes.items() if size == quota]
    heapq.heapify(below)
    return below


@lru_cache(maxsize=_TOPOLOGIES_REMEMBERED_MAX)
def _all_tasks(groups: tuple[TaskGroup, ...]) -> frozenset[TaskId]:
    return frozenset((group.subtopology_id, number) for group in groups for number in range(group.task_count))
