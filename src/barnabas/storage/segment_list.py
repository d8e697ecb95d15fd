"""The segments of one log in order of their base offsets. The last is the active one."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from barnabas.storage.segment import Segment


class SegmentList:
    __slots__ = ("_base_offsets", "_segments", "active")

    def __init__(self, segments: list[Segment]) -> None:
        assert segments, "a log has at least one segment"
        self._segments = sorted(segments, key=lambda segment: segment.base_offset)
        self._base_offsets = [segment.base_offset for segment in self._segments]
        self.active = self._segments[-1]

    def __len__(self) -> int:
        return len(self._segments)

    def __iter__(self) -> Iterator[Segment]:
        return iter(self._segments)

    @property
    def first(self) -> Segment:
        return self._segments[0]

    def holding(self, offset: int) -> Segment:
        """The segment that would hold ``offset``; the first one for any offset below it."""
        if offset >= self.active.base_offset:
            return self.active
        return self._segments[max(0, bisect_right(self._base_offsets, offset) - 1)]

    def starting_with(self, offset: int) -> list[Segment]:
        """The segment that would hold ``offset`` and all behind it."""
        if offset >= self.active.base_offset:
            return [self.active]
        return self._segments[max(0, bisect_right(self._base_offsets, offset) - 1) :]

    def add(self, segment: Segment) -> None:
        assert segment.base_offset > self.active.base_offset, f"segment {segment.base_offset} does not follow the active one"
        self._segments.append(segment)
        self._base_offsets.append(segment.base_offset)
        self.active = segment

    def remove(self, segment: Segment) -> None:
        assert len(self._segments) > 1, "the last segment cannot be removed"
        slot = self._segments.index(segment)
        del self._segments[slot], self._base_offsets[slot]
        self.active = self._segments[-1]

    def replace(self, old: Sequence[Segment], new: Segment) -> None:
        """``old`` are neighbours, and none of them is active."""
        slot = self._segments.index(old[0])
        assert self._segments[slot : slot + len(old)] == list(old), "the segments to replace are no longer in the log"
        assert old[-1] is not self.active, "the active segment is never replaced"
        self._segments[slot : slot + len(old)] = [new]
        self._base_offsets[slot : slot + len(old)] = [new.base_offset]

    def replace_all(self, segment: Segment) -> None:
        self._segments, self._base_offsets, self.active = [segment], [segment.base_offset], segment

    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)
