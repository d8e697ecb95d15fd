"""The sticky assignor: balanced, sticky, and never two copies of a task in one process."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from barnabas.coordinators.group.streams.sticky_assignor import TaskMember, assign_sticky
from barnabas.coordinators.group.streams.tasks import TaskGroup, Tasks


def members(*processes: int, before: dict[str, Tasks] | None = None) -> list[TaskMember]:
    """``members(2, 1)`` are two threads of process 0 and one of process 1."""
    named = [(f"{process}-{thread}", str(process)) for process, threads in enumerate(processes) for thread in range(threads)]
    return [TaskMember(name, process, (before or {}).get(name, Tasks())) for name, process in named]


def loads(assigned: dict[str, Tasks]) -> list[int]:
    return sorted(len(tasks.active) for tasks in assigned.values())


def test_tasks_are_spread_evenly_over_threads() -> None:
    assert loads(assign_sticky(members(1, 1, 1), [TaskGroup("0", 7, False)], standbys=0)) == [2, 2, 3]
    assert loads(assign_sticky(members(2, 1), [TaskGroup("0", 6, False)], standbys=0)) == [2, 2, 2]


def test_without_members_there_are_no_assignments() -> None:
    assert assign_sticky([], [TaskGroup("0", 7, False)], standbys=0) == {}


def test_more_threads_than_tasks_leaves_some_idle() -> None:
    assert loads(assign_sticky(members(5), [TaskGroup("0", 3, False)], standbys=0)) == [0, 0, 1, 1, 1]


def test_nothing_moves_without_a_reason() -> None:
    groups = [TaskGroup("0", 5, True), TaskGroup("1", 3, False)]
    first = assign_sticky(members(2, 1, 1), groups, standbys=1)
    assert assign_sticky(members(2, 1, 1, before=first), groups, standbys=1) == first


def test_a_new_process_gets_its_share_and_the_others_keep_theirs() -> None:
    groups = [TaskGroup("0", 9, False)]
    first = assign_sticky(members(1, 1), groups, standbys=0)
    second = assign_sticky(members(1, 1, 1, before=first), groups, standbys=0)
    assert loads(second) == [3, 3, 3]
    assert all(second[name].active <= first[name].active for name in first)


def test_the_standby_of_a_lost_member_becomes_active() -> None:
    task = ("0", 0)
    before = {"1-0": Tasks(standby=frozenset({task})), "0-0": Tasks()}
    assert assign_sticky(members(1, 1, before=before), [TaskGroup("0", 1, True)], standbys=1) == {
        "0-0": Tasks(standby=frozenset({task})),
        "1-0": Tasks(active=frozenset({task})),
    }


def test_stateless_subtopologies_have_no_standbys() -> None:
    assigned = assign_sticky(members(1, 1), [TaskGroup("0", 2, True), TaskGroup("1", 2, False)], standbys=1)
    assert {task[0] for tasks in assigned.values() for task in tasks.standby} == {"0"}


def test_one_process_has_no_standbys() -> None:
    assigned = assign_sticky(members(3), [TaskGroup("0", 6, True)], standbys=2)
    assert all(not tasks.standby for tasks in assigned.values())


@pytest.mark.parametrize("seed", range(60))
def test_invariants_hold_through_random_changes(seed: int) -> None:
    chance = random.Random(seed)
    groups = [TaskGroup(str(number), chance.randrange(1, 12), chance.random() < 0.7) for number in range(chance.randrange(1, 5))]
    before: dict[str, Tasks] = {}
    for _ in range(6):
        threads = [chance.randrange(1, 4) for _ in range(chance.randrange(1, 6))]
        standbys = chance.randrange(3)
        row = members(*threads, before=before)
        chance.shuffle(row)
        before = assign_sticky(row, groups, standbys=standbys)
        check(before, groups, threads, standbys)


def check(assigned: dict[str, Tasks], groups: list[TaskGroup], threads: list[int], standbys: int) -> None:
    every = {(group.subtopology_id, number) for group in groups for number in range(group.task_count)}
    active = Counter(task for tasks in assigned.values() for task in tasks.active)
    assert active == Counter(every)
    copies = Counter(task for tasks in assigned.values() for task in tasks.standby)
    stateful = {group.subtopology_id for group in groups if group.stateful}
    wanted = min(standbys, len(threads) - 1)
    assert copies == Counter({task: wanted for task in every if task[0] in stateful and wanted})
    for process in range(len(threads)):
        here = [tasks for name, tasks in assigned.items() if name.startswith(f"{process}-")]
        held = Counter(task for tasks in here for task in (*tasks.active, *tasks.standby))
        assert all(count == 1 for count in held.values())
