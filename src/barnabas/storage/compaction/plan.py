"""Which part of a log to compact, whether it is due, and which log comes first. Pure: the cleaner
follows this plan.

    log start        first dirty          first uncleanable        active segment
        |--- clean ------|------ cleanable ------|---- not yet ----------|-----

The *clean* part was compacted before, up to the offset in the cleaner's checkpoint. The first
uncleanable offset is the start of the first segment that is not final yet: it is active, holds
records of open transactions or records that are not replicated or not flushed, or is newer than
``min.compaction.lag.ms``. Only whole segments are compacted, all from the log's start on, because a
newer value in the cleanable part supersedes older ones in the clean part.

A log is due when the cleanable part is more than ``min.cleanable.dirty.ratio`` of the log before
the first uncleanable offset, or when a record has waited for longer than ``max.compaction.lag.ms``.
As in Kafka, the next compaction drops expired tombstones, but they do not make a log due.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from barnabas.model.dataclass import dataclass
from barnabas.storage import offset_index, time_index
from barnabas.storage.log_settings import LogSettings
from barnabas.storage.segment import RELATIVE_OFFSET_MAX, Segment

_LogT = TypeVar("_LogT")


class SegmentShape(NamedTuple):
    """The facts about a segment that the plan needs."""

    base_offset: int
    next_offset: int
    size_bytes: int
    first_timestamp: int = -1
    max_timestamp: int = -1
    index_bytes: int = 0
    time_index_bytes: int = 0
    created_ms: int = 0

    @classmethod
    def of(cls, segment: Segment) -> SegmentShape:
        return cls(
            segment.base_offset,
            segment.next_offset,
            segment.size_bytes,
            segment.first_timestamp,
            segment.max_timestamp,
            len(segment.index) * offset_index.ENTRY_BYTES,
            len(segment.time_index) * time_index.ENTRY_BYTES,
            segment.created_ms,
        )


@dataclass(frozen=True, slots=True)
class LogShape:
    """The facts about a log that the plan needs. All records below ``decided_offset`` are decided,
    replicated and flushed.
    """

    segments: Sequence[SegmentShape]  # in order, the last is the active one
    log_start_offset: int
    log_end_offset: int
    decided_offset: int

    @property
    def active(self) -> SegmentShape:
        return self.segments[-1]

    def sealed_from(self, offset: int) -> list[SegmentShape]:
        """The segment that would hold ``offset`` and those behind it, without the active one."""
        first = max((slot for slot, segment in enumerate(self.segments) if segment.base_offset <= offset), default=0)
        return list(self.segments[first:-1])


@dataclass(frozen=True, slots=True)
class DirtySection:
    """``clean_bytes`` and ``cleanable_bytes`` share the segment of the first dirty offset, as in
    Kafka.
    """

    first_dirty_offset: int
    first_uncleanable_offset: int
    clean_bytes: int
    cleanable_bytes: int
    overdue_ms: int = 0  # by how much the oldest uncompacted record exceeds max.compaction.lag.ms
    checkpoint_was_wrong: bool = False

    @property
    def ratio(self) -> float:
        total = self.clean_bytes + self.cleanable_bytes
        return self.cleanable_bytes / total if total else 0.0

    def due(self, settings: LogSettings) -> bool:
        return self.ratio > settings.min_cleanable_dirty_ratio or (self.overdue_ms > 0 and self.cleanable_bytes > 0)


def dirty_section(log: LogShape, settings: LogSettings, *, cleaned_to: int | None, now_ms: int) -> DirtySection:
    """``cleaned_to`` is the offset in the cleaner's checkpoint for this log."""
    first_dirty, stale = log.log_start_offset, False
    if cleaned_to is not None:
        # Retention passed it, or a crash lost the end of the log: then it is unknown which part was
        # compacted.
        stale = not log.log_start_offset <= cleaned_to <= log.log_end_offset
        first_dirty = log.log_start_offset if stale else cleaned_to
    limit = max(first_dirty, min(log.decided_offset, log.active.base_offset, *_too_young(log, settings, first_dirty, now_ms)))
    # Whole segments only.
    beyond = log.sealed_from(limit)
    first_uncleanable = beyond[0].base_offset if beyond else log.active.base_offset
    dirty = [segment for segment in log.sealed_from(min(first_dirty, first_uncleanable)) if segment.base_offset < first_uncleanable]
    return DirtySection(
        first_dirty,
        first_uncleanable,
        clean_bytes=sum(segment.size_bytes for segment in log.segments if segment.base_offset < first_dirty),
        cleanable_bytes=sum(segment.size_bytes for segment in dirty),
        overdue_ms=_overdue_ms(log, settings, first_dirty, now_ms),
        checkpoint_was_wrong=stale,
    )


def _too_young(log: LogShape, settings: LogSettings, first_dirty: int, now_ms: int) -> list[int]:
    lag_ms = settings.min_compaction_lag_ms
    if lag_ms <= 0:
        return []
    segments = [*log.sealed_from(first_dirty), log.active]
    return [segment.base_offset for segment, following in pairwise(segments) if _newest_ms(segment, following) > now_ms - lag_ms][:1]


def _newest_ms(segment: SegmentShape, following: SegmentShape) -> int:
    """Records without a timestamp count as written when the next segment began, which is at or
    after their real time. Kafka takes the time of the file.
    """
    return segment.max_timestamp if segment.max_timestamp >= 0 else following.created_ms


def _overdue_ms(log: LogShape, settings: LogSettings, first_dirty: int, now_ms: int) -> int:
    waiting_since = min((each.first_timestamp for each in log.sealed_from(first_dirty) if each.first_timestamp > 0), default=None)
    return 0 if waiting_since is None else max(0, now_ms - settings.max_compaction_lag_ms - waiting_since)


def must_roll(active: Segment, settings: LogSettings, now_ms: int) -> bool:
    """Whether the active segment holds records that are overdue for compaction, which cannot happen
    while it is active.
    """
    return bool(settings.compacts and active.size_bytes and 0 < active.first_timestamp < now_ms - settings.max_compaction_lag_ms)


def dirtiest(logs: Iterable[tuple[_LogT, DirtySection, LogSettings]]) -> _LogT | None:
    """The log that is due and has the highest ratio; the first of equals."""
    due = [(log, section) for log, section, settings in logs if section.due(settings)]
    return max(due, key=lambda each: each[1].ratio)[0] if due else None


def group_segments(
    segments: Sequence[SegmentShape], *, size_bytes_max: int, index_bytes_max: int, first_uncleanable_offset: int
) -> list[list[SegmentShape]]:
    """Neighbours that become one segment: together they stay within the limits of one, in bytes,
    index entries and span of offsets.

    The last offset of a segment is only known to lie below the start of the next, so the span is
    counted up to there.
    """
    groups: list[list[SegmentShape]] = []
    size = index_size = time_index_size = 0
    for slot, segment in enumerate(segments):
        end_offset = segments[slot + 1].base_offset if slot + 1 < len(segments) else first_uncleanable_offset
        fits = (
            groups
            and size + segment.size_bytes <= size_bytes_max
            and index_size + segment.index_bytes <= index_bytes_max
            and time_index_size + segment.time_index_bytes <= index_bytes_max
            and (not segment.size_bytes or end_offset - 1 - groups[-1][0].base_offset <= RELATIVE_OFFSET_MAX)
        )
        if fits:
            groups[-1].append(segment)
        else:
            groups.append([segment])
            size = index_size = time_index_size = 0
        size += segment.size_bytes
        index_size += segment.index_bytes
        time_index_size += segment.time_index_bytes
    return groups
