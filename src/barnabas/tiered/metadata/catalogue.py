"""What ``__remote_log_metadata`` says about one partition: every remote segment, and which one serves an offset of an epoch.

Built by applying events in the order of the topic, on whichever node, and so the same everywhere. An offset alone does not name a record:
after an unclean election two leaders may have written different ones there. (Leader epoch, offset) does, and is what segments are
filed under: per epoch, by the offset at which the epoch begins in the segment.

Events come from outside, repeated, late, or from a leader that did not know it was none any more. :meth:`RemoteCatalogue.apply` ignores
what cannot follow from what is known, and says why. In particular a copy that finishes after its deletion began never counts, so a
leader may delete what another one is still uploading.

A segment is *referenced* by an epoch while it serves reads of it. Where leaders overlap (one copied 0 to 100, the next, who did not know, 0
to 200), the later one takes over, and the earlier stays listed until retention comes by.
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
        # Where the epoch begins in each referenced segment, rising, and the segments in the same order.
        self.starts: list[int] = []
        self.ids: list[RemoteSegmentId] = []
        # A dict for its order: the same on every node.
        self.unreferenced: dict[RemoteSegmentId, None] = {}
        # Of everything whose copy ever finished: deletion does not take it back, or it would be copied again.
        self.highest_offset: int | None = None

    def finish(self, segment_id: RemoteSegmentId, start: int, end: int) -> None:
        while self.starts and self.starts[-1] >= start and (self.highest_offset is None or self.highest_offset <= end):
            self.starts.pop()
            self.unreferenced[self.ids.pop()] = None
        slot = bisect_left(self.starts, start)
        if slot < len(self.starts) and self.starts[slot] == start:
            # Kafka forgets the one that is replaced. Here it stays listed, so that somebody deletes it one day.
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
    """Not safe to change while another thread reads; what readers on other threads get is a :class:`~.chain.RemoteChain`."""

    def __init__(self) -> None:
        self._segments: dict[RemoteSegmentId, RemoteSegmentMetadata] = {}
        self._epochs: dict[int, _EpochSegments] = {}
        self.version = 0
        """Grows with every change: what was derived from an older version is stale."""

    def __len__(self) -> int:
        return len(self._segments)

    def apply(self, event: RemoteSegmentMetadata | RemoteSegmentUpdate) -> str | None:
        """Take an event in; or ignore it, and say why."""
        if isinstance(event, RemoteSegmentMetadata):
            return self._add(event)
        known = self._segments.get(event.id)
        if known is None:
            return f"nothing is known of segment {event.id}, which is said to be in state {event.state.name}"
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

    # -- questions ------------------------------------------------------------------------------------------------------------

    def get(self, segment_id: RemoteSegmentId) -> RemoteSegmentMetadata | None:
        return self._segments.get(segment_id)

    def segment_for(self, epoch: int, offset: int) -> RemoteSegmentMetadata | None:
        """The finished segment that holds ``offset`` of ``epoch``."""
        segments = self._epochs.get(epoch)
        found = segments.floor(offset) if segments is not None else None
        segment = self._segments[found] if found is not None else None
        return segment if segment is not None and offset <= segment.epoch_end_offset(epoch) else None

    def highest_offset(self, epoch: int) -> int | None:
        """The highest offset of ``epoch`` in any segment whose copy finished, also when that segment has expired since."""
        segments = self._epochs.get(epoch)
        return segments.highest_offset if segments is not None else None

    def epochs(self) -> list[int]:
        """Of all segments that are still listed, rising."""
        return sorted(epoch for epoch, segments in self._epochs.items() if segments.ids or segments.unreferenced)

    def segments(self) -> list[RemoteSegmentMetadata]:
        """All that are not wholly deleted, by start offset."""
        return sorted(self._segments.values(), key=_in_order)

    def segments_of(self, epoch: int) -> list[RemoteSegmentMetadata]:
        """Those with offsets of ``epoch``, in any state, by start offset."""
        segments = self._epochs.get(epoch)
        if segments is None:
            return []
        return sorted((self._segments[each] for each in (*segments.ids, *segments.unreferenced)), key=_in_order)

    def referenced(self, epoch: int) -> Iterator[tuple[int, RemoteSegmentMetadata]]:
        """The segments that serve ``epoch``, with the offset each serves it from, rising."""
        segments = self._epochs.get(epoch)
        if segments is not None:
            for start, segment_id in zip(segments.starts, segments.ids, strict=True):
                yield start, self._segments[segment_id]

    def unreferenced(self) -> list[RemoteSegmentMetadata]:
        """Those that serve no epoch at all: being copied, being deleted, or taken over by another."""
        serving = {segment_id for segments in self._epochs.values() for segment_id in segments.ids}
        return [segment for segment in self.segments() if segment.id not in serving]


def _in_order(segment: RemoteSegmentMetadata) -> tuple[int, int, str]:
    return segment.start_offset, segment.end_offset, uuid_text(segment.id.uuid)
