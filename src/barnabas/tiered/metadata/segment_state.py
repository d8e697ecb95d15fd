"""The states of a remote segment, as ``__remote_log_metadata`` writes them, and their order.

    from                      to
    (nothing)                 COPY_SEGMENT_STARTED
    COPY_SEGMENT_STARTED      COPY_SEGMENT_FINISHED, DELETE_SEGMENT_STARTED
    COPY_SEGMENT_FINISHED     DELETE_SEGMENT_STARTED
    DELETE_SEGMENT_STARTED    DELETE_SEGMENT_FINISHED

Every state may also follow itself: a broker that is not sure whether an event was written writes it
again.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class SegmentState(IntEnum):
    COPY_SEGMENT_STARTED = 0
    COPY_SEGMENT_FINISHED = 1
    DELETE_SEGMENT_STARTED = 2
    DELETE_SEGMENT_FINISHED = 3


class PartitionDeleteState(IntEnum):
    DELETE_PARTITION_MARKED = 0
    DELETE_PARTITION_STARTED = 1
    DELETE_PARTITION_FINISHED = 2


_NEXT: Final[dict[SegmentState | None, frozenset[SegmentState]]] = {
    None: frozenset({SegmentState.COPY_SEGMENT_STARTED}),
    SegmentState.COPY_SEGMENT_STARTED: frozenset({SegmentState.COPY_SEGMENT_FINISHED, SegmentState.DELETE_SEGMENT_STARTED}),
    SegmentState.COPY_SEGMENT_FINISHED: frozenset({SegmentState.DELETE_SEGMENT_STARTED}),
    SegmentState.DELETE_SEGMENT_STARTED: frozenset({SegmentState.DELETE_SEGMENT_FINISHED}),
    SegmentState.DELETE_SEGMENT_FINISHED: frozenset(),
}


def may_follow(state: SegmentState | None, target: SegmentState) -> bool:
    """Whether ``target`` may come after ``state``; None stands for an unknown segment."""
    return state == target or target in _NEXT[state]
