"""Requests that name partitions, some of which do not exist: the handler answers for those, and
passes the others on.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Protocol, TypeVar

from barnabas.metadata.topics import TopicImage


class NamesPartition(Protocol):
    partition_index: int


P = TypeVar("P", bound=NamesPartition)
A = TypeVar("A")


def existing_and_missing(topic: TopicImage | None, partitions: Sequence[P]) -> tuple[list[P], list[P]]:
    """``topic`` is None if it does not exist."""
    if topic is None:
        return [], list(partitions)
    known = topic.partitions
    existing = [each for each in partitions if each.partition_index in known]
    if len(existing) == len(partitions):
        return existing, []
    return existing, [each for each in partitions if each.partition_index not in known]


def merged(answers: Iterable[A], key: Callable[[A], Hashable], add: Callable[[A, A], object]) -> list[A]:
    """Merge the results of the same topic with ``add(first, other)``: clients keep one result for
    each topic, and the last one would win.
    """
    by_topic: dict[Hashable, A] = {}
    for answer in answers:
        first = by_topic.setdefault(key(answer), answer)
        if first is not answer:
            add(first, answer)
    return list(by_topic.values())
