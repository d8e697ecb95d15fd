"""Which groups read a topic, and how far behind they are. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.console.core.topic import Bounds, TopicPartition


@dataclass(frozen=True, slots=True)
class GroupUse:
    group: str
    kind: str
    state: str
    partitions: int
    """Partitions with a committed offset."""
    lag: int | None
    """Records between the committed offsets and the ends; None if an end is unknown."""


def lag_of(committed: int, bounds: Bounds | None) -> int | None:
    """A group that is behind the first record has all records before it; one that is ahead, because
    the topic was created again, has none."""
    if bounds is None:
        return None
    return max(0, bounds.end - max(committed, bounds.start))


def group_uses(
    kinds: Mapping[str, tuple[str, str]], offsets: Mapping[str, Mapping[TopicPartition, int]], bounds: Mapping[TopicPartition, Bounds]
) -> list[GroupUse]:
    """``kinds`` has the kind and the state of each group. The farthest behind comes first."""
    uses = []
    for group, committed in offsets.items():
        lags = [lag_of(offset, bounds.get(place)) for place, offset in committed.items()]
        known = [each for each in lags if each is not None]
        kind, state = kinds[group]
        uses.append(GroupUse(group, kind, state, len(committed), sum(known) if len(known) == len(lags) else None))
    return sorted(uses, key=lambda each: (-(each.lag or 0), each.group))
