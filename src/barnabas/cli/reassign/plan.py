"""The files that hold assignments of replicas to brokers.

The files are those of ``kafka-reassign-partitions``, in and out::

    {"version": 1, "partitions": [
        {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["any", "any"]}
    ]}
    {"version": 1, "topics": [{"topic": "t"}]}

The first replica is the preferred leader.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.cli.errors import Refused
from barnabas.reassignment.assignment import Assignment, PartitionName

ANY_DIRECTORY = "any"
_VERSION = 1


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
