"""The remote segments of one partition, built from ``__remote_log_metadata``, and the segment that
serves an offset of an epoch.

A catalogue applies events in the order of the topic, so it is the same on every node. An offset
alone does not identify a record: after an unclean election two leaders may have written different
records there. (Leader epoch, offset) does, so segments are filed per epoch, by the offset at which
the epoch begins in the segment.

Events come from other brokers; they may be repeated, late, or written by a broker that did not know
that it had lost leadership. :meth:`RemoteCatalogue.apply` ignores events that do not fit the known
state, and returns the reason. In particular a copy that finishes after its deletion began never
counts, so a leader may delete a copy that another broker is still uploading.

A segment is *referenced* by an epoch while it serves reads of it. Where copies overlap (one leader
copied 0 to 100, and the next, which did not know that, 0 to 200), the later one takes over, and the
earlier stays listed until retention deletes it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from barnabas.model.ids import uuid_text
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentId, RemoteSegmentMetadata, RemoteSegmentUpdate
from barnabas.tiered.metadata.segment_state import SegmentState, may_follow


class _EpochSegments:
    """The segments of one leader epoch."""

    __slots__ = ("highest_offset", "ids", "starts", "unreferenced")

    def __init__(self) -> None:
        # Where the epoch begins in each referenced segment, ascending, and the segments in the same
        # order.
        self.starts: list[int] = []
        self.ids: list[RemoteSegmentId] = []
        # A dict for its order, which is the same on every node.
        self.unreferenced: dict[RemoteSegmentId, None] = {}
        # The highest offset of all segments whose copy ever finished. A deletion does not lower it,
        # because the segment would be copied again.
        self.highest_offset: int | None = None

    def finish(self, segment_id: RemoteSegmentId, start: int, end: int) -> None:
        while self.starts and self.starts[-1] >= start and (self.highest_offset is None or self.highest_offset <= end):
            self.starts.pop()
            self.unreferenced[self.ids.pop()] = None
        slot = bisect_left(self.starts, start)
        if slot < len(self.starts) and self.starts[slot] == start:
            # Kafka forgets the segment that is replaced. Here it stays listed, so that it is
            # deleted one day.
            self.unreferenced[self.ids[slot]] = None
            self.ids[slot] = segment_id
        else:
            self.starts.insert(slot, start)
            self.ids.insert(slot, segment_id)
        self.unreferenced.pop(segment_id, None)
        if self.highest_offset is None or end > self.highest_offset:
            self.highest_offset = end

    def begin_deletion(self, segment_id: RemoteSegmentId) -> None:
        if segment_id in self.ids:
            slot = self.ids.index(segment_id)
            del self.starts[slot], self.ids[slot]
        self.unreferenced[segment_id] = None

    def floor(self, offset: int) -> RemoteSegmentId | None:
        slot = bisect_right(self.starts, offset) - 1
        return self.ids[slot] if slot >= 0 else None


class RemoteCatalogue:
    """Must not change while another thread reads it; readers on other threads get a
    :class:`~.chain.RemoteChain`."""

    def __init__(self) -> None:
        self._segments: dict[RemoteSegmentId, RemoteSegmentMetadata] = {}
        self._epochs: dict[int, _EpochSegments] = {}
        self.version = 0
        """Grows with every change: values derived from an older version are stale."""

    def __len__(self) -> int:
        return len(self._segments)

    def apply(self, event: RemoteSegmentMetadata | RemoteSegmentUpdate) -> str | None:
        """Apply an event, or ignore it and return the reason."""
        if isinstance(event, RemoteSegmentMetadata):
            return self._add(event)
        known = self._segments.get(event.id)
        if known is None:
            return f"segment {event.id} is unknown and cannot be in state {event.state.name}"
        if not may_follow(known.state, event.state):
            return f"segment {event.id} cannot go from {known.state.name} to {event.state.name}"
        self._move(known.updated(event), known.state)
        return None

    def _add(self, segment: RemoteSegmentMetadata) -> str | None:
        known = self._segments.get(segment.id)
        if segment.state is not SegmentState.COPY_SEGMENT_STARTED:
            return f"segment {segment.id} is new and cannot begin in state {segment.state.name}"
        if known is not None:
            return None if known.state is segment.state else f"segment {segment.id} cannot go back from {known.state.name}"
        self._segments[segment.id] = segment
        for entry in segment.leader_epochs:
            self._epoch(entry.epoch).unreferenced[segment.id] = None
        self.version += 1
        return None

    def _move(self, segment: RemoteSegmentMetadata, previous: SegmentState) -> None:
        self._segments[segment.id] = segment
        self.version += 1
        if segment.state is previous:
            return
        for entry in segment.leader_epochs:
            epoch = self._epoch(entry.epoch)
            if segment.state is SegmentState.COPY_SEGMENT_FINISHED:
                epoch.finish(segment.id, entry.start_offset, segment.epoch_end_offset(entry.epoch))
            elif segment.state is SegmentState.DELETE_SEGMENT_STARTED:
                epoch.begin_deletion(segment.id)
            else:
                epoch.unreferenced.pop(segment.id, None)
        if segment.state is SegmentState.DELETE_SEGMENT_FINISHED:
            del self._segments[segment.id]

    def _epoch(self, epoch: int) -> _EpochSegments:
        found = self._epochs.get(epoch)
        if found is None:
            found = self._epochs[epoch] = _EpochSegments()
        return found

    # -- queries ----------------------------------------------------------------------------------

    def get(self, segment_id: RemoteSegmentId) -> RemoteSegmentMetadata | None:
        return self._segments.get(segment_id)

    def segment_for(self, epoch: int, offset: int) -> RemoteSegmentMetadata | None:
        """The finished segment that holds ``offset`` of ``epoch``."""
        segments = self._epochs.get(epoch)
        found = segments.floor(offset) if segments is not None else None
        segment = self._segments[found] if found is not None else None
        return segment if segment is not None and offset <= segment.epoch_end_offset(epoch) else None

    def highest_offset(self, epoch: int) -> int | None:
        """The highest offset of ``epoch`` in any segment whose copy finished, also when that
        segment has expired since."""
        segments = self._epochs.get(epoch)
        return segments.highest_offset if segments is not None else None

    def epochs(self) -> list[int]:
        """The epochs of all segments that are still listed, ascending."""
        return sorted(epoch for epoch, segments in self._epochs.items() if segments.ids or segments.unreferenced)

    def segments(self) -> list[RemoteSegmentMetadata]:
        """All segments whose deletion has not finished, by start offset."""
        return sorted(self._segments.values(), key=_in_order)

    def segments_of(self, epoch: int) -> list[RemoteSegmentMetadata]:
        """The segments with offsets of ``epoch``, in any state, by start offset."""
        segments = self._epochs.get(epoch)
        if segments is None:
            return []
        return sorted((self._segments[each] for each in (*segments.ids, *segments.unreferenced)), key=_in_order)

    def referenced(self, epoch: int) -> Iterator[tuple[int, RemoteSegmentMetadata]]:
        """The segments that serve ``epoch``, with the offset from which each serves it,
        ascending."""
        segments = self._epochs.get(epoch)
        if segments is not None:
            for start, segment_id in zip(segments.starts, segments.ids, strict=True):
                yield start, self._segments[segment_id]

    def unreferenced(self) -> list[RemoteSegmentMetadata]:
        """The segments that serve no epoch: those being copied, being deleted, or replaced by
        another."""
        serving = {segment_id for segments in self._epochs.values() for segment_id in segments.ids}
        return [segment for segment in self.segments() if segment.id not in serving]


def _in_order(segment: RemoteSegmentMetadata) -> tuple[int, int, str]:
    return segment.start_offset, segment.end_offset, uuid_text(segment.id.uuid)
