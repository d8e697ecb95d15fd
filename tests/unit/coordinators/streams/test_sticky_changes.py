"""The changes of a target without standby tasks are those of the sticky assignor."""

from __future__ import annotations

from random import Random

import pytest

from barnabas.coordinators.group.streams.sticky_assignor import TaskMember, assign_sticky
from barnabas.coordinators.group.streams.sticky_changes import changed_tasks
from barnabas.coordinators.group.streams.tasks import NO_TARGET, TaskGroup, Tasks


def differences(processes: dict[str, str], previous: dict[str, Tasks], groups: tuple[TaskGroup, ...]) -> list[tuple[str, Tasks]]:
    row = [TaskMember(member_id, process_id, previous.get(member_id, NO_TARGET)) for member_id, process_id in processes.items()]
    assigned = assign_sticky(row, groups, standbys=0)
    return [(member_id, target) for member_id, target in assigned.items() if previous.get(member_id) != target]


@pytest.mark.parametrize("seed", range(100))
def test_changes_are_the_differences_of_the_assignor_in_its_order(seed: int) -> None:
    random = Random(seed)
    groups = tuple(TaskGroup(str(number), random.randrange(15), False) for number in range(random.randint(1, 3)))
    processes: dict[str, str] = {}
    previous: dict[str, Tasks] = {}
    for _ in range(20):
        if random.random() < 0.6 or not processes:
            joined = f"member-{random.randrange(10**9)}"
            processes[joined] = f"process-{random.randrange(10**9)}"
        elif len(processes) > 1:
            left = random.choice(list(processes))
            del processes[left]
            previous.pop(left, None)
        if random.random() < 0.1:
            groups = tuple(group._replace(task_count=group.task_count + random.randrange(4)) for group in groups)
        changed = changed_tasks(processes, previous, groups)
        assert changed is not None
        assert list(changed.items()) == differences(processes, previous, groups)
        previous |= changed


def test_a_member_with_too_many_tasks_keeps_those_of_the_lowest_partitions() -> None:
    groups = (TaskGroup("0", 4, False), TaskGroup("1", 2, False))
    previous = {"a": Tasks(frozenset({("0", 0), ("0", 1), ("0", 2), ("0", 3), ("1", 0), ("1", 1)}))}
    assert changed_tasks({"a": "1", "b": "2"}, previous, groups) == {
        "a": Tasks(frozenset({("0", 0), ("1", 0), ("0", 1)})),
        "b": Tasks(frozenset({("1", 1), ("0", 2), ("0", 3)})),
    }


@pytest.mark.parametrize(
    ("processes", "previous"),
    [
        pytest.param({"a": "1", "b": "1"}, {}, id="two members of one process"),
        pytest.param({"a": "1"}, {"a": Tasks(standby=frozenset({("0", 0)}))}, id="a standby task"),
        pytest.param({"a": "1", "b": "2"}, dict.fromkeys("ab", Tasks(frozenset({("0", 0)}))), id="a task of two members"),
        pytest.param({"a": "1"}, {"a": Tasks(frozenset({("0", 1)}))}, id="a task that no longer exists"),
    ],
)
def test_other_targets_need_the_assignor(processes: dict[str, str], previous: dict[str, Tasks]) -> None:
    assert changed_tasks(processes, previous, (TaskGroup("0", 1, True),)) is None
