"""How far one log is on the disk, and what must be synced to get further.

    recovery point <= log end offset: everything below the recovery point is known to be on the disk

A flush has two halves, so that a worker thread can wait for the disk: :meth:`Flushing.begin` says
which segments to sync, and :meth:`Flushing.end` moves the recovery point. One flush of a log runs
at a time.
"""

from __future__ import annotations

from barnabas.env.disk import out_of_room
from barnabas.storage.segment import Segment
from barnabas.storage.segment_list import SegmentList


class Flushing:
    __slots__ = ("_limit", "_segments", "recovery_point", "unflushed_records")

    def __init__(self, segments: SegmentList, *, recovery_point: int, log_end_offset: int) -> None:
        self._segments = segments
        self.recovery_point = recovery_point
        # Records appended since the last flush began.
        self.unflushed_records = 0
        # The highest recovery point that the running flush may set: it has not seen what was
        # truncated or sealed since.
        self._limit = log_end_offset

    def begin(self, log_end_offset: int) -> tuple[int, list[Segment]]:
        """The offset to give to :meth:`end`, and the segments to sync before."""
        recovery_point = self.recovery_point
        segments = [each for each in self._segments.starting_with(recovery_point) if each.next_offset > recovery_point]
        try:
            for segment in segments:
                segment.write_out()
        except OSError as error:
            # The indexes find no room. The batches become durable all the same, and recovery
            # rebuilds the indexes from them, so the recovery point stays.
            if not out_of_room(error):
                raise
            return recovery_point, segments
        self._limit = log_end_offset
        self.unflushed_records = 0
        return log_end_offset, segments

    def end(self, offset: int) -> None:
        """The segments are durable up to ``offset``, as far as they were not truncated or
        sealed."""
        self.recovery_point = max(self.recovery_point, min(offset, self._limit))

    def flush(self, log_end_offset: int) -> None:
        """Wait for the disk here and now."""
        offset, segments = self.begin(log_end_offset)
        for segment in segments:
            segment.sync()
        self.end(offset)

    def sealed(self, log_end_offset: int) -> None:
        """The active segment was sealed: a running flush does not cover the entries of sealing."""
        self._limit = min(self._limit, log_end_offset - 1)

    def truncated(self, offset: int) -> None:
        self.recovery_point = min(self.recovery_point, offset)
        self._limit = min(self._limit, offset)

    def restarted(self, offset: int) -> None:
        """The log is empty and begins at ``offset``."""
        self.recovery_point = self._limit = offset
