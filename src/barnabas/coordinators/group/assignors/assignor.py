"""What an assignor is given and what it gives back.

An assignor is a pure function: who subscribes to which topics and holds what so far, and how many partitions the topics have, in; what
each member shall own, out. It knows nothing of epochs: moving from what is owned to what shall be owned is reconciliation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from barnabas.model.ids import Uuid

# A plain tuple: groups hold thousands of them in sets, where a named tuple costs twice as much to make.
IdPartition: TypeAlias = tuple[Uuid, int]
PartitionCounts: TypeAlias = Mapping[Uuid, int]
Assignments: TypeAlias = dict[str, frozenset[IdPartition]]


@dataclass(frozen=True, slots=True)
class Subscriber:
    member_id: str
    instance_id: str | None
    topic_ids: frozenset[Uuid]
    held: frozenset[IdPartition] = frozenset()
    """What the last target gave it."""

    @property
    def rank(self) -> tuple[bool, str]:
        """Static members first and by their lasting name, so that a restart does not change anybody's place in the row."""
        return (False, self.instance_id) if self.instance_id is not None else (True, self.member_id)


Assignor: TypeAlias = Callable[[Sequence[Subscriber], PartitionCounts], Assignments]
