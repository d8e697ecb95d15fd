from __future__ import annotations

from collections import Counter

import pytest

from barnabas.reassignment.assignment import Assignment, PartitionName
from barnabas.reassignment.proposal import CannotAssign, drain


def _topic(*replicas: list[int]) -> Assignment:
    return {PartitionName("t", number): each for number, each in enumerate(replicas)}


def test_only_the_replicas_of_the_drained_broker_move() -> None:
    before = _topic([1, 2], [2, 3], [3, 1], [3, 2])
    after = drain(before, 3, dict.fromkeys((1, 2, 4)))
    assert list(after) == [PartitionName("t", number) for number in (1, 2, 3)]
    for name, replicas in after.items():
        stays = [each == 3 or each == new for each, new in zip(before[name], replicas, strict=True)]
        assert all(stays)
        assert 3 not in replicas


def test_the_replicas_go_to_the_brokers_with_the_fewest() -> None:
    before = _topic(*([9, 1] for _ in range(6)), *([2, 1] for _ in range(3)))
    after = drain(before, 9, dict.fromkeys((1, 2, 3)))
    load = Counter(each for replicas in {**before, **after}.values() for each in replicas)
    assert sorted((load[2], load[3])) == [4, 5]


def test_a_replica_goes_to_a_rack_that_the_partition_lacks() -> None:
    after = drain(_topic([9, 1]), 9, {1: "a", 2: "a", 3: "b"})
    assert after == _topic([3, 1])


def test_a_broker_that_no_other_can_replace_is_not_drained() -> None:
    with pytest.raises(CannotAssign, match="t-0 has a replica on every other broker"):
        drain(_topic([1, 2, 9]), 9, dict.fromkeys((1, 2)))
