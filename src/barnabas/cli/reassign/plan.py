"""Assignments of replicas to brokers: the files that hold them, and a proposal that moves few
replicas.

The files are those of ``kafka-reassign-partitions``, in and out::

    {"version": 1, "partitions": [
        {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}
    ]}
    {"version": 1, "topics": [{"topic": "t"}]}

The first replica is the preferred leader.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from barnabas.cli.errors import Refused

ANY_DIRECTORY = "any"
_VERSION = 1


class PartitionName(NamedTuple):
    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.number}"


Assignment: TypeAlias = dict[PartitionName, list[int]]


class ReplicaName(NamedTuple):
    partition: PartitionName
    broker: int

    def __str__(self) -> str:
        return f"{self.partition} on broker {self.broker}"


class Plan(NamedTuple):
    assignment: Assignment
    directories: dict[ReplicaName, str]  # for replicas that belong in a certain directory


def read_plan(path: Path) -> Plan:
    document = _read(path)
    assignment: Assignment = {}
    directories: dict[ReplicaName, str] = {}
    for entry in _list(document, "partitions", path):
        try:
            partition = PartitionName(_typed(entry["topic"], str), _typed(entry["partition"], int))
            replicas = [_typed(each, int) for each in entry["replicas"]]
            chosen = [_typed(each, str) for each in entry.get("log_dirs", [ANY_DIRECTORY] * len(replicas))]
        except (KeyError, TypeError, AttributeError) as error:
            raise Refused(f'{path}: a partition must look like {{"topic": "t", "partition": 0, "replicas": [1, 2]}}.') from error
        if partition in assignment:
            raise Refused(f"{path} has {partition} more than once.")
        if not replicas:
            raise Refused(f"{path}: {partition} has no replicas.")
        if len(set(replicas)) < len(replicas):
            raise Refused(f"{path}: {partition} has two replicas on one broker: {_ids(replicas)}.")
        if len(chosen) != len(replicas):
            raise Refused(f"{path}: {partition} has {len(replicas)} replicas, but {len(chosen)} log_dirs.")
        assignment[partition] = replicas
        directories |= {
            ReplicaName(partition, broker): directory
            for broker, directory in zip(replicas, chosen, strict=True)
            if directory != ANY_DIRECTORY
        }
    if not assignment:
        raise Refused(f"{path} names no partitions.")
    return Plan(assignment, directories)


def read_topics(path: Path) -> list[str]:
    try:
        topics = [_typed(entry["topic"], str) for entry in _list(_read(path), "topics", path)]
    except (KeyError, TypeError) as error:
        raise Refused(f'{path}: a topic must look like {{"topic": "t"}}.') from error
    if not topics:
        raise Refused(f"{path} names no topics.")
    return topics


def as_json(assignment: Mapping[PartitionName, Sequence[int]]) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "partitions": [
            {"topic": each.topic, "partition": each.number, "replicas": list(replicas), "log_dirs": [ANY_DIRECTORY] * len(replicas)}
            for each, replicas in sorted(assignment.items())
        ],
    }


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
            raise Refused(f"{partition} has {len(replicas)} replicas, more than the {len(racks)} brokers can hold.")
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


class Move(NamedTuple):
    """A partition on the move. Its leader is among the sources."""

    sources: frozenset[int]
    targets: frozenset[int]


def leader_throttles(moves: Mapping[PartitionName, Move]) -> dict[str, str]:
    """By topic: ``partition:broker`` of all replicas that may have to send."""
    return _throttled((partition, broker) for partition, move in moves.items() for broker in move.sources)


def follower_throttles(moves: Mapping[PartitionName, Move]) -> dict[str, str]:
    """By topic: ``partition:broker`` of all replicas that fetch from the beginning."""
    return _throttled((partition, broker) for partition, move in moves.items() for broker in move.targets)


def _throttled(replicas: Iterable[tuple[PartitionName, int]]) -> dict[str, str]:
    by_topic: dict[str, list[str]] = {}
    for partition, broker in sorted(replicas):
        by_topic.setdefault(partition.topic, []).append(f"{partition.number}:{broker}")
    return {topic: ",".join(each) for topic, each in by_topic.items()}


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}.") from error
    except ValueError as error:
        raise Refused(f"{path} is not JSON: {error}.") from error
    if not isinstance(document, dict) or document.get("version", _VERSION) != _VERSION:
        raise Refused(f'{path} is not of the form {{"version": {_VERSION}, ...}}.')
    return document


def _list(document: Mapping[str, Any], name: str, path: Path) -> list[Any]:
    found = document.get(name, [])
    if not isinstance(found, list):
        raise Refused(f"{path}: {name} is not a list.")
    return found


def _typed(value: Any, kind: type) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(value)
    return value


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, brokers))
