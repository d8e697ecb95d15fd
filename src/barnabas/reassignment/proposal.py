"""Proposals of assignments that move few replicas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from barnabas.reassignment.assignment import Assignment, PartitionName


class CannotAssign(Exception):
    """A sentence: why no assignment of the kind exists."""


def propose(current: Mapping[PartitionName, Sequence[int]], racks: Mapping[int, str | None]) -> Assignment:
    """The same partitions on the brokers of ``racks``, with the fewest moves.

    Replicas stay as long as brokers end up with the same number of them, give or take one, and no
    partition loses racks. Kafka's tool assigns everything from scratch instead, and moves nearly
    all of it.
    """
    load = Counter(dict.fromkeys(racks, 0))
    proposed: Assignment = {}
    for partition, replicas in sorted(current.items()):
        if len(replicas) > len(racks):
            raise CannotAssign(f"{partition} has {len(replicas)} replicas, more than the {len(racks)} brokers can hold.")
        proposed[partition] = [each for each in replicas if each in racks]
        load.update(proposed[partition])
    for partition, kept in proposed.items():
        while len(kept) < len(current[partition]):
            used = {racks[each] for each in kept} - {None}
            chosen = min((each for each in racks if each not in kept), key=lambda each: (racks[each] in used, load[each], each))
            kept.append(chosen)
            load[chosen] += 1
    _even_out(proposed, racks, load)
    _spread_leaders(proposed, current)
    return proposed


def drain(current: Mapping[PartitionName, Sequence[int]], leaving: int, racks: Mapping[int, str | None]) -> Assignment:
    """The partitions with a replica on ``leaving``, with another broker of ``racks`` in its place.

    All other replicas stay. A replica goes to a rack that the partition does not have yet, if there
    is one, and to the broker with the fewest replicas of all partitions.
    """
    load = Counter(dict.fromkeys(racks, 0))
    load.update(each for replicas in current.values() for each in replicas if each in racks)
    proposed: Assignment = {}
    for partition, replicas in sorted(current.items()):
        if leaving not in replicas:
            continue
        used = {racks[each] for each in replicas if each in racks} - {None}
        free = [each for each in racks if each not in replicas]
        if not free:
            raise CannotAssign(f"{partition} has a replica on every other broker, so broker {leaving} cannot be drained.")
        chosen = min(free, key=lambda each: (racks[each] in used, load[each], each))
        load[chosen] += 1
        proposed[partition] = [chosen if each == leaving else each for each in replicas]
    return proposed


def _even_out(proposed: Assignment, racks: Mapping[int, str | None], load: Counter[int]) -> None:
    """Each move takes a replica from a broker that has at least two more than another, so there are
    fewer moves than replicas."""
    while True:
        for most, least in ((m, n) for m in sorted(load, key=lambda each: -load[each]) for n in sorted(load, key=lambda each: load[each])):
            if load[most] - load[least] < 2:
                continue
            movable = (each for each in proposed.values() if most in each and least not in each and _keeps_racks(each, most, least, racks))
            replicas = next(movable, None)
            if replicas is not None:
                replicas[replicas.index(most)] = least
                load[most] -= 1
                load[least] += 1
                break
        else:
            return


def _keeps_racks(replicas: Sequence[int], leaving: int, coming: int, racks: Mapping[int, str | None]) -> bool:
    others = {racks[each] for each in replicas if each != leaving}
    return len(others | {racks[coming]}) >= len(others | {racks[leaving]})


def _spread_leaders(proposed: Assignment, current: Mapping[PartitionName, Sequence[int]]) -> None:
    """Balance preferred leaders. Changing the order of replicas moves no data; the current
    preferred leader is kept where possible."""
    leads: Counter[int] = Counter()
    # Partitions with the fewest replicas to choose from come first.
    for partition, replicas in sorted(proposed.items(), key=lambda each: (len(each[1]), each[0])):
        now = next((each for each in current[partition] if each in replicas), None)
        leader = min(replicas, key=lambda each: (leads[each], each != now))
        replicas.remove(leader)
        replicas.insert(0, leader)
        leads[leader] += 1
