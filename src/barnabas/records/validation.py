"""The checks that a broker makes before it appends a batch, with Kafka's error codes.

The batch stays closed. Its header and checksum are always checked; of an uncompressed batch also
the first records, and all of them where the topic is compacted and keys are required. Two things
are *not* checked that Apache Kafka does check by decompressing and reading every batch: the inside
of compressed batches, and the records after the sixteenth. A producer that computes a valid
checksum over garbage can hurt only the readers of its own topic. ``docs/decisions`` argues this.

Only topic settings that need every record (another codec, a bound on age) open the batch. The event
loop does that work, and a few kilobytes of zstd may hold millions of records, so a batch with more
than :data:`OPENED_RECORDS_MAX` is refused there. A batch that is opened only to explain a refusal
has smaller bounds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from itertools import islice
from typing import NamedTuple

from crc32c import crc32c

from barnabas.model.buffers import Buffer
from barnabas.model.dataclass import dataclass
from barnabas.model.errors import ErrorCode
from barnabas.records.batch_builder import build_batch
from barnabas.records.batch_header import (
    CHECKSUMMED_POSITION,
    CODEC_MASK,
    CONTROL_BIT,
    HEADER_BYTES,
    LENGTH_OVERHEAD_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    NO_TIMESTAMP,
    RECORD_BYTES_MIN,
    TRANSACTIONAL_BIT,
    BatchHeader,
    TimestampType,
    read_header,
    read_offset_and_length,
    restamp,
)
from barnabas.records.compression import DECOMPRESSED_BYTES_MAX, Codec, DecompressionFailed, DecompressionTooLarge, decompress
from barnabas.records.record import MalformedRecord, Record, read_records
from barnabas.records.record_check import RecordFault, check_records
from barnabas.records.schema_rules import SchemaRules

# Enough to check a small batch whole, and few enough to cost a big batch next to nothing.
CHECKED_RECORDS_MAX = 16
LONG_MAX = 2**63 - 1
_ALL_RECORDS = 2**31
# A megabyte of the smallest records that carry anything has a third of this. Opening so many takes
# about a second.
OPENED_RECORDS_MAX = 500_000
# A compressed batch stays closed, but no more records than this can be in it.
_COMPRESSED_RECORDS_MAX = DECOMPRESSED_BYTES_MAX // RECORD_BYTES_MIN
# The records that are opened, and named, in order to tell a producer why its batch is refused.
EXPLAINED_BYTES_MAX = 8 * 1024 * 1024
EXPLAINED_RECORDS_MAX = 10_000
RECORD_ERRORS_MAX = 1_000
_OLDEST_BATCH_BYTES_MIN = 14  # the bytes behind the length in the smallest message of magic 0
# Base offset, length, leader epoch and magic: fewer bytes look like garbage.
_MAGIC_SEEN_BYTES = 17

_FRAME_MAGICS = {Codec.GZIP: b"\x1f\x8b", Codec.LZ4: b"\x04\x22\x4d\x18", Codec.ZSTD: b"\x28\xb5\x2f\xfd"}


class RecordError(NamedTuple):
    batch_index: int
    message: str | None


class Refused(NamedTuple):
    """Why a batch is not appended: a value, not an exception."""

    code: ErrorCode
    message: str
    record_errors: tuple[RecordError, ...] = ()


class Accepted(NamedTuple):
    """A batch ready for its offset: the producer's own bytes, or rebuilt ones where the topic uses
    another codec.
    """

    batch: memoryview
    header: BatchHeader
    append_time_ms: int  # -1 where the producer's timestamps stay


@dataclass(frozen=True, slots=True)
class BatchRules:
    """A topic's rules for batches, computed from its configuration once and not per request."""

    size_bytes_max: int = 1_048_588
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    timestamp_before_ms_max: int = LONG_MAX
    timestamp_after_ms_max: int = 3_600_000
    codec: Codec | None = None  # None keeps the producer's
    codec_level: int | None = None
    keys_required: bool = False
    # Checked before the batch reaches this module; None where records need no schemas.
    schemas: SchemaRules | None = None
    plain: bool = field(init=False)  # no rule of this module requires opening or changing a batch

    def __post_init__(self) -> None:
        plain = (
            self.codec is None
            and not self.keys_required
            and self.timestamp_type is TimestampType.CREATE_TIME
            and self.timestamp_before_ms_max == LONG_MAX
        )
        object.__setattr__(self, "plain", plain)


