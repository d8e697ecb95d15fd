"""Placement of replicas: even, spread over racks, and only on usable brokers."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, strategies as st

from barnabas.controller.core.placement import Candidate, PlacementFailed, place
from tests.unit.controller.core.deciding import Dice
from tests.unit.records.made import repeatable


def brokers(count: int, *, racks: int = 0, fenced: frozenset[int] = frozenset()) -> list[Candidate]:
    return [Candidate(number, f"r{number % racks}" if racks else None, number not in fenced) for number in range(count)]


def spread(placed: list[list[int]]) -> tuple[set[int], set[int]]:
    """How many replicas brokers have, and how many preferred leaders."""
    replicas = Counter(replica for each in placed for replica in each)
    leaders = Counter(each[0] for each in placed)
    return set(replicas.values()), set(leaders.values())


def test_six_brokers_ten_partitions_three_replicas_are_five_each() -> None:
    for seed in range(20):
        placed = place(brokers(6), partitions=10, replication_factor=3, below=Dice(seed).below)
        assert spread(placed)[0] == {5}
        assert max(spread(placed)[1]) - min(spread(placed)[1]) <= 1


def test_six_brokers_in_three_racks_have_five_each_and_every_partition_is_in_every_rack() -> None:
    for seed in range(20):
        placed = place(brokers(6, racks=3), partitions=10, replication_factor=3, below=Dice(seed).below)
        assert spread(placed)[0] == {5}
        assert all({replica % 3 for replica in each} == {0, 1, 2} for each in placed)


@repeatable
@given(st.integers(1, 9), st.integers(1, 40), st.integers(1, 9), st.integers(0, 1000))
def test_leaders_and_replicas_are_even_and_no_broker_has_a_partition_twice(count: int, partitions: int, factor: int, seed: int) -> None:
    if factor > count:
        return
    placed = place(brokers(count), partitions=partitions, replication_factor=factor, below=Dice(seed).below)
    assert len(placed) == partitions
    for each in placed:
        assert len(each) == len(set(each)) == factor
    for counted in (Counter(each[0] for each in placed), Counter(replica for each in placed for replica in each)):
        assert max(counted.values()) - min(counted[number] for number in range(count)) <= 1


@repeatable
@given(st.integers(2, 4), st.integers(1, 3), st.integers(1, 20), st.integers(0, 1000))
def test_no_rack_has_a_partition_twice_before_every_rack_has_it(racks: int, per_rack: int, partitions: int, seed: int) -> None:
    everybody = brokers(racks * per_rack, racks=racks)
    for factor in range(1, racks * per_rack + 1):
        for each in place(everybody, partitions=partitions, replication_factor=factor, below=Dice(seed).below):
            assert len({replica % racks for replica in each}) == min(factor, racks)


def test_fenced_brokers_come_last_and_never_lead() -> None:
    placed = place(brokers(4, fenced=frozenset({1, 3})), partitions=8, replication_factor=3, below=Dice().below)
    for each in placed:
        assert set(each[:2]) == {0, 2}
        assert each[2] in (1, 3)


def test_an_impossible_placement_is_refused_with_a_sentence() -> None:
    with pytest.raises(PlacementFailed, match=r"replication factor of 4 cannot be reached because only 3 broker\(s\) are registered"):
        place(brokers(3), partitions=1, replication_factor=4, below=Dice().below)
    with pytest.raises(PlacementFailed, match="All brokers are currently fenced"):
        place(brokers(2, fenced=frozenset({0, 1})), partitions=1, replication_factor=1, below=Dice().below)


def test_small_topics_do_not_all_begin_at_the_same_broker() -> None:
    dice = Dice(5)
    first = {place(brokers(6), partitions=1, replication_factor=1, below=dice.below)[0][0] for _ in range(60)}
    assert first == set(range(6))


def test_the_load_of_a_lost_broker_spreads_over_several_others() -> None:
    """The followers of a leader change from round to round."""
    placed = place(brokers(5), partitions=20, replication_factor=2, below=Dice().below)
    followers = {each[1] for each in placed if each[0] == 0}
    assert len(followers) > 2
