"""A run: consecutive offsets of a share partition that have the same state.

A run begins as the part of a fetched batch that a member acquires. It is split only where an
acknowledgement, a lock or the delivery limit treats some of its offsets differently, so a batch
that is delivered and accepted as a whole costs one object, whatever its size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.sharing.core.record_state import RecordState

if TYPE_CHECKING:
    from barnabas.sharing.core.delivery_change import DeliveryChange

NO_MEMBER = ""


class OffsetRun:
    """``change`` is the unfinished change of these offsets: they have its new state already, and no
    other request may touch them. ``member_id`` and ``lock_ends_ms`` are those of the last delivery,
    so that a change that fails finds them again. ``hidden_until_ms`` delays the next delivery.
    """

    __slots__ = (
        "batch_first",
        "batch_last",
        "change",
        "delivery_count",
        "first",
        "hidden_until_ms",
        "last",
        "lock_ends_ms",
        "member_id",
        "state",
    )

    def __init__(
        self,
        first: int,
        last: int,
        state: RecordState,
        delivery_count: int,
        *,
        batch_first: int,
        batch_last: int,
        member_id: str = NO_MEMBER,
        lock_ends_ms: int = 0,
        hidden_until_ms: int = 0,
    ) -> None:
        """``batch_first`` and ``batch_last`` span the run from which this one was split off."""
        assert first <= last, "a run has at least one offset"
        self.first = first
        self.last = last
        self.state = state
        self.delivery_count = delivery_count
        self.batch_first = batch_first
        self.batch_last = batch_last
        self.member_id = member_id
        self.lock_ends_ms = lock_ends_ms
        self.hidden_until_ms = hidden_until_ms
        self.change: DeliveryChange | None = None

    def __len__(self) -> int:
        return self.last - self.first + 1

    @property
    def is_whole(self) -> bool:
        """Whether the run was never split."""
        return self.first == self.batch_first and self.last == self.batch_last

    @property
    def done(self) -> bool:
        """Whether these offsets need no further delivery, for certain."""
        return self.state >= RecordState.ACKNOWLEDGED and self.change is None

    @property
    def locked(self) -> bool:
        """Whether a member holds these offsets and has not acknowledged them."""
        return self.state is RecordState.ACQUIRED and self.change is None

    def may_be_acquired(self, now_ms: int) -> bool:
        return self.state is RecordState.AVAILABLE and self.change is None and self.hidden_until_ms <= now_ms

    def part(self, first: int, last: int) -> OffsetRun:
        """A copy for some of the offsets."""
        assert self.first <= first <= last <= self.last
        copy = OffsetRun(
            first,
            last,
            self.state,
            self.delivery_count,
            batch_first=self.batch_first,
            batch_last=self.batch_last,
            member_id=self.member_id,
            lock_ends_ms=self.lock_ends_ms,
            hidden_until_ms=self.hidden_until_ms,
        )
        copy.change = self.change
        return copy

    def __repr__(self) -> str:
        changing = ", changing" if self.change is not None else ""
        return f"OffsetRun({self.first}-{self.last} {self.state.name} x{self.delivery_count} {self.member_id!r}{changing})"