def validate(records: memoryview | None, rules: BatchRules, now_ms: int) -> Accepted | Refused:
    """Check the records of one partition in one Produce request, which must be exactly one
    batch.
    """
    if records is None or len(records) < HEADER_BYTES:
        return _too_short(records)
    header = read_header(records)
    (
        base_offset,
        batch_length,
        _,
        magic,
        crc,
        attributes,
        last_offset_delta,
        _,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    ) = header
    size_bytes = len(records)
    if magic != MAGIC or batch_length + LENGTH_OVERHEAD_BYTES != size_bytes:
        return _invalid_frame(header, size_bytes)
    if base_offset:
        return Refused(ErrorCode.INVALID_RECORD, f"the base offset of a produced batch must be 0, not {base_offset}")
    if size_bytes > rules.size_bytes_max:
        return Refused(ErrorCode.MESSAGE_TOO_LARGE, f"the batch has {size_bytes} bytes where the topic allows {rules.size_bytes_max}")
    computed_crc = crc32c(records[CHECKSUMMED_POSITION:])
    if computed_crc != crc:
        return Refused(ErrorCode.CORRUPT_MESSAGE, f"the batch's checksum is {crc:08x}, its bytes give {computed_crc:08x}")
    if record_count <= 0 or last_offset_delta != record_count - 1:
        return Refused(ErrorCode.INVALID_RECORD, f"a batch of {record_count} records cannot span offsets 0 to {last_offset_delta}")
    if producer_id >= 0 and (base_sequence < 0 or producer_epoch < 0):
        return Refused(
            ErrorCode.INVALID_RECORD,
            f"producer {producer_id} sent epoch {producer_epoch} and sequence {base_sequence}; neither may be negative",
        )
    if attributes or not rules.plain:
        return _validate_unusual(records, header, rules, now_ms)
    try:
        check_records(records[HEADER_BYTES:], record_count, CHECKED_RECORDS_MAX)
    except RecordFault as fault:
        return _refused(fault)
    if max_timestamp > now_ms + rules.timestamp_after_ms_max:
        return _invalid_timestamps(records, header, rules, now_ms)
    return tuple.__new__(Accepted, (records, header, -1))  # equals Accepted(...), at half the cost


def _validate_unusual(records: memoryview, header: BatchHeader, rules: BatchRules, now_ms: int) -> Accepted | Refused:
    """Batches with attributes and topics with special rules: the checks that most batches do not
    need.
    """
    attributes = header.attributes
    if attributes & CONTROL_BIT:
        return Refused(ErrorCode.INVALID_RECORD, "clients may not write control records")
    if attributes & TRANSACTIONAL_BIT and header.producer_id < 0:
        return Refused(ErrorCode.INVALID_RECORD, "a transactional batch needs a producer id")
    append_time = rules.timestamp_type is TimestampType.LOG_APPEND_TIME
    if attributes & LOG_APPEND_TIME_BIT and append_time:
        return Refused(ErrorCode.INVALID_TIMESTAMP, "producers must not set the timestamp type to LogAppendTime")
    if attributes & CODEC_MASK or rules.codec or rules.keys_required or rules.timestamp_before_ms_max != LONG_MAX:
        rebuilt = _open_where_needed(records, header, rules, now_ms)
        if rebuilt is not None:
            return rebuilt
    else:
        refused = _check_first_records(records, header.record_count)
        if refused is not None:
            return refused
    if append_time:
        restamp(records, attributes | LOG_APPEND_TIME_BIT, now_ms)
        return Accepted(records, read_header(records), now_ms)
    if header.max_timestamp > now_ms + rules.timestamp_after_ms_max:
        return _invalid_timestamps(records, header, rules, now_ms)
    if attributes & LOG_APPEND_TIME_BIT:
        # The topic keeps the producers' time, so an append-time bit would make readers use the
        # wrong field.
        restamp(records, attributes & ~LOG_APPEND_TIME_BIT, header.max_timestamp)
        header = read_header(records)
    return Accepted(records, header, -1)


