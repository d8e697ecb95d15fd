"""``barnabas log info``: the partitions and segments in a directory, with their offsets, times and
sizes.

No API reports the number of segments of a log, so this reads the files. It reads only the ends of
segments: sizes come from the file system, the last offset from the index and the batches after it,
the largest timestamp from the time index and the batches after it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from barnabas.cli.errors import Refused
from barnabas.cli.log.dump.entries import Damage
from barnabas.cli.log.dump.indexes import dump_offset_index, dump_time_index
from barnabas.cli.log.dump.read_only_disk import ReadOnlyDisk
from barnabas.cli.log.dump.segments import read_batches
from barnabas.cli.log.verify.directory_scrub import read_checkpoints
from barnabas.cli.log.verify.findings import Scrub
from barnabas.cli.log.verify.targets import LogDirectoryFound, PartitionDirectory, find_logs
from barnabas.cli.terminal.output import AsJson, print_json, print_table
from barnabas.env.disk import Disk, DiskFile, disk_sentence
from barnabas.model.ids import TopicPartition, uuid_text
from barnabas.records.batch_header import DELETE_HORIZON_BIT, NO_TIMESTAMP
from barnabas.storage.checkpoints import CLEANER_OFFSETS, HIGH_WATERMARKS, LOG_START_OFFSETS, RECOVERY_POINTS
from barnabas.storage.file_names import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    offset_name,
    parse_segment_file,
)
from barnabas.storage.partition_metadata import read_topic_id

Checkpoints = dict[str, dict[TopicPartition, int]]


@dataclass(frozen=True, slots=True)
class SegmentInfo:
    base_offset: int
    end_offset: int  # the offset after its last record
    size_bytes: int  # of the log
    index_bytes: int  # of all its indexes
    first_timestamp: int | None  # of the first batch
    largest_timestamp: int | None
    damage: str | None  # the reason when its end is unknown


@dataclass(frozen=True, slots=True)
class PartitionInfo:
    partition: str
    directory: str
    topic_id: str | None
    size_bytes: int  # of the logs, as brokers count it
    log_start_offset: int | None
    local_start_offset: int | None  # the base offset of the first segment
    end_offset: int | None
    high_watermark: int | None  # this and the next two as in the checkpoints
    recovery_point: int | None
    cleaned_to: int | None
    segments: list[SegmentInfo]


def info(
    paths: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Directories of partitions, log directories, or their parents.")],
    segments: Annotated[bool, typer.Option("--segments", help="Also print a line for each segment.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the partitions in a directory: segments, sizes, offsets and times. Reads only, and works
    while a node runs."""
    disk = ReadOnlyDisk()
    found = [each for path in paths for each in find_logs(disk, str(path))]
    partitions = [described for each in found for described in _describe(disk, each)]
    if as_json:
        print_json([asdict(each) for each in partitions])
        return
    print_table(
        ("Partition", "Segments", "Bytes", "Start offset", "Local start", "End offset", "Oldest", "Newest", "Directory"),
        [_row(each) for each in partitions],
        empty="There are no partitions in these directories.",
    )
    if segments:
        for each in partitions:
            typer.echo(f"\n{each.partition} in {each.directory}")
            print_table(
                ("Base offset", "End offset", "Bytes", "Index bytes", "First time", "Largest time", "Damage"),
                [_segment_row(segment) for segment in each.segments],
            )


def _describe(disk: Disk, found: PartitionDirectory | LogDirectoryFound) -> list[PartitionInfo]:
    try:
        if isinstance(found, LogDirectoryFound):
            checkpointed = read_checkpoints(Scrub(), disk, found.path)
            return [described for each in found.partitions(disk) if (described := _partition(disk, each, checkpointed)) is not None]
        parent = str(Path(found.path).absolute().parent)
        described = _partition(disk, found, read_checkpoints(Scrub(), disk, parent))
        return [described] if described is not None else []
    except OSError as error:
        raise Refused(disk_sentence(f"cannot read {found.path}", error)) from error


