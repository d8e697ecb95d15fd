"""Which sealed segment a leader copies next, and the metadata of that copy.

A segment may be copied once nothing in it can change any more: it is sealed, and the next one
begins at or below the last stable offset, which never passes the high watermark. Segments are
copied in order and one by one, so that "everything up to here is remote" is one offset.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from barnabas.model.dataclass import dataclass
from barnabas.storage.leader_epochs import EpochStart
from barnabas.tiered.metadata.segment_metadata import RemoteSegmentId, RemoteSegmentMetadata


class LocalSegment(NamedTuple):
    """A segment of the local log, as far as a plan needs it. The last one of a log is the active
    one."""

    base_offset: int
    size_bytes: int
    max_timestamp: int
    has_aborted: bool  # whether its transaction index has entries


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """Copy the segment at ``base_offset``, which ends before ``next_base_offset``."""

    segment: LocalSegment
    next_base_offset: int
    leader_epochs: tuple[EpochStart, ...]
    """The epochs of the segment's own range, for its metadata."""
    leader_epochs_to_end: tuple[EpochStart, ...]
    """The epochs up to the segment's end, for the object from which a new follower starts."""

    def metadata(self, segment_id: RemoteSegmentId, *, broker_id: int, now_ms: int) -> RemoteSegmentMetadata:
        """The metadata to publish before the copy begins, in state COPY_SEGMENT_STARTED."""
        return RemoteSegmentMetadata(
            segment_id,
            start_offset=self.segment.base_offset,
            end_offset=self.next_base_offset - 1,
            leader_epochs=self.leader_epochs,
            size_bytes=self.segment.size_bytes,
            max_timestamp=self.segment.max_timestamp,
            broker_id=broker_id,
            event_timestamp=now_ms,
            txn_index_empty=not self.segment.has_aborted,
        )


def next_copy(
    segments: Sequence[LocalSegment],
    leader_epochs: Sequence[EpochStart],
    *,
    copied_offset: int,
    log_start_offset: int,
    last_stable_offset: int,
) -> CopyPlan | None:
    """The segment to copy now; None when there is nothing to copy. ``copied_offset`` is
    :func:`~.chain.highest_copied_offset`.

    The segment that holds the first offset not yet copied is copied as a whole, also when its
    beginning is remote already because an earlier leader rolled at another offset.
    """
    from_offset = max(copied_offset + 1, log_start_offset)
    slot = max(0, bisect_right(segments, from_offset, key=lambda segment: segment.base_offset) - 1)
    for segment, following in pairwise(segments[slot:]):
        if following.base_offset > last_stable_offset:
            return None
        if following.base_offset <= from_offset or not segment.size_bytes:
            # Compaction may have left an empty segment: there is nothing to copy and nothing to
            # find.
            continue
        own = epochs_between(leader_epochs, segment.base_offset, following.base_offset)
        if not own:
            # The log does not know the epoch of these records, so no reader could ever find the
            # copy. Recovery fills the gap from the batches.
            return None
        return CopyPlan(segment, following.base_offset, own, epochs_between(leader_epochs, None, following.base_offset))
    return None


def epochs_between(leader_epochs: Sequence[EpochStart], start_offset: int | None, end_offset: int) -> tuple[EpochStart, ...]:
    """The epochs of the offsets in [start, end); the one that spans the start begins there. A start
    of None is the beginning of the log."""
    below = [entry for entry in leader_epochs if entry.start_offset < end_offset]
    if start_offset is None:
        return tuple(below)
    spanning = [EpochStart(entry.epoch, start_offset) for entry in below if entry.start_offset <= start_offset][-1:]
    return (*spanning, *(entry for entry in below if entry.start_offset > start_offset))


def copy_lag(segments: Sequence[LocalSegment], copied_offset: int) -> tuple[int, int]:
    """The size in bytes and the number of the sealed segments that are not remote yet."""
    waiting = [segment for segment, following in pairwise(segments) if following.base_offset - 1 > copied_offset and segment.size_bytes]
    return sum(segment.size_bytes for segment in waiting), len(waiting)