def _too_short(records: memoryview | None) -> Refused:
    if records is not None and len(records) >= LENGTH_OVERHEAD_BYTES:
        _, length = read_offset_and_length(records, 0)
        if length < _OLDEST_BATCH_BYTES_MIN:
            return Refused(ErrorCode.CORRUPT_MESSAGE, f"the batch announces a length of {length}")
    if records is not None and len(records) >= _MAGIC_SEEN_BYTES and records[_MAGIC_SEEN_BYTES - 1] > MAGIC:
        return Refused(ErrorCode.CORRUPT_MESSAGE, f"record batches have magic {MAGIC}, not {records[_MAGIC_SEEN_BYTES - 1]}")
    return Refused(ErrorCode.INVALID_RECORD, "a produce request must hold exactly one whole record batch per partition")


def _invalid_frame(header: BatchHeader, size_bytes: int) -> Refused:
    if not 0 <= header.magic <= MAGIC:
        return Refused(ErrorCode.CORRUPT_MESSAGE, f"record batches have magic {MAGIC}, not {header.magic}")
    if header.magic != MAGIC:
        return Refused(ErrorCode.INVALID_RECORD, f"only record batches with magic {MAGIC} may be produced, not {header.magic}")
    if header.batch_length < HEADER_BYTES - LENGTH_OVERHEAD_BYTES:
        return Refused(ErrorCode.CORRUPT_MESSAGE, f"the batch announces a length of {header.batch_length}")
    return Refused(
        ErrorCode.INVALID_RECORD,
        f"a produce request must hold exactly one whole record batch per partition; this one has {header.size_bytes} of {size_bytes} bytes",
    )


def _check_first_records(records: memoryview, record_count: int) -> Refused | None:
    try:
        check_records(records[HEADER_BYTES:], record_count, CHECKED_RECORDS_MAX)
    except RecordFault as fault:
        return _refused(fault)
    return None


def _refused(fault: RecordFault) -> Refused:
    return Refused(ErrorCode.INVALID_RECORD, "one or more records have been rejected", (RecordError(fault.index, fault.message),))


def _open_where_needed(records: memoryview, header: BatchHeader, rules: BatchRules, now_ms: int) -> Accepted | Refused | None:
    """For batches that are compressed or whose topic needs their records. None means that the batch
    may stay as it is.
    """
    recompress = rules.codec is not None and rules.codec != header.codec
    old_counts = rules.timestamp_before_ms_max != LONG_MAX and rules.timestamp_type is TimestampType.CREATE_TIME
    if not (recompress or rules.keys_required or old_counts):
        if header.codec == Codec.NONE:
            return _check_first_records(records, header.record_count)
        if header.record_count > _COMPRESSED_RECORDS_MAX:
            return Refused(ErrorCode.INVALID_RECORD, f"no compressed batch has {header.record_count} records")
        return None if _plausible(header.codec, records[HEADER_BYTES:]) else _undecodable(header.codec)
    if header.record_count > OPENED_RECORDS_MAX:
        return Refused(
            ErrorCode.INVALID_RECORD, f"the batch has {header.record_count} records where the topic opens batches of {OPENED_RECORDS_MAX}"
        )
    try:
        body = decompress(header.codec, records[HEADER_BYTES:])
        check_records(body, header.record_count, _ALL_RECORDS, rules.keys_required)
        if not (recompress or old_counts):
            return None
        opened = list(read_records(header, body))
    except RecordFault as fault:
        return (_without_keys(header, body) if rules.keys_required else None) or _refused(fault)
    except (DecompressionFailed, MalformedRecord) as error:
        return Refused(ErrorCode.INVALID_RECORD, f"the batch cannot be read: {error}")
    if rules.timestamp_type is TimestampType.CREATE_TIME:
        refused = _check_timestamps(opened, rules, now_ms)
        if refused is not None:
            return refused
    if not recompress:
        return None
    return _recompress(header, opened, rules, now_ms)


