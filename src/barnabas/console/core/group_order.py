"""The order of a list of groups by their lag, members or partitions. Pure.

Coordinators list groups without these numbers, so a list of very many groups has them for some
groups before it has them for all: groups without a number come last, whatever the direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from barnabas.console.core.group_lag import GroupOffset
from barnabas.console.core.topic import Bounds, TopicPartition
from barnabas.console.core.topic_use import lag_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GroupMeasure:
    members: int | None
    partitions: int
    """Partitions with an offset."""
    lag: int | None
    """None if the group has no offsets, or if one of its partitions has no known end."""


COLUMNS: Final[Mapping[str, Callable[[GroupMeasure], int | None]]] = {
    "members": lambda each: each.members,
    "partitions": lambda each: each.partitions,
    "lag": lambda each: each.lag,
}


def measure(members: int | None, offsets: Mapping[TopicPartition, GroupOffset], ends: Mapping[TopicPartition, Bounds]) -> GroupMeasure:
    lags = [each.lag if each.lag is not None else lag_of(each.offset, ends.get(place)) for place, each in offsets.items()]
    known = [each for each in lags if each is not None]
    return GroupMeasure(members, len(offsets), sum(known) if known and len(known) == len(lags) else None)


def ordered_by_number(items: Iterable[T], name: Callable[[T], str], number: Callable[[T], int | None], *, descending: bool) -> list[T]:
    """Equal numbers are in the order of names, in both directions."""

    def place(each: T) -> tuple[bool, int, str]:
        found = number(each)
        return found is None, 0 if found is None else -found if descending else found, name(each)

    return sorted(items, key=place)
