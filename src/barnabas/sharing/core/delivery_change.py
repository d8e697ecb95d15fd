"""A change of the state of some offsets that must be written down before it counts.

The machine makes the change, its shell performs it in this order, and then finishes it:

1. the dead letters of the change are written, if it has any;
2. the state is written through the persister;
3. :meth:`~barnabas.sharing.core.share_partition.SharePartition.finish` makes the change final, or
   rolls it back to ACQUIRED.

Locks that end are *certain* changes: the machine has applied them already, because time cannot be
rolled back, and the write only makes them survive this leader. The exception is a lock whose end
archives records as dead letters: these offsets wait until the letters are written.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.coordinators.share.persister import StateBatch


class DeadLetterSpan(NamedTuple):
    """Offsets that are to be archived as dead letters, and the reason."""

    first: int
    last: int
    delivery_count: int
    reason: str


class DeliveryChange:
    """``batches`` are what the coordinator writes, ``spans`` the same offsets run by run."""

    __slots__ = ("batches", "certain", "letters", "spans")

    def __init__(self, *, certain: bool = False) -> None:
        self.certain = certain
        self.spans: list[tuple[int, int]] = []
        self.batches: list[StateBatch] = []
        self.letters: list[DeadLetterSpan] = []

    def add(self, first: int, last: int, state: int, delivery_count: int) -> None:
        batches = self.batches
        if batches:
            before = batches[-1]
            if before.last_offset + 1 == first and before.delivery_state == state and before.delivery_count == delivery_count:
                batches[-1] = StateBatch(before.first_offset, last, state, delivery_count)
                self.spans.append((first, last))
                return
        batches.append(StateBatch(first, last, state, delivery_count))
        self.spans.append((first, last))

    @property
    def empty(self) -> bool:
        return not self.spans