def _partition(disk: Disk, found: PartitionDirectory, checkpointed: Checkpoints) -> PartitionInfo | None:
    """None for a partition that was removed meanwhile."""
    try:
        names = disk.names(found.path)
        bases = sorted(parsed[0] for name in names if (parsed := parse_segment_file(name)) and parsed[1:] == (LOG_SUFFIX, ""))
        segments = [_segment(disk, found.path, base) for base in bases]
        topic_id = read_topic_id(disk, found.path)
    except FileNotFoundError:
        return None
    written = {name: offsets.get(found.partition) for name, offsets in checkpointed.items()} if found.partition is not None else {}
    local_start = segments[0].base_offset if segments else None
    start = written.get(LOG_START_OFFSETS)
    return PartitionInfo(
        partition=Path(found.path).name,
        directory=found.path,
        topic_id=uuid_text(topic_id) if topic_id is not None else None,
        size_bytes=sum(each.size_bytes for each in segments),
        log_start_offset=start if start is not None else local_start,
        local_start_offset=local_start,
        end_offset=segments[-1].end_offset if segments else None,
        high_watermark=written.get(HIGH_WATERMARKS),
        recovery_point=written.get(RECOVERY_POINTS),
        cleaned_to=written.get(CLEANER_OFFSETS),
        segments=segments,
    )


def _segment(disk: Disk, directory: str, base_offset: int) -> SegmentInfo:
    stem = f"{directory}/{offset_name(base_offset)}"
    indexed = _last(dump_offset_index(disk, stem + INDEX_SUFFIX, base_offset, None), "position")
    largest = _last(dump_time_index(disk, stem + TIME_INDEX_SUFFIX, base_offset, None), "timestamp")
    file = disk.open(stem + LOG_SUFFIX)
    try:
        size_bytes = file.size_bytes()
        first = _first_timestamp(file)
        tail = _read_tail(file, base_offset, indexed if indexed is not None and 0 < indexed < size_bytes else 0)
        if tail.damage is not None:
            # The index may be damaged.
            tail = _read_tail(file, base_offset, 0)
    finally:
        file.close()
    index_bytes = sum(disk.size_bytes(stem + each) for each in SEGMENT_SUFFIXES[1:] if disk.exists(stem + each))
    times = [each for each in (largest, tail.largest_timestamp) if each is not None]
    return SegmentInfo(base_offset, tail.end_offset, size_bytes, index_bytes, first, max(times, default=None), tail.damage)


def _first_timestamp(file: DiskFile) -> int | None:
    with suppress(Damage):
        for batch in read_batches(file):
            header = batch.header
            return header.max_timestamp if header.attributes & DELETE_HORIZON_BIT else header.base_timestamp
    return None


class _Tail(NamedTuple):
    end_offset: int
    largest_timestamp: int | None
    damage: str | None


def _read_tail(file: DiskFile, base_offset: int, position: int) -> _Tail:
    """The batches from a position on, up to the first damage."""
    end_offset, largest = base_offset, None
    try:
        for batch in read_batches(file, position):
            end_offset = batch.header.last_offset + 1
            largest = max(largest if largest is not None else NO_TIMESTAMP, batch.header.max_timestamp)
    except Damage as error:
        return _Tail(end_offset, largest, f"{error.where}: {error.why}")
    return _Tail(end_offset, largest, None)


def _last(entries: Any, name: str) -> int | None:
    """The field of the last entry of an index; None when the index is missing, empty or damaged:
    then the log is read instead."""
    last = None
    try:
        for each in entries:
            last = each.fields[name] if each.kind != "unused" else last
    except (Damage, OSError, ValueError):
        return None
    return last


def _row(partition: PartitionInfo) -> tuple[object, ...]:
    first = next((each.first_timestamp for each in partition.segments if each.first_timestamp is not None), None)
    largest = max((each.largest_timestamp for each in partition.segments if each.largest_timestamp is not None), default=None)
    return (
        partition.partition,
        len(partition.segments),
        partition.size_bytes,
        partition.log_start_offset,
        partition.local_start_offset,
        partition.end_offset,
        _time(first),
        _time(largest),
        partition.directory,
    )


def _segment_row(segment: SegmentInfo) -> tuple[object, ...]:
    return (
        segment.base_offset,
        segment.end_offset,
        segment.size_bytes,
        segment.index_bytes,
        _time(segment.first_timestamp),
        _time(segment.largest_timestamp),
        segment.damage,
    )


def _time(timestamp_ms: int | None) -> str | None:
    """Producers choose timestamps freely, and some are outside the range of a date."""
    if timestamp_ms is None or timestamp_ms < 0:
        return None
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return str(timestamp_ms)
