"""A real log as input of the plan of compaction, and the job that follows from the plan."""

from __future__ import annotations

from barnabas.storage.compaction.cleaning_job import CleaningJob, LastOfProducer, SourceSegment
from barnabas.storage.compaction.plan import DirtySection, LogShape, SegmentShape, dirty_section, group_segments
from barnabas.storage.log import Log


def measure(log: Log, *, high_watermark: int, now_ms: int) -> DirtySection:
    unstable = log.producers.first_unstable_offset()
    decided = min(high_watermark, log.recovery_point, high_watermark if unstable is None else unstable)
    shape = LogShape([SegmentShape.of(segment) for segment in log.segments], log.log_start_offset, log.log_end_offset, decided)
    return dirty_section(shape, log.settings, cleaned_to=log.cleaned_to, now_ms=now_ms)


def job_for(log: Log, section: DirtySection, *, map_bytes_max: int, now_ms: int) -> CleaningJob:
    """One pass over everything up to the first uncleanable offset. Reads the transaction
    indexes.
    """
    end = section.first_uncleanable_offset
    groups = group_segments(
        [SegmentShape.of(segment) for segment in log.segments if segment.base_offset < end],
        size_bytes_max=log.settings.segment_bytes,
        index_bytes_max=log.settings.index_bytes_max,
        first_uncleanable_offset=end,
    )
    return CleaningJob(
        directory=log.directory,
        groups=tuple(tuple(SourceSegment(each.base_offset, each.next_offset, each.size_bytes) for each in group) for group in groups),
        first_dirty_offset=section.first_dirty_offset,
        end_offset=end,
        aborted=tuple(log.aborted_transactions(groups[0][0].base_offset, end)),
        producers={
            producer.producer_id: LastOfProducer(producer.epoch, producer.batches[-1].last_offset if producer.batches else None)
            for producer in log.producers
        },
        now_ms=now_ms,
        delete_retention_ms=log.settings.delete_retention_ms,
        map_bytes_max=map_bytes_max,
        index_interval_bytes=log.settings.index_interval_bytes,
        truncations=log.truncations,
    )
