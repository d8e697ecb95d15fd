"""Batches that wait for their verdict, in the order in which they must reach the log.

A *lane* has the batches of one producer for one partition. Verdicts may come in any order, but they
are given in the order of arrival: the batches of an idempotent producer have consecutive sequence
numbers, and those of other producers must not overtake each other either. A lane belongs to a
producer id, so that a retry on another connection stands behind the first attempt; batches without
one belong to their connection. Producers do not wait for each other.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable
from dataclasses import field
from typing import TypeAlias

from barnabas.model.dataclass import dataclass
from barnabas.model.promise import Promise
from barnabas.records.validation import Refused

Verdict: TypeAlias = Refused | None

Lane: TypeAlias = tuple[Hashable, Hashable]  # the partition, and the producer


@dataclass(slots=True, eq=False)
class WaitingBatch:
    lane: Lane
    size_bytes: int
    given: Promise[Verdict] = field(default_factory=Promise)
    decided: bool = False
    verdict: Verdict = None


class Lanes:
    def __init__(self) -> None:
        self._lanes: dict[Lane, deque[WaitingBatch]] = {}
        self._by_partition: Counter[Hashable] = Counter()
        self.batches = 0
        self.size_bytes = 0

    def busy(self, lane: Lane) -> bool:
        """Whether a batch of this lane must wait, because an earlier one does."""
        return lane in self._lanes

    def busy_partition(self, partition: Hashable) -> bool:
        return partition in self._by_partition

    def enter(self, lane: Lane, size_bytes: int) -> WaitingBatch:
        waiting = WaitingBatch(lane, size_bytes)
        self._lanes.setdefault(lane, deque()).append(waiting)
        self._by_partition[lane[0]] += 1
        self.batches += 1
        self.size_bytes += size_bytes
        return waiting

    def decide(self, waiting: WaitingBatch, verdict: Verdict) -> None:
        """Only the first verdict about a batch counts."""
        if waiting.decided:
            return
        waiting.decided, waiting.verdict = True, verdict
        lane = self._lanes[waiting.lane]
        try:
            while lane and lane[0].decided:
                first = lane.popleft()
                self._left(first)
                # The caller appends the batch within this call. The lane is busy until all of them
                # are appended, so that a batch which arrives meanwhile stands behind them.
                first.given.resolve(first.verdict)
        finally:
            if not lane and self._lanes.get(waiting.lane) is lane:
                del self._lanes[waiting.lane]

    def _left(self, waiting: WaitingBatch) -> None:
        partition = waiting.lane[0]
        self._by_partition[partition] -= 1
        if not self._by_partition[partition]:
            del self._by_partition[partition]
        self.batches -= 1
        self.size_bytes -= waiting.size_bytes

    def of_partition(self, partition: Hashable) -> list[WaitingBatch]:
        """In the order of each lane."""
        if partition not in self._by_partition:
            return []
        return [waiting for lane, batches in self._lanes.items() if lane[0] is partition for waiting in batches]

    def all(self) -> list[WaitingBatch]:
        return [waiting for batches in self._lanes.values() for waiting in batches]
