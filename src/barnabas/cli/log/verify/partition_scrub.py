"""A partition's directory: its segments in order, the files beside them, and the offsets that other
files have for it.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.cli.log.dump.named_records import reader_of, vocabulary_of
from barnabas.cli.log.dump.small_files import dump_leader_epochs, dump_partition_metadata, dump_producers
from barnabas.cli.log.verify.findings import Finding, Scrub, Severity
from barnabas.cli.log.verify.index_scrub import read_all, scrub_indexes
from barnabas.cli.log.verify.quorum_scrub import scrub_quorum_files
from barnabas.cli.log.verify.segment_scrub import LogCourse, scrub_segment
from barnabas.env.disk import Disk
from barnabas.metadata.snapshot import PART_SUFFIX
from barnabas.model.ids import METADATA_TOPIC, TopicPartition
from barnabas.storage import checkpoints
from barnabas.storage.file_names import (
    CLEANED_SUFFIX,
    DELETED_SUFFIX,
    LEADER_EPOCHS,
    LOG_SUFFIX,
    PARTITION_METADATA,
    SEGMENT_SUFFIXES,
    SNAPSHOT_SUFFIX,
    SWAP_SUFFIX,
    offset_name,
    parse_segment_file,
)

# A running node may rename and truncate files while they are read, so a problem is checked again.
# If the files change each time, a problem that was seen twice counts.
LOOKS_MAX = 3
_LEFT_OVER = {
    DELETED_SUFFIX: "a removal that is not finished",
    CLEANED_SUFFIX: "a compaction that is not finished",
    SWAP_SUFFIX: "a compaction whose result is being swapped in",
    PART_SUFFIX: "a snapshot that is not finished",
    ".tmp": "a file that is not finished",
}


@dataclass(frozen=True, slots=True)
class CheckpointedOffsets:
    """Offsets that the checkpoints of the log directory hold for a partition, by the checkpoint's
    path."""

    recovery_point: int | None = None
    offsets: Mapping[str, int] = field(default_factory=dict)


NOTHING_CHECKPOINTED = CheckpointedOffsets()


def scrub_partition(
    scrub: Scrub, disk: Disk, directory: str, partition: TopicPartition | None, checkpointed: CheckpointedOffsets = NOTHING_CHECKPOINTED
) -> None:
    scrub.partitions += 1
    earlier: list[Finding] = []
    for look in range(1, LOOKS_MAX + 1):
        counted = scrub.segments, scrub.batches, scrub.bytes_read
        first = len(scrub.findings)
        before, vanished = _outline(disk, directory), False
        try:
            _scrub(scrub, disk, directory, partition, checkpointed)
        except FileNotFoundError:
            if not disk.exists(directory):
                return  # the topic was deleted meanwhile
            vanished = True
        except OSError as error:
            scrub.find_wrong(error.filename or directory, f"it cannot be read: {error.strerror}")
        found = scrub.findings[first:]
        if not vanished and (not found or before == _outline(disk, directory)):
            return
        if look == LOOKS_MAX:
            scrub.findings[first:] = [each for each in found if each in earlier or each.severity is Severity.NOTE]
            return
        earlier = found
        scrub.segments, scrub.batches, scrub.bytes_read = counted
        del scrub.findings[first:]


def _outline(disk: Disk, directory: str) -> list[tuple[str, int, int]]:
    """Changes when a log is rolled, truncated, cleaned or gets a new leader; not when it is only
    appended to."""
    found = []
    names = disk.names(directory) if disk.is_directory(directory) else []
    active = max((name for name in names if name.endswith(LOG_SUFFIX)), default="").removesuffix(LOG_SUFFIX)
    for name in names:
        if active and name.startswith(active):
            found.append((name, 0, 0))
            continue
        try:
            seen = os.stat(f"{directory}/{name}")
        except OSError:
            continue
        found.append((name, seen.st_size, seen.st_mtime_ns))
    return found


def _scrub(scrub: Scrub, disk: Disk, directory: str, partition: TopicPartition | None, checkpointed: CheckpointedOffsets) -> None:
    names = disk.names(directory)
    course = LogCourse(recovery_point=checkpointed.recovery_point)
    bases = sorted(parsed[0] for name in names if (parsed := parse_segment_file(name)) and parsed[1:] == (LOG_SUFFIX, ""))
    vocabulary = vocabulary_of(partition.topic if partition is not None else None)
    for base_offset in bases:
        stem = f"{directory}/{offset_name(base_offset)}"
        active = base_offset == bases[-1]
        _begin_segment(scrub, stem + LOG_SUFFIX, base_offset, course)
        segment = scrub_segment(scrub, disk, stem + LOG_SUFFIX, base_offset, course, active=active, meaning=reader_of(vocabulary))
        scrub_indexes(scrub, disk, stem, base_offset, segment, active=active)
    if not bases:
        scrub.note(directory, "no segment is in it")
    end = None if course.unsure else course.next_offset
    is_metadata = partition is not None and partition.topic == METADATA_TOPIC
    _scrub_beside(scrub, disk, directory, names, bases, end)
    _scrub_epochs(scrub, disk, directory, course, end)
    if is_metadata:
        scrub_quorum_files(scrub, disk, directory, names, log_start=bases[0] if bases else 0, log_end=end, last_epoch=course.leader_epoch)
    if bases and end is not None:
        for path, offset in checkpointed.offsets.items():
            if offset > end:
                scrub.find_wrong(
                    path, f"it has {partition_text(partition, directory)} at {offset}, above {end}, where the log ends", offset=offset
                )
    _report_gaps(scrub, course, cleaned_to=_cleaned_to(checkpointed), never=is_metadata)


def _begin_segment(scrub: Scrub, path: str, base_offset: int, course: LogCourse) -> None:
    if course.next_offset is None:
        course.next_offset = base_offset
    elif base_offset < course.next_offset:
        scrub.find_wrong(path, f"it is named {base_offset}, but the segment before it ends at {course.next_offset}", offset=base_offset)
    elif base_offset > course.next_offset:
        if not course.unsure:
            course.gaps.append((course.next_offset, base_offset, path))
        course.next_offset = base_offset


def _scrub_beside(scrub: Scrub, disk: Disk, directory: str, names: list[str], bases: list[int], end: int | None) -> None:
    for suffix, why in _LEFT_OVER.items():
        left = [f"{directory}/{name}" for name in names if name.endswith(suffix)]
        if left:
            more = f" with {len(left) - 1} more such files" if len(left) > 1 else ""
            scrub.note(left[0], f"left over{more}, {sum(map(disk.size_bytes, left))} bytes: {why}")
    for name in names:
        path = f"{directory}/{name}"
        parsed = parse_segment_file(name)
        if name.endswith(tuple(_LEFT_OVER)):
            continue
        if parsed is not None and parsed[1] == SNAPSHOT_SUFFIX:
            _scrub_producers(scrub, disk, path, parsed[0], end)
        elif parsed is not None and parsed[1] in SEGMENT_SUFFIXES and parsed[0] not in bases:
            scrub.note(path, "left over: it has no log beside it")
    path = f"{directory}/{PARTITION_METADATA}"
    if PARTITION_METADATA in names:
        read_all(scrub, path, dump_partition_metadata(disk, path))
    else:
        scrub.note(path, "it is missing, so the topic id of this directory is unknown")


def _scrub_producers(scrub: Scrub, disk: Disk, path: str, offset: int, end: int | None) -> None:
    producers = read_all(scrub, path, dump_producers(disk, path))
    if end is not None and offset > end:
        scrub.find_wrong(path, f"it is of offset {offset}, but the log ends at {end}", offset=offset)
    for each in producers or []:
        last = each.fields["last_offset"]
        if last is not None and last >= offset:
            producer_id = each.fields["producer_id"]
            scrub.find_wrong(path, f"producer {producer_id} has a last offset of {last}, which is after the snapshot's offset", offset=last)


def _scrub_epochs(scrub: Scrub, disk: Disk, directory: str, course: LogCourse, end: int | None) -> None:
    path = f"{directory}/{LEADER_EPOCHS}"
    if not disk.exists(path):
        if course.epochs and course.epochs[-1][0] >= 0:
            scrub.note(path, "it is missing; the next start reads the epochs from the batches")
        return
    entries = read_all(scrub, path, dump_leader_epochs(disk, path))
    if entries is None:
        return
    starts = [(each.fields["start_offset"], each.fields["epoch"]) for each in entries]
    for start, epoch in starts:
        if end is not None and start > end:
            scrub.find_wrong(path, f"epoch {epoch} begins at {start}, above {end}, where the log ends", offset=start)
    for epoch, offset, position, log_path in course.epochs:
        slot = bisect_right(starts, (offset, 2**31)) - 1
        checkpointed = starts[slot][1] if slot >= 0 else None
        if checkpointed != epoch and epoch >= 0:
            scrub.find_wrong(
                log_path,
                f"a batch has leader epoch {epoch}, but {LEADER_EPOCHS} has {'none' if checkpointed is None else checkpointed} there",
                position=position,
                offset=offset,
            )


def _report_gaps(scrub: Scrub, course: LogCourse, *, cleaned_to: int | None, never: bool) -> None:
    """Compaction leaves gaps. A follower may have copied them from a leader that compacts, so a gap
    alone proves nothing."""
    unexplained = [gap for gap in course.gaps if cleaned_to is None or gap[0] >= cleaned_to]
    if not unexplained:
        return
    first, following, path = unexplained[0]
    more = f", and {len(unexplained) - 1} more such gaps follow" if len(unexplained) > 1 else ""
    if never:
        scrub.find_wrong(path, f"offsets {first} to {following - 1} are missing{more}", offset=first)
    else:
        scrub.note(path, f"there are no offsets {first} to {following - 1}{more}; only compaction leaves such gaps", offset=first)


def _cleaned_to(checkpointed: CheckpointedOffsets) -> int | None:
    return next((offset for path, offset in checkpointed.offsets.items() if path.endswith(checkpoints.CLEANER_OFFSETS)), None)


def partition_text(partition: TopicPartition | None, directory: str) -> str:
    return f"{partition.topic}-{partition.partition}" if partition is not None else os.path.basename(directory)
