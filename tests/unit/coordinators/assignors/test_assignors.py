"""The guarantees of all assignors, and those of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from barnabas.coordinators.group.assignors import ASSIGNORS
from barnabas.coordinators.group.assignors.assignor import Assignments, Assignor, IdPartition, Subscriber
from barnabas.coordinators.group.assignors.range_assignor import assign_range
from barnabas.coordinators.group.assignors.uniform_assignor import assign_uniform, reassign_alike
from barnabas.model.ids import Uuid

TOPICS = [Uuid(bytes([number]) * 16) for number in range(5)]
A, B, C = TOPICS[:3]

counts_of_topics = st.fixed_dictionaries({topic: st.integers(0, 7) for topic in TOPICS})
some_topics = st.frozensets(st.sampled_from(TOPICS))
some_partitions = st.frozensets(st.tuples(st.sampled_from(TOPICS), st.integers(0, 9)), max_size=20)


@st.composite
def crews(draw: st.DrawFn, *, alike: bool = False) -> list[Subscriber]:
    names = draw(st.lists(st.sampled_from("abcdefgh"), min_size=1, unique=True))
    shared = draw(some_topics)
    return [
        Subscriber(
            member_id=name,
            instance_id=draw(st.none() | st.just(f"i-{name}")),
            topic_ids=shared if alike else draw(some_topics),
            held=draw(some_partitions),
        )
        for name in names
    ]


def everybody(names: str, *topics: Uuid, instance_id: str | None = None) -> list[Subscriber]:
    return [Subscriber(name, instance_id, frozenset(topics)) for name in names]


def after(crew: list[Subscriber], assigned: Assignments) -> list[Subscriber]:
    return [replace(each, held=assigned[each.member_id]) for each in crew if each.member_id in assigned]


def partitions(topic: Uuid, *numbers: int) -> frozenset[IdPartition]:
    return frozenset((topic, number) for number in numbers)


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)
@given(crew=crews(), counts=counts_of_topics)
def test_every_subscribed_partition_has_one_subscribed_owner(assign: Assignor, crew: list[Subscriber], counts: dict[Uuid, int]) -> None:
    assigned = assign(crew, counts)
    read = frozenset[Uuid]().union(*(each.topic_ids for each in crew))
    owners = Counter(slot for share in assigned.values() for slot in share)
    assert owners == Counter((topic, number) for topic in read for number in range(counts[topic]))
    assert assigned.keys() == {each.member_id for each in crew}
    for each in crew:
        assert {topic for topic, _ in assigned[each.member_id]} <= each.topic_ids


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)
@given(crew=crews(), counts=counts_of_topics)
def test_a_stable_group_is_assigned_the_same_again(assign: Assignor, crew: list[Subscriber], counts: dict[Uuid, int]) -> None:
    assigned = assign(crew, counts)
    assert assign(after(crew, assigned), counts) == assigned
    assert assign(list(reversed(crew)), counts) == assigned


@pytest.mark.parametrize("assign", ASSIGNORS.values(), ids=ASSIGNORS)
def test_empty_groups_and_missing_topics_are_assigned_nothing(assign: Assignor) -> None:
    assert assign([], {A: 3}) == {}
    assert assign(everybody("xy"), {A: 3}) == {"x": frozenset(), "y": frozenset()}
    assert assign(everybody("xy", A), {}) == {"x": frozenset(), "y": frozenset()}


@given(crew=crews(alike=True), counts=counts_of_topics)
def test_uniform_differs_by_one_at_most_where_all_read_alike(crew: list[Subscriber], counts: dict[Uuid, int]) -> None:
    loads = [len(share) for share in assign_uniform(crew, counts).values()]
    assert max(loads) - min(loads) <= 1


@given(crew=crews(), counts=counts_of_topics)
def test_uniform_leaves_no_move_that_would_even_out_two_loads(crew: list[Subscriber], counts: dict[Uuid, int]) -> None:
    assigned = assign_uniform(crew, counts)
    for light in crew:
        for heavy, share in assigned.items():
            if any(topic in light.topic_ids for topic, _ in share):
                assert len(share) - len(assigned[light.member_id]) <= 1, (light.member_id, heavy)


@given(crew=crews(alike=True), counts=counts_of_topics, comes=st.booleans())
def test_uniform_moves_no_more_than_it_must(crew: list[Subscriber], counts: dict[Uuid, int], comes: bool) -> None:
    before = assign_uniform(crew, counts)
    settled = after(crew, before)
    changed = [*settled, Subscriber("z", None, crew[0].topic_ids)] if comes else settled[1:]
    moved_to = assign_uniform(changed, counts)
    if comes:
        # The earlier members only give partitions away.
        assert all(moved_to[name] <= share for name, share in before.items())
    else:
        assert all(before[each.member_id] <= moved_to[each.member_id] for each in changed)


def test_range_cuts_topics_of_one_size_alike() -> None:
    assert assign_range(everybody("xyz", A, B), {A: 7, B: 7}) == {
        "x": partitions(A, 0, 1, 2) | partitions(B, 0, 1, 2),
        "y": partitions(A, 3, 4) | partitions(B, 3, 4),
        "z": partitions(A, 5, 6) | partitions(B, 5, 6),
    }


def test_range_keeps_the_place_of_a_static_member_that_returns_under_another_id() -> None:
    def row(first_id: str) -> list[Subscriber]:
        return [Subscriber(first_id, "one", frozenset({A})), Subscriber("m", "two", frozenset({A}))]

    assert assign_range(row("z"), {A: 2})["z"] == partitions(A, 0)
    assert assign_range(row("a"), {A: 2})["a"] == partitions(A, 0)


def test_uniform_gives_topics_with_few_readers_out_first() -> None:
    crew = [Subscriber("x", None, frozenset({A, B})), Subscriber("y", None, frozenset({A}))]
    assert assign_uniform(crew, {A: 2, B: 2}) == {"x": partitions(B, 0, 1), "y": partitions(A, 0, 1)}


@given(crew=crews(alike=True), counts=counts_of_topics)
def test_changes_of_equal_subscriptions_are_those_of_the_uniform_assignor(crew: list[Subscriber], counts: dict[Uuid, int]) -> None:
    names = [each.member_id for each in crew]
    read = crew[0].topic_ids
    held: Assignments = {}
    for count in range(1, len(names) + 1):
        held = _changed_alike(names[:count], held, read, counts)
    for count in range(1, len(names)):
        held = _changed_alike(names[count:], {name: held[name] for name in names[count:]}, read, counts)


def _changed_alike(names: list[str], held: Assignments, read: frozenset[Uuid], counts: dict[Uuid, int]) -> Assignments:
    changed = reassign_alike(names, held, read, counts)
    assert changed is not None
    assigned = assign_uniform([Subscriber(name, None, read, held.get(name, frozenset())) for name in names], counts)
    assert list(changed.items()) == [(name, share) for name, share in assigned.items() if held.get(name) != share]
    return assigned


@given(crew=crews(alike=True), counts=counts_of_topics)
def test_changes_need_partitions_that_exist_and_have_one_holder(crew: list[Subscriber], counts: dict[Uuid, int]) -> None:
    held, read = {each.member_id: each.held for each in crew}, crew[0].topic_ids
    slots = [slot for share in held.values() for slot in share]
    valid = len(set(slots)) == len(slots) and all(topic in read and number < counts[topic] for topic, number in slots)
    changed = reassign_alike(list(held), held, read, counts)
    if valid:
        assert changed is not None
        assert held | changed == assign_uniform(crew, counts)
    else:
        assert changed is None


@given(topics=st.lists(st.binary(min_size=16, max_size=16), min_size=2, max_size=8, unique=True))
def test_equal_subscriptions_may_list_their_topics_in_another_order(topics: list[bytes]) -> None:
    """Equal sets give their elements in different orders when hashes collide."""
    ids = [Uuid(topic) for topic in topics]
    for order in (ids, ids[::-1]):
        counts = {topic: number for number, topic in enumerate(frozenset(order))}
        expected = frozenset((topic, number) for topic, count in counts.items() for number in range(count))
        assert reassign_alike(["a"], {}, frozenset(order), counts) == {"a": expected}
        assert assign_uniform([Subscriber("a", None, frozenset(order))], counts) == {"a": expected}
