"""One ``.log``: every batch, and the order of batches across the segments of a partition.

:class:`LogCourse` carries the state from segment to segment: the next offset, the last leader
epoch, the open transactions. A batch with a wrong checksum does not end the walk: the checksum does
not cover the batch's length, and the next batch shows whether the length was right.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from barnabas.cli.log.dump.batch_map import BatchMap
from barnabas.cli.log.dump.entries import Damage
from barnabas.cli.log.dump.named_records import NamedRecord, read_control_record
from barnabas.cli.log.dump.segments import READ_BYTES, Batch, check_records, read_batches
from barnabas.cli.log.verify.findings import Scrub
from barnabas.env.disk import Disk, DiskFile
from barnabas.records.batch_header import HEADER_BYTES, NO_TIMESTAMP, BatchHeader, read_header
from barnabas.records.batches import CorruptBatch, check_crc
from barnabas.records.control_batch import ControlType, read_control_type
from barnabas.records.record import Record, open_batch

RELATIVE_OFFSET_MAX = 2**31 - 1
_TORN = "from a write in progress or a crash; the next start truncates it"


class AbortMarker(NamedTuple):
    offset: int
    producer_id: int
    aborts_records: bool  # of records that still exist and must be skipped


@dataclass(slots=True)
class LogCourse:
    """The position of a walk over a partition's segments."""

    recovery_point: int | None = None
    next_offset: int | None = None
    unsure: bool = False  # a batch with an invalid header was skipped
    leader_epoch: int = -1
    open_transactions: set[int] = field(default_factory=set)  # producer ids of those with records
    # Each epoch's first offset, position and file.
    epochs: list[tuple[int, int, int, str]] = field(default_factory=list)
    # First missing offset, next one there, file.
    gaps: list[tuple[int, int, str]] = field(default_factory=list)


@dataclass(slots=True)
class ScrubbedSegment:
    """The contents of a scrubbed segment."""

    batches: BatchMap
    aborts: list[AbortMarker] = field(default_factory=list)
    times_known: bool = True  # no batch was skipped


def scrub_segment(
    scrub: Scrub,
    disk: Disk,
    path: str,
    base_offset: int,
    course: LogCourse,
    *,
    active: bool,
    meaning: Callable[[Record], NamedRecord] | None = None,
) -> ScrubbedSegment:
    """``meaning`` decodes the records of an internal topic; a deep scrub uses it."""
    found = ScrubbedSegment(BatchMap(complete=not active))
    file = disk.open(path)
    position = 0
    try:
        size_bytes = file.size_bytes()
        for batch in read_batches(file):
            position = batch.position + batch.header.size_bytes
            fault = _checksum_fault(batch)
            if fault is None:
                found.batches.add(batch.position, batch.header)
                _follow(scrub, path, batch, base_offset, course)
                _open(scrub, path, batch, course, found, meaning)
                scrub.batches += 1
                scrub.has_read(batch.header.size_bytes)
            elif active and position == size_bytes and _may_be_torn(batch.header, course):
                scrub.note(path, f"the last {fault}, {_TORN}", position=batch.position, offset=batch.header.base_offset)
            else:
                scrub.find_wrong(path, fault, position=batch.position, offset=batch.header.base_offset)
                course.unsure, found.times_known = True, False
                if _may_follow(batch.header, course):
                    # The index has an entry for it, and its base offset is intact.
                    found.batches.add(batch.position, batch.header._replace(last_offset_delta=0, max_timestamp=NO_TIMESTAMP))
    except Damage as damage:
        found.batches.complete = False
        if active and (torn := _torn(file, position)) is not None:
            scrub.note(path, f"{torn}, {_TORN}", position=position, offset=course.next_offset)
        else:
            course.unsure = True
            rest = file.size_bytes() - position
            scrub.find_wrong(
                path,
                f"{damage.why}; the {rest} bytes from there on cannot be decoded",
                position=position,
                offset=course.next_offset,
            )
    finally:
        file.close()
    if course.next_offset is None:
        course.next_offset = base_offset
    scrub.segments += 1
    return found


