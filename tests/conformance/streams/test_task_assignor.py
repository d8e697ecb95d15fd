"""The sticky assignor beside Kafka's StickyTaskAssignor, on random histories of groups.

Both break ties in the order of their hash maps, so assignments are compared by their properties:
ours is as balanced as Kafka's, keeps as many active tasks and as many standby copies where they
are, and makes as many copies. Each step starts from the same previous assignment.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from barnabas.coordinators.group.streams.sticky_assignor import TaskMember, assign_sticky
from barnabas.coordinators.group.streams.tasks import TaskGroup, Tasks, by_subtopology
from peers.apache_kafka import why_missing
from tests.conformance.streams.oracle import ask_kafka

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

LIVES, STEPS = 150, 8
# The share of differences that different orders of hash maps explain.
TIES = 0.005


class Step:
    def __init__(self, members: list[TaskMember], groups: list[TaskGroup], standbys: int) -> None:
        self.members = members
        self.groups = groups
        self.standbys = standbys
        self.ours = assign_sticky(members, groups, standbys=standbys)

    def asked(self) -> dict[str, Any]:
        return {
            "kind": "assign",
            "standbys": str(self.standbys),
            "groups": [{"subtopology": each.subtopology_id, "count": each.task_count, "stateful": each.stateful} for each in self.groups],
            "members": [
                {
                    "member": each.member_id,
                    "process": each.process_id,
                    "active": by_subtopology(each.previous.active),
                    "standby": by_subtopology(each.previous.standby),
                }
                for each in self.members
            ],
        }

    def spread(self, assigned: dict[str, Tasks]) -> float:
        """The difference of loads between the processes with the highest and the lowest."""
        threads: dict[str, list[int]] = {}
        for each in self.members:
            tasks = assigned[each.member_id]
            threads.setdefault(each.process_id, []).append(len(tasks.active) + len(tasks.standby))
        loads = [sum(counts) / len(counts) for counts in threads.values()]
        return max(loads) - min(loads)

    def kept_active(self, assigned: dict[str, Tasks]) -> int:
        return sum(len(assigned[each.member_id].active & each.previous.active) for each in self.members)

    def copies(self, assigned: dict[str, Tasks]) -> int:
        return sum(len(tasks.standby) for tasks in assigned.values())


def histories() -> list[Step]:
    steps = []
    for seed in range(LIVES):
        chance = Random(seed)
        groups = [TaskGroup(str(number), chance.randrange(1, 15), chance.random() < 0.7) for number in range(chance.randrange(1, 5))]
        before: dict[str, Tasks] = {}
        running = {f"{process}{thread}": process for process in "abc" for thread in range(chance.randrange(1, 4))}
        for _ in range(STEPS):
            for name in [name for name in running if chance.random() < 0.15]:
                del running[name]
            process = chance.choice("abcdef")
            running.setdefault(f"{process}{chance.randrange(4)}", process)
            row = [TaskMember(name, process, before.get(name, Tasks())) for name, process in running.items()]
            steps.append(Step(row, groups, chance.randrange(3)))
            before = steps[-1].ours
    return steps


def as_tasks(answer: Any) -> dict[str, Tasks]:
    def flat(listed: dict[str, list[int]]) -> frozenset[tuple[str, int]]:
        return frozenset((subtopology, number) for subtopology, numbers in listed.items() for number in numbers)

    return {member: Tasks(flat(given["active"]), flat(given["standby"])) for member, given in answer.items()}


def test_our_assignments_are_as_balanced_and_as_sticky_as_kafkas() -> None:
    steps = histories()
    answers = [as_tasks(answer) for answer in ask_kafka([step.asked() for step in steps])]
    assert len(answers) == len(steps) == LIVES * STEPS
    for step, kafka in zip(steps, answers, strict=True):
        assert step.copies(step.ours) == step.copies(kafka), step.asked()
    kept = [(step.kept_active(step.ours), step.kept_active(kafka)) for step, kafka in zip(steps, answers, strict=True)]
    assert sum(ours for ours, _ in kept) >= sum(theirs for _, theirs in kept) * (1 - TIES)
    spreads = [(step.spread(step.ours), step.spread(kafka)) for step, kafka in zip(steps, answers, strict=True)]
    assert sum(ours for ours, _ in spreads) <= sum(theirs for _, theirs in spreads) * (1 + TIES)
