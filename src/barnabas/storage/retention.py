"""Which of a log's oldest segments have expired on this disk. Pure.

There are three rules, in this order; a segment that one of them drops does not count for the next:

=====  ======================================================================================
start  the whole segment lies below the log start, which DeleteRecords or the leader moved
size   the log would still have at least ``retention.bytes`` without it
time   its largest timestamp is older than ``retention.ms``
=====  ======================================================================================

Only committed segments expire, so that the start never passes the high watermark, and of a tiered
log only segments that are safely in the remote store.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.storage.log_settings import LogSettings

UNBOUNDED = -1


class Kept(NamedTuple):
    """The facts about a segment that retention needs."""

    end_offset: int  # the base offset of the next one
    size_bytes: int
    newest_ms: int
    active: bool = False


class Expired(NamedTuple):
    """How many of the oldest segments expire, and why; and whether to roll the active one, so that
    it can be copied and expire too.
    """

    below_start: int = 0
    by_size: int = 0
    by_time: int = 0
    close_active: bool = False

    @property
    def total(self) -> int:
        return self.below_start + self.by_size + self.by_time


def expired(
    segments: Sequence[Kept], settings: LogSettings, *, start_offset: int, committed_offset: int, remote_end_offset: int, now_ms: int
) -> Expired:
    """``start_offset`` is the log's; no segment above ``committed_offset`` expires."""
    tiered = settings.moves_to_remote
    retention_ms = settings.local_retention_ms if tiered else settings.retention_ms
    retention_bytes = settings.local_retention_bytes if tiered else settings.retention_bytes

    def may_go(segment: Kept) -> bool:
        if segment.end_offset > committed_offset or (segment.active and not segment.size_bytes):
            return False
        return not tiered or segment.end_offset <= max(remote_end_offset, start_offset)

    candidates = 0
    while candidates < len(segments) and may_go(segments[candidates]):
        candidates += 1
    below_start = 0
    while below_start < candidates and not segments[below_start].active and segments[below_start].end_offset <= start_offset:
        below_start += 1
    if not (settings.deletes or (tiered and not settings.compacts)):
        return Expired(below_start)
    going = below_start
    excess = sum(segment.size_bytes for segment in segments[going:]) - retention_bytes

    def too_much(segment: Kept) -> bool:
        return retention_bytes != UNBOUNDED and excess >= segment.size_bytes

    def too_old(segment: Kept) -> bool:
        return retention_ms != UNBOUNDED and now_ms - segment.newest_ms > retention_ms

    while going < candidates and too_much(segments[going]):
        excess -= segments[going].size_bytes
        going += 1
    by_size, going_by_size = going - below_start, going
    while going < candidates and too_old(segments[going]):
        going += 1
    last = segments[-1]
    close_active = (
        tiered
        and going == len(segments) - 1
        and last.size_bytes > 0
        and last.end_offset <= committed_offset
        and (too_much(last) or too_old(last))
    )
    return Expired(below_start, by_size, going - going_by_size, close_active)
