"""Reconciliation of a member's tasks with its target: revoke before assign, and never give a
process a second copy of a task.

    state               event                               next
    STABLE              target of its epoch                 STABLE
    STABLE, UNRELEASED  target lacks tasks that it has      UNREVOKED, in its old epoch
    UNREVOKED           still has tasks to revoke           UNREVOKED
    UNREVOKED           has revoked them                    as if STABLE, to the newest target
    any but UNREVOKED   its target is free                  STABLE, in the target epoch
    any but UNREVOKED   a part of its target is not free    UNRELEASED, in the target epoch
    UNKNOWN             reports tasks, or sends no list     fenced: it must rejoin without any

An active task is free if no process runs it, and if the member's own process has no standby copy of
it. A standby task is free if the member's own process has no copy at all; other processes may.

The functions are pure and concern one member; ``holders`` answers for the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from barnabas.coordinators.group.streams.member import MemberState, Ownership
from barnabas.coordinators.group.streams.tasks import OwnedTasks, TaskId, Tasks


class TaskHolders(Protocol):
    @property
    def active_processes(self) -> Mapping[TaskId, str]: ...

    def has_copy(self, task: TaskId, process_id: str) -> bool: ...


def reconcile(
    ownership: Ownership, *, target_epoch: int, target: Tasks, reported: Tasks | None, process_id: str, holders: TaskHolders
) -> Ownership | None:
    """The next ownership of the member; None fences it.

    ``reported`` are the tasks that the member reports, None if it reports nothing.
    """
    epoch = ownership.epoch
    match ownership.state:
        case MemberState.STABLE if epoch == target_epoch:
            return ownership
        case MemberState.UNREVOKED_TASKS:
            if _still_has(ownership.revoking, reported):
                return ownership
            # If it must revoke more, it does so in the next epoch.
            epoch += 1
        case MemberState.UNKNOWN:
            if reported is None or not reported.none:
                return None
            epoch = target_epoch
    if ownership.assigned.equals(target):
        return ownership.at(target_epoch, MemberState.STABLE, ownership.assigned)
    kept, unwanted = _divided(ownership.assigned, target)
    if not unwanted.none and _still_has(unwanted, reported):
        return ownership.at(epoch, MemberState.UNREVOKED_TASKS, kept, unwanted)

    def has_any(task: TaskId) -> bool:
        return holders.active_processes.get(task) == process_id or holders.has_copy(task, process_id)

    active = {task for task in target.active - kept.active.keys() if not _runs(task, process_id, holders)}
    standby = {task for task in target.standby - kept.standby if not has_any(task)}
    warmup = {task for task in target.warmup - kept.warmup if not has_any(task)}
    given = OwnedTasks({**kept.active, **dict.fromkeys(active, target_epoch)}, kept.standby | standby, kept.warmup | warmup)
    return ownership.at(target_epoch, MemberState.STABLE if given.equals(target) else MemberState.UNRELEASED_TASKS, given)


def _divided(owned: OwnedTasks, target: Tasks) -> tuple[OwnedTasks, OwnedTasks]:
    """The tasks that the target has too, and the others."""
    kept = {task: epoch for task, epoch in owned.active.items() if task in target.active}
    lost = {task: epoch for task, epoch in owned.active.items() if task not in target.active}
    return (
        OwnedTasks(kept, owned.standby & target.standby, owned.warmup & target.warmup),
        OwnedTasks(lost, owned.standby - target.standby, owned.warmup - target.warmup),
    )


def _runs(task: TaskId, process_id: str, holders: TaskHolders) -> bool:
    return task in holders.active_processes or holders.has_copy(task, process_id)


def _still_has(revoking: OwnedTasks, reported: Tasks | None) -> bool:
    """A heartbeat without tasks does not prove revocation."""
    return reported is None or revoking.some_in(reported)
