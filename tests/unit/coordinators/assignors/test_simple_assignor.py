"""The guarantees of the assignor of share groups."""

from __future__ import annotations

from collections import Counter

from hypothesis import given

from barnabas.coordinators.group.assignors.assignor import IdPartition, Subscriber
from barnabas.coordinators.group.assignors.simple_assignor import assign_simple
from tests.unit.coordinators.assignors.test_assignors import A, B, after, crews, everybody, partitions, some_partitions

assignable = some_partitions


@given(crew=crews(), slots=assignable)
def test_every_subscribed_partition_has_a_member_and_no_other_is_assigned(crew: list[Subscriber], slots: frozenset[IdPartition]) -> None:
    assigned = assign_simple(crew, slots)
    topics_of = {each.member_id: each.topic_ids for each in crew}
    assert assigned.keys() == topics_of.keys()
    for member_id, share in assigned.items():
        assert share <= slots
        assert {topic_id for topic_id, _ in share} <= topics_of[member_id]
    read = {slot for slot in slots if any(slot[0] in topic_ids for topic_ids in topics_of.values())}
    assert frozenset().union(*assigned.values()) == read


@given(crew=crews(alike=True), slots=assignable)
def test_partitions_have_equally_many_members_and_loads_differ_by_at_most_one(
    crew: list[Subscriber], slots: frozenset[IdPartition]
) -> None:
    assigned = assign_simple(crew, slots)
    read = {slot for slot in slots if slot[0] in crew[0].topic_ids}
    members = Counter(slot for share in assigned.values() for slot in share)
    assert members == dict.fromkeys(read, -(-len(crew) // max(1, len(read))))
    loads = [len(share) for share in assigned.values()]
    assert max(loads) - min(loads) <= 1


@given(crew=crews(), slots=assignable)
def test_an_assignment_stays_while_nothing_changes(crew: list[Subscriber], slots: frozenset[IdPartition]) -> None:
    first = assign_simple(crew, slots)
    assert assign_simple(after(crew, first), slots) == first


def test_more_members_than_partitions_share_them() -> None:
    assigned = assign_simple(everybody("abcd", A), partitions(A, 0, 1))
    assert sorted(map(sorted, assigned.values())) == [[(A, 0)], [(A, 0)], [(A, 1)], [(A, 1)]]


def test_a_new_member_takes_only_what_balance_requires() -> None:
    before = assign_simple(everybody("ab", A), partitions(A, *range(6)))
    crew = [*after(everybody("ab", A), before), *everybody("c", A)]
    assigned = assign_simple(crew, partitions(A, *range(6)))
    assert [len(assigned[name] & before[name]) for name in "ab"] == [2, 2]


def test_each_topic_is_shared_by_its_own_subscribers() -> None:
    crew = [*everybody("ab", A), *everybody("c", A, B)]
    assigned = assign_simple(crew, partitions(A, 0, 1, 2) | partitions(B, 0))
    assert [len(assigned[name]) for name in "abc"] == [1, 1, 2]
    assert (B, 0) in assigned["c"]


def test_no_members_and_no_partitions_give_empty_assignments() -> None:
    assert assign_simple([], partitions(A, 0)) == {}
    assert assign_simple(everybody("a", A), frozenset()) == {"a": frozenset()}