def _checksum_fault(batch: Batch) -> str | None:
    try:
        check_crc(batch.read(), batch.header)
    except CorruptBatch as error:
        return str(error)
    return None


def _may_be_torn(header: BatchHeader, course: LogCourse) -> bool:
    """Whether the last batch lies past the recovery point, so that it may be incomplete."""
    unflushed = course.recovery_point is None or header.base_offset >= course.recovery_point
    return unflushed and _may_follow(header, course)


def _may_follow(header: BatchHeader, course: LogCourse) -> bool:
    return course.next_offset is None or header.base_offset >= course.next_offset


def _torn(file: DiskFile, position: int) -> str | None:
    """The description of an incomplete write at the end of an active segment; None for bytes that
    no write leaves."""
    rest = file.size_bytes() - position
    head = file.read_at(position, HEADER_BYTES)
    if not any(head):
        while position < file.size_bytes():
            data = file.read_at(position, READ_BYTES)
            if any(data) or not data:
                return None
            position += len(data)
        return f"{rest} bytes of zeros end the log"
    if len(head) < HEADER_BYTES:
        return f"{rest} bytes are left, too few for a batch"
    header = read_header(head)
    if header.size_bytes > rest > 0 and header.base_offset >= 0:
        return f"a batch of {header.size_bytes} bytes is cut off after {rest}"
    return None


def _follow(scrub: Scrub, path: str, batch: Batch, base_offset: int, course: LogCourse) -> None:
    """Compare a header with those before it."""
    header, position = batch.header, batch.position
    if header.base_offset < base_offset:
        scrub.find_wrong(
            path,
            f"a batch begins at offset {header.base_offset}, below the {base_offset} of the file's name",
            position=position,
            offset=header.base_offset,
        )
    elif header.last_offset - base_offset > RELATIVE_OFFSET_MAX:
        scrub.find_wrong(
            path, f"offset {header.last_offset} is too far from the file's name for an index", position=position, offset=header.base_offset
        )
    expected = course.next_offset
    if expected is not None and header.base_offset < expected:
        scrub.find_wrong(
            path,
            f"a batch begins at offset {header.base_offset} where {expected} or more must follow",
            position=position,
            offset=header.base_offset,
        )
    elif expected is not None and header.base_offset > expected and not course.unsure:
        course.gaps.append((expected, header.base_offset, path))
    course.next_offset = max(header.last_offset + 1, expected or 0)
    course.unsure = False
    if header.leader_epoch < course.leader_epoch:
        scrub.find_wrong(
            path,
            f"a batch of leader epoch {header.leader_epoch} follows one of epoch {course.leader_epoch}",
            position=position,
            offset=header.base_offset,
        )
    elif header.leader_epoch > course.leader_epoch:
        course.leader_epoch = header.leader_epoch
        course.epochs.append((header.leader_epoch, header.base_offset, position, path))


def _open(
    scrub: Scrub, path: str, batch: Batch, course: LogCourse, found: ScrubbedSegment, meaning: Callable[[Record], NamedRecord] | None
) -> None:
    """Open control batches always, since they are few and the transaction index refers to them; the
    others in a deep scrub."""
    header = batch.header
    if header.transactional and not header.control and header.record_count > 0:
        course.open_transactions.add(header.producer_id)
    if not (header.control or scrub.deep):
        return
    try:
        records = list(open_batch(batch.read()))
        check_records(header, records)
        for record in records:
            if header.control:
                read_control_record(record)
                _end_transaction(header, record, course, found)
            elif meaning is not None:
                meaning(record)
    except ValueError as error:
        scrub.find_wrong(path, str(error), position=batch.position, offset=header.base_offset)


def _end_transaction(header: BatchHeader, record: Record, course: LogCourse, found: ScrubbedSegment) -> None:
    kind = read_control_type(record)
    if kind in (ControlType.ABORT, ControlType.COMMIT):
        had_records = header.producer_id in course.open_transactions
        course.open_transactions.discard(header.producer_id)
        if kind == ControlType.ABORT:
            found.aborts.append(AbortMarker(record.offset, header.producer_id, had_records))
