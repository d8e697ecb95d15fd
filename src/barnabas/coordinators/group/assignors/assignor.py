"""The input and the output of an assignor.

An assignor is a pure function. It takes the subscription and the current partitions of every
member, and the partition counts of the topics, and returns the target assignment of every member.
It knows nothing of epochs: reconciliation moves members from their current to their target
assignment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from barnabas.model.dataclass import dataclass
from barnabas.model.ids import Uuid

# A plain tuple: groups hold thousands of them in sets, and a named tuple costs twice as much to
# create.
IdPartition: TypeAlias = tuple[Uuid, int]
PartitionCounts: TypeAlias = Mapping[Uuid, int]
Assignments: TypeAlias = dict[str, frozenset[IdPartition]]


@dataclass(frozen=True, slots=True)
class Subscriber:
    member_id: str
    instance_id: str | None
    topic_ids: frozenset[Uuid]
    held: frozenset[IdPartition] = frozenset()
    """The previous target assignment."""

    @property
    def rank(self) -> tuple[bool, str]:
        """Static members come first, ordered by their instance id, so that a restart does not
        change the order.
        """
        return (False, self.instance_id) if self.instance_id is not None else (True, self.member_id)


Assignor: TypeAlias = Callable[[Sequence[Subscriber], PartitionCounts], Assignments]
