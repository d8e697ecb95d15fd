"""The header of a record batch (magic 2): the 61 bytes that a broker needs.

Between socket and segment a batch stays closed: the broker reads this header, checks the checksum
over the rest, and sets two fields, the base offset and the leader epoch. Those two lie in front of
the checksummed part for exactly this reason; a change behind byte 21 requires a new checksum
(:func:`restamp`).

    0 base offset        8 batch length     12 leader epoch     16 magic      17 crc-32c of the rest
    21 attributes       23 last offset delta  27 base timestamp  35 max timestamp
    43 producer id      51 producer epoch   53 base sequence    57 record count   61 records
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import NamedTuple

from crc32c import crc32c

from barnabas.model.buffers import Buffer

_LAYOUT = struct.Struct(">qiibIhiqqqhii")
_OFFSET_AND_LENGTH = struct.Struct(">qi")
_SIGNATURE = struct.Struct(">qii")
_INT64 = struct.Struct(">q")
_UINT32 = struct.Struct(">I")
_INT16 = struct.Struct(">h")

HEADER_BYTES = _LAYOUT.size
LENGTH_OVERHEAD_BYTES = 12  # base offset and length, which the length excludes
LEADER_EPOCH_POSITION = 12
MAGIC_POSITION = 16
CRC_POSITION = 17
CHECKSUMMED_POSITION = 21
ATTRIBUTES_LOW_BYTE_POSITION = 22
BASE_TIMESTAMP_POSITION = 27
MAX_TIMESTAMP_POSITION = 35
MAGIC = 2
# A record has at least a length, attributes, two deltas, two lengths and a header count, of one
# byte each.
RECORD_BYTES_MIN = 7

CODEC_MASK = 0x07
LOG_APPEND_TIME_BIT = 0x08
TRANSACTIONAL_BIT = 0x10
CONTROL_BIT = 0x20
DELETE_HORIZON_BIT = 0x40

NO_TIMESTAMP = -1
NO_SEQUENCE = -1


class TimestampType(IntEnum):
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHeader(NamedTuple):
    """:func:`read_header` makes it without calling the constructor, which would take longer than
    reading the bytes.
    """

    base_offset: int
    batch_length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size_bytes(self) -> int:
        return self.batch_length + LENGTH_OVERHEAD_BYTES

    @property
    def last_offset(self) -> int:
        # The delta survives compaction even when the last record did not, so the delta and not the
        # count gives the end of the batch.
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.attributes & LOG_APPEND_TIME_BIT else TimestampType.CREATE_TIME

    @property
    def transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def last_sequence(self) -> int:
        """Sequence numbers count records and wrap from 2^31-1 to 0."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return advance_sequence(self.base_sequence, self.last_offset_delta)


def advance_sequence(sequence: int, by: int) -> int:
    return (sequence + by) & 0x7FFF_FFFF


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Raises ``struct.error`` for fewer than 61 bytes."""
    return tuple.__new__(BatchHeader, _LAYOUT.unpack_from(buffer, position))


def write_header(buffer: bytearray | memoryview, header: BatchHeader, position: int = 0) -> None:
    _LAYOUT.pack_into(buffer, position, *header)


def write_plain_header(batch: bytearray, *, timestamp: int, base_sequence: int, record_count: int) -> None:
    """The header of an uncompressed batch of no producer, whose records have one timestamp and no
    gap between their offsets."""
    length = len(batch) - LENGTH_OVERHEAD_BYTES
    _LAYOUT.pack_into(batch, 0, 0, length, -1, MAGIC, 0, 0, record_count - 1, timestamp, timestamp, -1, -1, base_sequence, record_count)


def read_offset_and_length(buffer: Buffer, position: int) -> tuple[int, int]:
    """The two numbers with which to step from one batch to the next."""
    offset, length = _OFFSET_AND_LENGTH.unpack_from(buffer, position)
    return offset, length


def assign_offset(batch: bytearray | memoryview, base_offset: int, leader_epoch: int) -> None:
    """Set the fields that belong to the broker: base offset and leader epoch. Both are outside the
    checksum.

    ``batch`` must be exactly one batch: the length between the two fields is written back
    unchanged, so that one call suffices.
    """
    _SIGNATURE.pack_into(batch, 0, base_offset, len(batch) - LENGTH_OVERHEAD_BYTES, leader_epoch)


def restamp(batch: bytearray | memoryview, attributes: int, max_timestamp: int) -> None:
    """Set attributes and largest timestamp, and the checksum that covers them."""
    _INT16.pack_into(batch, CHECKSUMMED_POSITION, attributes)
    _INT64.pack_into(batch, MAX_TIMESTAMP_POSITION, max_timestamp)
    seal(batch)


def checksum(batch: Buffer) -> int:
    """CRC-32C of a whole batch's checksummed part. ``batch`` must be exactly one batch."""
    with memoryview(batch) as view:
        return crc32c(view[CHECKSUMMED_POSITION:])


def seal(batch: bytearray | memoryview) -> None:
    _UINT32.pack_into(batch, CRC_POSITION, checksum(batch))
