"""What members of a share group know about each offset, and what must be true of it.

- Once a member's acceptance of an offset is confirmed, the leader does not deliver the offset
  again, and no other member's acceptance of it is confirmed.
- An offset is done only if a member decided so, if it was delivered as often as the limit allows,
  or if the log lost it.
- A delivery count goes on from the last one that was written down, and never exceeds the limit.
- With dead letters, an offset that a member rejected, or that reached the limit, has a letter
  before its state is written.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.sharing.core.delivery_change import DeliveryChange
from barnabas.sharing.core.record_state import AcknowledgeType, RecordState
from barnabas.sharing.core.settings import ShareGroupSettings


class Violation(AssertionError):
    pass


class Ledger:
    def __init__(self, settings: ShareGroupSettings) -> None:
        self._settings = settings
        self._accepted: set[int] = set()
        self._decided: set[int] = set()
        self._exhausted: set[int] = set()
        self._letters: set[int] = set()
        self._written_count: dict[int, int] = {}
        self._expired_below = 0
        self._start_offset = 0
        self.deliveries = 0

    def delivered(self, offset: int, count: int, *, current: bool) -> None:
        self.deliveries += 1
        if count > self._settings.delivery_count_limit:
            raise Violation(f"offset {offset} is delivered {count} times, the limit is {self._settings.delivery_count_limit}")
        if count == self._settings.delivery_count_limit:
            self._exhausted.add(offset)
        if not current:
            return
        if offset in self._accepted:
            raise Violation(f"offset {offset} is delivered again, although its acceptance was confirmed")
        if count <= self._written_count.get(offset, 0):
            raise Violation(f"offset {offset} has delivery count {count}, and {self._written_count[offset]} was written before")

    def accepted(self, offset: int) -> None:
        if offset in self._accepted:
            raise Violation(f"two members accepted offset {offset}")
        self._accepted.add(offset)

    def letter(self, first: int, last: int) -> None:
        self._letters.update(range(first, last + 1))

    def written(self, change: DeliveryChange, decided: dict[int, int]) -> None:
        """The coordinator has written this change, also if its answer is lost."""
        self._decided.update(decided)
        rejected = {offset for offset, kind in decided.items() if kind == AcknowledgeType.REJECT}
        for first, last, state, count in change.batches:
            for offset in range(first, last + 1):
                self._written_count[offset] = max(count, self._written_count.get(offset, 0))
                if state == RecordState.ARCHIVED and offset not in decided:
                    rejected.add(offset)
        if self._settings.dead_letters and not rejected <= self._letters:
            raise Violation(f"offsets {sorted(rejected - self._letters)} are archived without dead letters")

    def started(self, start_offset: int) -> None:
        """A new leader reads this start."""
        if start_offset < self._start_offset:
            raise Violation(f"the start fell from {self._start_offset} to {start_offset}")
        self._start_offset = start_offset

    def expired(self, log_start: int) -> None:
        self._expired_below = log_start

    def check(self, offsets: Iterable[int]) -> None:
        """At the end every offset is done, for one of the allowed reasons."""
        alive = {offset for offset in offsets if offset >= self._expired_below}
        lost = sorted(alive - self._decided - self._exhausted)
        if lost:
            raise Violation(f"offsets {lost} are done, and no member decided so")
        if self._settings.dead_letters:
            silent = sorted(alive & (self._exhausted - self._decided - self._letters))
            if silent:
                raise Violation(f"offsets {silent} reached the limit and have no dead letters")
