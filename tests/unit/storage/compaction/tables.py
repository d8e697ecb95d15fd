"""A partition that is a table: keyed records go in, the log is cleaned, and the table must be the
same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.model.compiled import is_compiled
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import BatchHeader, TimestampType, read_header
from barnabas.records.compression import Codec
from barnabas.records.record import Record, open_batch
from barnabas.storage.compaction.cleaning import clean
from barnabas.storage.compaction.cleaning_job import CleaningJob, CleaningResult, LastOfProducer, SourceSegment
from barnabas.storage.compaction.swap import swap_in
from barnabas.storage.log import Log
from barnabas.storage.log_settings import LogSettings
from tests.unit.storage.logs import NOW_MS, all_batches, append, new_disk, open_partition

DAY_MS = 86_400_000
SETTINGS = LogSettings(segment_bytes=600, index_interval_bytes=150)
Row = tuple[bytes | None, bytes | None]


def map_bytes_for(keys: int) -> int:
    """The memory of a key map for about this many keys."""
    return keys * (24 if is_compiled() else 150)


def rows(
    *pairs: Row,
    timestamps: Iterable[int] | None = None,
    codec: Codec = Codec.NONE,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
    producer_id: int = -1,
    sequence: int = -1,
    epoch: int = 0,
    transactional: bool = False,
) -> bytearray:
    """A batch as a producer sends it."""
    stamps = list(timestamps) if timestamps is not None else [NOW_MS + index for index in range(len(pairs))]
    return build_batch(
        [Record(index, stamp, key, value) for index, ((key, value), stamp) in enumerate(zip(pairs, stamps, strict=True))],
        codec=codec,
        timestamp_type=timestamp_type,
        producer_id=producer_id,
        producer_epoch=epoch if producer_id >= 0 else -1,
        base_sequence=sequence,
        transactional=transactional,
    )


def new_table(settings: LogSettings = SETTINGS, seed: int = 0) -> Log:
    return open_partition(new_disk(seed), settings)


def put(log: Log, *pairs: Row) -> None:
    """Each record in a batch of its own."""
    for pair in pairs:
        append(log, rows(pair))


def seal(log: Log) -> None:
    """Roll, so that the records appended so far may be cleaned."""
    log.roll(now_ms=NOW_MS)
    log.flush()


def job_of(
    log: Log,
    *,
    first_dirty: int = 0,
    now_ms: int = NOW_MS,
    map_bytes_max: int = 1 << 20,
    group_bytes_max: int = 1 << 30,
    delete_retention_ms: int = DAY_MS,
    producers: Mapping[int, LastOfProducer] | None = None,
) -> CleaningJob:
    """One pass over all sealed segments."""
    groups: list[list[SourceSegment]] = []
    for segment in log.segments:
        if segment is not log.segments.active:
            source = SourceSegment(segment.base_offset, segment.next_offset, segment.size_bytes)
            if groups and sum(each.size_bytes for each in groups[-1]) + source.size_bytes <= group_bytes_max:
                groups[-1].append(source)
            else:
                groups.append([source])
    end = log.segments.active.base_offset
    active = {
        each.producer_id: LastOfProducer(each.epoch, each.batches[-1].last_offset if each.batches else None) for each in log.producers
    }
    return CleaningJob(
        directory=log.directory,
        groups=tuple(map(tuple, groups)),
        first_dirty_offset=first_dirty,
        end_offset=end,
        aborted=tuple(log.aborted_transactions(log.segments.first.base_offset, end)),
        producers=active if producers is None else producers,
        now_ms=now_ms,
        delete_retention_ms=delete_retention_ms,
        map_bytes_max=map_bytes_max,
        index_interval_bytes=log.settings.index_interval_bytes,
        truncations=log.truncations,
    )


def clean_and_swap(log: Log, job: CleaningJob) -> CleaningResult:
    result = clean(job, log.disk)
    for segment in result.segments:
        removal = swap_in(log, segment)
        assert removal is not None
        removal.finish()
    return result


def clean_all(log: Log, *, now_ms: int = NOW_MS, map_bytes_max: int = 1 << 20, group_bytes_max: int = 1 << 30) -> list[CleaningResult]:
    """As many passes as the log takes from the beginning."""
    results: list[CleaningResult] = []
    first_dirty = log.log_start_offset
    while first_dirty < log.segments.active.base_offset:
        job = job_of(log, first_dirty=first_dirty, now_ms=now_ms, map_bytes_max=map_bytes_max, group_bytes_max=group_bytes_max)
        results.append(clean_and_swap(log, job))
        assert results[-1].cleaned_to > first_dirty, "each pass gets further"
        first_dirty = results[-1].cleaned_to
    return results


def aborted_offsets(log: Log) -> set[int]:
    """The offsets of the records that readers of committed data skip."""
    transactions = log.aborted_transactions(log.log_start_offset, log.log_end_offset)
    found: set[int] = set()
    for batch in all_batches(log):
        header = read_header(batch)
        if header.transactional and any(
            each.producer_id == header.producer_id and each.first_offset <= header.base_offset < each.last_offset for each in transactions
        ):
            found.update(range(header.base_offset, header.last_offset + 1))
    return found


def committed(log: Log) -> list[Record]:
    """The records that a reader of committed data gets."""
    aborted = aborted_offsets(log)
    return [
        record
        for batch in all_batches(log)
        if not read_header(batch).control
        for record in open_batch(batch)
        if record.offset not in aborted
    ]


def table(log: Log) -> dict[bytes | None, bytes]:
    """The last value of every key that has one."""
    latest = {record.key: record.value for record in committed(log)}
    return {key: value for key, value in latest.items() if value is not None}


def headers(log: Log) -> list[BatchHeader]:
    return [read_header(batch) for batch in all_batches(log)]
