"""Thousands of random share groups: our assignor and Kafka's decide from the same assignment.

The two break ties differently, since Kafka's order follows the hashes of Java. So the test compares
what matters: how many partitions each member has, how many members each partition has, and how many
partitions stay where they are.
"""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest

from barnabas.coordinators.group.assignors.assignor import Assignments, IdPartition, Subscriber
from barnabas.coordinators.group.assignors.simple_assignor import assign_simple
from barnabas.model.ids import Uuid
from peers.apache_kafka import java_program, why_missing
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")]

LIVES, STEPS = 300, 10
# Measured: 2949 of 3000 groups are equal. In 16 of the others Kafka leaves a place empty that ours
# fills; in the rest ties decide whether one partition more stays where it is.
EQUAL_SHARE_MIN = 0.98
KEPT_SHARE_MIN = 0.999
TOPICS = [Uuid((1).to_bytes(8, "big") + number.to_bytes(8, "big")) for number in range(1, 5)]


class Step(NamedTuple):
    crew: list[Subscriber]
    partitions: frozenset[IdPartition]
    ours: Assignments


def life(chance: Random) -> list[Step]:
    """A group whose members come and go and whose topics grow."""
    alike = chance.random() < 0.6
    counts = {topic: chance.randint(1, 8) for topic in chance.sample(TOPICS, chance.randint(1, 4))}
    topics: dict[str, frozenset[Uuid]] = {}
    assigned: Assignments = {}
    steps = []
    for number in range(STEPS):
        if topics and chance.random() < 0.35:
            del topics[chance.choice(sorted(topics))]
        for _ in range(chance.choice([0, 1, 1, 4])):
            chosen = list(counts) if alike else chance.sample(list(counts), chance.randint(1, len(counts)))
            topics[f"m{chance.randint(0, 40):02}"] = frozenset(chosen)
        if chance.random() < 0.3:
            counts[chance.choice(list(counts))] += chance.randint(1, 4)
        if not topics:
            topics[f"m{number:02}"] = frozenset(counts)
        crew = [Subscriber(name, None, read, assigned.get(name, frozenset())) for name, read in sorted(topics.items())]
        partitions = frozenset((topic, index) for topic, count in counts.items() for index in range(count))
        assigned = assign_simple(crew, partitions)
        steps.append(Step(crew, partitions, assigned))
    return steps


def by_topic(partitions: frozenset[IdPartition]) -> dict[str, list[int]]:
    grouped: dict[str, list[int]] = {}
    for topic, index in sorted(partitions):
        grouped.setdefault(str(int.from_bytes(topic[8:], "big")), []).append(index)
    return grouped


def question(step: Step) -> dict[str, Any]:
    members = {
        each.member_id: {"topics": [str(int.from_bytes(topic[8:], "big")) for topic in sorted(each.topic_ids)], "held": by_topic(each.held)}
        for each in step.crew
    }
    return {"partitions": by_topic(step.partitions), "members": members}


def read_answer(shown: dict[str, dict[str, list[int]]]) -> Assignments:
    return {
        name: frozenset((TOPICS[int(topic) - 1], index) for topic, indexes in topics.items() for index in indexes)
        for name, topics in shown.items()
    }


class Measures(NamedTuple):
    loads: list[int]
    """Of the members, sorted."""
    sharing: list[int]
    """Of the partitions, sorted."""
    kept: int


def measures(step: Step, assigned: Assignments) -> Measures:
    members = Counter(slot for share in assigned.values() for slot in share)
    read = frozenset().union(*(each.topic_ids for each in step.crew))
    return Measures(
        sorted(map(len, assigned.values())),
        sorted(members[slot] for slot in step.partitions if slot[0] in read),
        sum(len(each.held & assigned[each.member_id]) for each in step.crew),
    )


def test_balance_and_stickiness_equal_kafkas() -> None:
    steps = [step for seed in range(LIVES) for step in life(Random(seed))]
    program = Path(__file__).with_name("ShareAssignmentOracle.java")
    asked = json.dumps([question(step) for step in steps])
    answered = subprocess.run(java_program(program), input=asked, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)
    assert answered.returncode == 0, answered.stderr
    answers = [read_answer(each) for each in json.loads(answered.stdout)]
    assert len(answers) == len(steps)
    pairs = [(measures(step, step.ours), measures(step, theirs)) for step, theirs in zip(steps, answers, strict=True)]
    assert all(ours.sharing >= kafkas.sharing for ours, kafkas in pairs), "a partition has fewer members than Kafka gives it"
    assert sum(ours == kafkas for ours, kafkas in pairs) / len(pairs) > EQUAL_SHARE_MIN
    assert sum(ours.kept for ours, _ in pairs) / sum(kafkas.kept for _, kafkas in pairs) > KEPT_SHARE_MIN