def _without_keys(header: BatchHeader, body: Buffer) -> Refused | None:
    """The records without a key, when that is the fault: the check stops at the first, and the
    producer needs the list.
    """
    looked_at = enumerate(islice(read_records(header, body), EXPLAINED_RECORDS_MAX))
    without_key = (
        RecordError(index, "a compacted topic accepts only records with a key") for index, record in looked_at if record.key is None
    )
    try:
        missing = tuple(islice(without_key, RECORD_ERRORS_MAX))
    except MalformedRecord:
        return None
    return Refused(ErrorCode.INVALID_RECORD, "one or more records have been rejected", missing) if missing else None


def _recompress(header: BatchHeader, opened: list[Record], rules: BatchRules, now_ms: int) -> Accepted | Refused:
    append_time = rules.timestamp_type is TimestampType.LOG_APPEND_TIME
    batch = build_batch(
        (record._replace(timestamp=now_ms) for record in opened) if append_time else opened,
        codec=rules.codec or Codec.NONE,
        level=rules.codec_level,
        timestamp_type=rules.timestamp_type,
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        transactional=header.transactional,
    )
    if len(batch) > rules.size_bytes_max:
        return Refused(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"the batch has {len(batch)} bytes in the topic's codec where the topic allows {rules.size_bytes_max}",
        )
    return Accepted(memoryview(batch), read_header(batch), now_ms if append_time else -1)


def _plausible(codec: int, body: memoryview) -> bool:
    """Whether compressed bytes at least begin like their codec. Snappy has no magic that all its
    writers use.
    """
    if codec == Codec.SNAPPY:
        return True
    magic = _FRAME_MAGICS.get(Codec(codec)) if codec in _FRAME_MAGICS else None
    return magic is not None and bytes(body[: len(magic)]) == magic


def _undecodable(codec: int) -> Refused:
    if codec > Codec.ZSTD:
        return Refused(ErrorCode.INVALID_RECORD, f"compression codec {codec} does not exist")
    return Refused(ErrorCode.INVALID_RECORD, f"the compressed records do not begin like {Codec(codec).name.lower()}")


def _invalid_timestamps(records: memoryview, header: BatchHeader, rules: BatchRules, now_ms: int) -> Refused:
    """The header alone is enough to refuse the batch; opening it only tells the producer which
    records are invalid.
    """
    explained: Refused | None = None
    try:
        body = decompress(header.codec, records[HEADER_BYTES:], EXPLAINED_BYTES_MAX)
        explained = _check_timestamps(islice(read_records(header, body), EXPLAINED_RECORDS_MAX), rules, now_ms)
    except DecompressionTooLarge:
        pass  # The header has to do.
    except (DecompressionFailed, MalformedRecord) as error:
        return Refused(ErrorCode.INVALID_RECORD, f"the batch cannot be read: {error}")
    return explained or Refused(
        ErrorCode.INVALID_TIMESTAMP, f"the batch's largest timestamp {header.max_timestamp} is too far in the future"
    )


def _check_timestamps(opened: Iterable[Record], rules: BatchRules, now_ms: int) -> Refused | None:
    earliest = now_ms - rules.timestamp_before_ms_max
    latest = now_ms + rules.timestamp_after_ms_max
    out_of_range = (
        RecordError(index, f"timestamp {record.timestamp} is not between {earliest} and {latest}")
        for index, record in enumerate(opened)
        if not earliest <= record.timestamp <= latest and record.timestamp != NO_TIMESTAMP
    )
    errors = tuple(islice(out_of_range, RECORD_ERRORS_MAX))
    if not errors:
        return None
    return Refused(ErrorCode.INVALID_TIMESTAMP, "one or more records have been rejected due to invalid timestamp", errors)
