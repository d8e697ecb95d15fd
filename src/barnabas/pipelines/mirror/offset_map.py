"""Maps source offsets to target offsets.

Offsets differ between clusters: a transaction's marker takes one, compaction leaves gaps, and other
producers may write to the target's topic too. So the mirror records segments: ``count`` records
from source offset ``source`` on lie one after the other from ``target`` on.

A position is translated exactly inside a segment and at its end. Between known segments, it is
translated to the end of the one before: earlier than necessary, never later, so that a group that
moves over reads some records again and misses none. For the same reason segments may be forgotten,
but never the first: offsets before it were never mirrored.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from dataclasses import dataclass, field

# For each partition. A group's position is nearly always in the newest segments; older ones are
# thinned out.
SEGMENTS_MAX = 512
# For one batch of one partition: a source with transactions of single records has a gap at each.
SEGMENTS_PER_BATCH_MAX = 64


@dataclass(frozen=True, slots=True, order=True)
class Segment:
    source: int
    target: int
    count: int

    @property
    def source_end(self) -> int:
        return self.source + self.count


@dataclass(slots=True)
class BatchSegments:
    """Built record by record, in the order of both logs."""

    segments: list[Segment] = field(default_factory=list)

    def add(self, source: int, target: int) -> None:
        last = self.segments[-1] if self.segments else None
        if last is not None and source == last.source_end and target == last.target + last.count:
            self.segments[-1] = Segment(last.source, last.target, last.count + 1)
            return
        if len(self.segments) >= 2 * SEGMENTS_PER_BATCH_MAX:
            # The first stays, and the last: the next record may extend it.
            del self.segments[1:-1:2]
        self.segments.append(Segment(source, target, 1))


class OffsetMap:
    """The segments of one partition."""

    def __init__(self) -> None:
        self._segments: list[Segment] = []

    def __len__(self) -> int:
        return len(self._segments)

    def add(self, segment: Segment) -> None:
        insort(self._segments, segment)

    def remove(self, source: int) -> None:
        self._segments = [each for each in self._segments if each.source != source]

    def translate(self, offset: int) -> int | None:
        """``offset`` is the next record to be read. None: nothing was mirrored yet."""
        if not self._segments:
            return None
        index = bisect_right(self._segments, offset, key=lambda each: each.source) - 1
        if index < 0:
            return self._segments[0].target
        found = self._segments[index]
        return found.target + min(offset - found.source, found.count)

    def thin(self) -> list[Segment]:
        """Forgets every second segment of the older half when there are too many; returns the
        forgotten ones."""
        if len(self._segments) <= SEGMENTS_MAX:
            return []
        forgotten = self._segments[1 : SEGMENTS_MAX // 2 : 2]
        del self._segments[1 : SEGMENTS_MAX // 2 : 2]
        return forgotten
