"""``uniform``: balanced numbers of partitions, with as few moves as balance allows.

If all members subscribe to the same topics, loads differ by at most one and only necessary moves
happen: each member keeps its partitions up to its quota, and the members that already hold one more
get the places above the quota. If subscriptions differ, each free partition goes to the subscriber
with the lowest load, beginning with topics that have few subscribers. Then single partitions move
from a subscriber with a high load to one with a low load, while their loads differ by two or more.

A group gets a new assignment whenever a member joins, and most members keep their partitions. If
all subscribe to the same topics, :func:`reassign_alike` finds only the changes, and an unchanged
member costs almost nothing.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping, Sequence, Set as AbstractSet
from functools import lru_cache

from barnabas.coordinators.group.assignors.assignor import Assignments, IdPartition, PartitionCounts, Subscriber
from barnabas.model.ids import Uuid

# Groups that form or rebalance at the same time. A partition takes about 150 bytes.
_SUBSCRIPTIONS_REMEMBERED_MAX = 16


def assign_uniform(subscribers: Sequence[Subscriber], counts: PartitionCounts) -> Assignments:
    if not subscribers:
        return {}
    row = sorted(subscribers, key=lambda subscriber: subscriber.member_id)
    alike = all(each.topic_ids == row[0].topic_ids for each in row)
    return _assign_alike(row, counts) if alike else _assign_unlike(row, counts)


def reassign_alike(
    member_ids: Collection[str], held: Mapping[str, AbstractSet[IdPartition]], topic_ids: frozenset[Uuid], counts: PartitionCounts
) -> Assignments | None:
    """The assignments that differ from ``held``, in the order of the member ids, if all members
    subscribe to the same topics. A member that ``held`` does not have always differs.

    None if two members hold the same partition, or one that may not be assigned. No assignor gives
    them that; :func:`assign_uniform` can deal with it.
    """
    if not member_ids:
        return {}
    slots = _all_partitions(frozenset((topic_id, counts.get(topic_id, 0)) for topic_id in topic_ids))
    sizes = {member_id: len(held.get(member_id, ())) for member_id in member_ids}
    taken = set[IdPartition]().union(*(held.get(member_id, ()) for member_id in member_ids))
    if len(taken) != sum(sizes.values()) or not taken <= slots:
        return None
    free = [] if len(taken) == len(slots) else list(slots - taken)
    quota, above_quota = divmod(len(slots), len(sizes))
    larger = [member_id for member_id, size in sizes.items() if size > quota]
    if len(larger) <= above_quota:
        # All of these may hold one more than the quota, and others get the rest of these places.
        shrunk = [member_id for member_id in larger if sizes[member_id] > quota + 1]
        limits = dict.fromkeys(larger, quota + 1)
        if above_quota > len(larger):
            others = [(-size, member_id) for member_id, size in sizes.items() if size <= quota]
            limits.update((member_id, quota + 1) for _, member_id in heapq.nsmallest(above_quota - len(larger), others))
    else:
        ranked = sorted((-sizes[member_id], member_id) for member_id in larger)
        limits = {member_id: quota + 1 for _, member_id in ranked[:above_quota]}
        shrunk = [member_id for size, member_id in ranked if -size > limits.get(member_id, quota)]
    changed: Assignments = {}
    for member_id in shrunk:
        share, limit = sorted(held[member_id]), limits.get(member_id, quota)
        free += share[limit:]
        changed[member_id] = frozenset(share[:limit])
    grown = {member_id for member_id, size in sizes.items() if size < quota}
    grown.update(member_id for member_id, limit in limits.items() if sizes[member_id] < limit)
    # Taken from the end, so that the lowest numbers are assigned first.
    free.sort(reverse=True)
    for member_id in sorted(grown):
        missing = limits.get(member_id, quota) - sizes[member_id]
        changed[member_id] = frozenset((*held.get(member_id, ()), *free[-missing:]))
        del free[-missing:]
    assert not free, "the limits add up to all partitions"
    changed.update((member_id, frozenset()) for member_id in sizes.keys() - held.keys() - changed.keys())
    return {member_id: changed[member_id] for member_id in sorted(changed)}


def _assign_alike(row: Sequence[Subscriber], counts: PartitionCounts) -> Assignments:
    free = set(_all_partitions(frozenset((topic_id, counts.get(topic_id, 0)) for topic_id in row[0].topic_ids)))
    kept: dict[str, list[IdPartition]] = {}
    for each in row:
        kept[each.member_id] = sorted(each.held & free)
        free -= each.held
    quota, above_quota = divmod(sum(map(len, kept.values())) + len(free), len(row))
    limits: dict[str, int] = {}
    for member_id in sorted(kept, key=lambda member_id: -len(kept[member_id])):
        limits[member_id] = quota + (above_quota > 0)
        above_quota -= above_quota > 0
    for member_id, share in kept.items():
        free.update(share[limits[member_id] :])
        del share[limits[member_id] :]
    # Taken from the end, so that the lowest numbers are assigned first.
    left = sorted(free, reverse=True)
    for member_id, share in kept.items():
        while len(share) < limits[member_id]:
            share.append(left.pop())
    assert not left, "the limits add up to all partitions"
    return {member_id: frozenset(share) for member_id, share in kept.items()}


def _assign_unlike(row: Sequence[Subscriber], counts: PartitionCounts) -> Assignments:
    takers: dict[Uuid, list[str]] = {}
    for each in row:
        for topic_id in each.topic_ids:
            takers.setdefault(topic_id, []).append(each.member_id)
    # Topics with few subscribers come first, because they leave the least choice.
    topic_ids = sorted(takers, key=lambda topic_id: (len(takers[topic_id]), topic_id))
    free = {(topic_id, partition) for topic_id in takers for partition in range(counts.get(topic_id, 0))}
    loads: dict[str, int] = {}
    holders: dict[IdPartition, str] = {}
    for each in row:
        kept = {slot for slot in each.held & free if slot[0] in each.topic_ids}
        free -= kept
        holders.update(dict.fromkeys(kept, each.member_id))
        loads[each.member_id] = len(kept)
    for topic_id in topic_ids:
        lightest = [(loads[member_id], member_id) for member_id in takers[topic_id]]
        heapq.heapify(lightest)
        for partition in range(counts.get(topic_id, 0)):
            if (topic_id, partition) in free:
                load, member_id = lightest[0]
                holders[topic_id, partition] = member_id
                loads[member_id] = load + 1
                heapq.heapreplace(lightest, (load + 1, member_id))
    # Each move lowers the sum of the squares of all loads, so the loop ends.
    while sum(_level(topic_id, takers[topic_id], counts.get(topic_id, 0), holders, loads) for topic_id in topic_ids):
        pass
    shares: dict[str, list[IdPartition]] = {each.member_id: [] for each in row}
    for slot, member_id in holders.items():
        shares[member_id].append(slot)
    return {member_id: frozenset(share) for member_id, share in shares.items()}


def _level(topic_id: Uuid, takers: Sequence[str], count: int, holders: dict[IdPartition, str], loads: dict[str, int]) -> int:
    """Move partitions of one topic from high to low loads; return the number of moves."""
    lightest = [(loads[member_id], member_id) for member_id in takers]
    heapq.heapify(lightest)
    moved = 0
    # A member with a low load may itself hold partitions of the topic: a heap entry is stale if the
    # load has fallen since.
    for slot in sorted(((topic_id, partition) for partition in range(count)), key=lambda slot: (-loads[holders[slot]], slot)):
        while lightest[0][0] != loads[lightest[0][1]]:
            heapq.heapreplace(lightest, (loads[lightest[0][1]], lightest[0][1]))
        load, light = lightest[0]
        heavy = holders[slot]
        if loads[heavy] - load >= 2:
            holders[slot] = light
            loads[heavy] -= 1
            loads[light] += 1
            heapq.heapreplace(lightest, (load + 1, light))
            moved += 1
    return moved


@lru_cache(maxsize=_SUBSCRIPTIONS_REMEMBERED_MAX)
def _all_partitions(topics: frozenset[tuple[Uuid, int]]) -> frozenset[IdPartition]:
    """The partitions of topics that are given by their ids and partition counts."""
    return frozenset((topic_id, partition) for topic_id, count in topics for partition in range(count))
