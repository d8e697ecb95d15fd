"""``simple``, the assignor of share groups: members share partitions if there are more members than
partitions.

Every partition gets the same number of members, ``ceil(members / partitions)``, and the places that
this makes are divided evenly among the members. Balance comes first, and within it members keep
their partitions:

1. A member keeps the partitions that it has, up to its quota, unless earlier members already share
   the partition.
2. Partitions with too few members go round the members below their quotas.
3. If these members all have such a partition already, one of them swaps: another member takes the
   partition, and gives one of its own in return.

If all members subscribe to the same topics, the partitions of all topics are one set. Otherwise
each topic is assigned by itself, to its own subscribers.

Kafka's assignor ends after step 2, so that a place may stay empty. Step 3 always succeeds: quotas
differ by at most one, so a member at its quota that does not have the partition has another one
that the member below its quota lacks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence, Set as AbstractSet
from itertools import pairwise

from barnabas.coordinators.group.assignors.assignor import Assignments, IdPartition, Subscriber
from barnabas.model.ids import Uuid


def assign_simple(subscribers: Sequence[Subscriber], partitions: AbstractSet[IdPartition]) -> Assignments:
    """``partitions`` are those that may be assigned."""
    row = sorted(subscribers, key=lambda subscriber: subscriber.member_id)
    shares: dict[str, set[IdPartition]] = {each.member_id: set() for each in row}
    if row and all(each.topic_ids == row[0].topic_ids for each in row):
        _assign(row, sorted(slot for slot in partitions if slot[0] in row[0].topic_ids), shares)
    else:
        by_topic: dict[Uuid, list[IdPartition]] = {}
        for slot in sorted(partitions):
            by_topic.setdefault(slot[0], []).append(slot)
        for topic_id, slots in by_topic.items():
            _assign([each for each in row if topic_id in each.topic_ids], slots, shares)
    return {member_id: frozenset(share) for member_id, share in shares.items()}


def _assign(row: Sequence[Subscriber], slots: Sequence[IdPartition], shares: dict[str, set[IdPartition]]) -> None:
    """Add the assignment of these partitions to the shares of these members."""
    if not row or not slots:
        return
    sharing = -(-len(row) // len(slots))
    quotas = _even_parts(sharing * len(slots), len(row))
    members: dict[IdPartition, int] = dict.fromkeys(slots, 0)
    kept: dict[str, set[IdPartition]] = {}
    for each, quota in zip(row, quotas, strict=True):
        # The partitions with the fewest members so far stay, which leaves room for later members.
        held = sorted((members[slot], slot) for slot in each.held if members.get(slot, sharing) < sharing)
        kept[each.member_id] = {slot for _, slot in held[:quota]}
        for slot in kept[each.member_id]:
            members[slot] += 1
    below = deque((each.member_id, quota) for each, quota in zip(row, quotas, strict=True) if len(kept[each.member_id]) < quota)
    for slot in slots:
        for _ in range(len(below)):
            if members[slot] == sharing:
                break
            member_id, quota = below.popleft()
            if slot not in kept[member_id]:
                kept[member_id].add(slot)
                members[slot] += 1
            if len(kept[member_id]) < quota:
                below.append((member_id, quota))
    for slot in slots:
        while members[slot] < sharing:
            member_id, quota = below.popleft()
            _swap(slot, member_id, kept)
            members[slot] += 1
            if len(kept[member_id]) < quota:
                below.append((member_id, quota))
    for member_id, share in kept.items():
        shares[member_id] |= share


def _swap(slot: IdPartition, receiver: str, kept: dict[str, set[IdPartition]]) -> None:
    """Give ``slot`` to a member that lacks it, and one of that member's partitions to the
    receiver, which has ``slot`` already.
    """
    giver = next(member_id for member_id, share in kept.items() if slot not in share and share - kept[receiver])
    given = min(kept[giver] - kept[receiver])
    kept[giver] -= {given}
    kept[giver].add(slot)
    kept[receiver].add(given)


def _even_parts(total: int, parts: int) -> list[int]:
    """``total`` as a sum of ``parts`` numbers that differ by at most one."""
    ends = [-(-total * number // parts) for number in range(parts + 1)]
    return [end - start for start, end in pairwise(ends)]
