"""Plans for reassignments: the files, and the proposals."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from barnabas.cli.errors import Refused
from barnabas.cli.reassign.plan import as_json, read_plan, read_topics
from barnabas.reassignment.assignment import Assignment, PartitionName
from barnabas.reassignment.proposal import CannotAssign, propose
from barnabas.reassignment.throttles import Move, follower_throttles, leader_throttles


def _topic(*replicas: list[int]) -> Assignment:
    return {PartitionName("t", number): each for number, each in enumerate(replicas)}


def _moved(before: Assignment, after: Assignment) -> int:
    return sum(len(set(after[each]) - set(before[each])) for each in before)


def test_nothing_moves_when_the_load_is_balanced() -> None:
    before = _topic([1, 2], [2, 3], [3, 1])
    assert propose(before, {1: None, 2: None, 3: None}) == before


def test_a_new_broker_gets_its_share_and_nothing_else_moves() -> None:
    before = _topic([1, 2], [2, 3], [3, 1], [1, 3], [2, 1], [3, 2])
    after = propose(before, dict.fromkeys((1, 2, 3, 4)))
    assert _moved(before, after) == 3
    assert Counter(each for replicas in after.values() for each in replicas) == {1: 3, 2: 3, 3: 3, 4: 3}


def test_a_broker_that_is_not_in_the_list_keeps_nothing() -> None:
    before = _topic([1, 2], [2, 3], [3, 1], [1, 3])
    after = propose(before, dict.fromkeys((1, 2)))
    assert _moved(before, after) == 3
    assert all(sorted(each) == [1, 2] for each in after.values())
    assert Counter(each[0] for each in after.values()) == {1: 2, 2: 2}


def test_replicas_of_a_partition_go_to_different_racks() -> None:
    racks = {1: "a", 2: "a", 3: "b", 4: "b"}
    after = propose(_topic(*([9, 8] for _ in range(8))), racks)
    assert all({racks[each] for each in replicas} == {"a", "b"} for replicas in after.values())
    assert set(Counter(each for replicas in after.values() for each in replicas).values()) == {4}


@given(
    before=st.lists(st.lists(st.integers(1, 6), min_size=2, max_size=2, unique=True), min_size=1, max_size=30),
    brokers=st.sets(st.integers(1, 8), min_size=2),
)
def test_proposals_are_balanced_and_complete(before: list[list[int]], brokers: set[int]) -> None:
    after = propose(_topic(*before), dict.fromkeys(sorted(brokers)))
    load = Counter(dict.fromkeys(brokers, 0))
    for replicas in after.values():
        assert len(set(replicas)) == 2
        load.update(replicas)
    assert set(load) == brokers
    assert max(load.values()) - min(load.values()) <= 1


def test_more_replicas_than_brokers_are_refused() -> None:
    with pytest.raises(CannotAssign, match="t-0 has 2 replicas, more than the 1 brokers can hold"):
        propose(_topic([1, 2]), {1: None})


def test_throttles_name_partitions_and_brokers_by_topic() -> None:
    moves = {
        PartitionName("a", 10): Move(frozenset({1, 2}), frozenset({3})),
        PartitionName("a", 2): Move(frozenset({1}), frozenset()),
        PartitionName("b", 0): Move(frozenset({2}), frozenset({4, 3})),
    }
    assert leader_throttles(moves) == {"a": "2:1,10:1,10:2", "b": "0:2"}
    assert follower_throttles(moves) == {"a": "10:3", "b": "0:3,0:4"}


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    plan = _topic([1, 2], [3])
    (tmp_path / "plan").write_text(json.dumps(as_json(plan)))
    assert read_plan(tmp_path / "plan") == (plan, {})


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "is not JSON"),
        ("[]", "is not of the form"),
        ('{"version": 2, "partitions": []}', "is not of the form"),
        ('{"version": 1}', "names no partitions"),
        ('{"version": 1, "partitions": 3}', "partitions is not a list"),
        ('{"partitions": [{"topic": "t", "partition": true, "replicas": [1]}]}', "must look like"),
        ('{"partitions": [{"topic": "t", "partition": 0, "replicas": 1}]}', "must look like"),
        ('{"partitions": ["t"]}', "must look like"),
        ('{"partitions": [{"topic": "t", "partition": 0, "replicas": []}]}', "t-0 has no replicas"),
        ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1, 1]}]}', "two replicas on one broker: 1,1"),
        ('{"partitions": [{"topic": "t", "partition": 0, "replicas": [1], "log_dirs": []}]}', "1 replicas, but 0 log_dirs"),
        (
            '{"partitions": [{"topic": "t", "partition": 0, "replicas": [1]}, {"topic": "t", "partition": 0, "replicas": [2]}]}',
            "more than once",
        ),
    ],
)
def test_an_invalid_plan_is_refused_with_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    (tmp_path / "plan").write_text(text)
    with pytest.raises(Refused, match=sentence):
        read_plan(tmp_path / "plan")


def test_a_file_of_topics_to_move_is_read(tmp_path: Path) -> None:
    (tmp_path / "topics").write_text('{"version": 1, "topics": [{"topic": "a"}, {"topic": "b"}]}')
    assert read_topics(tmp_path / "topics") == ["a", "b"]
    (tmp_path / "topics").write_text('{"version": 1, "topics": ["a"]}')
    with pytest.raises(Refused, match="must look like"):
        read_topics(tmp_path / "topics")
