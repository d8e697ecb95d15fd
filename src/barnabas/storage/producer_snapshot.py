"""``.snapshot``: a partition's producers as of the offset in the file's name, so that opening a log
need not replay all of it.

    int16 version=1   uint32 crc-32c of the rest   int32 count   then 46 bytes a producer:
    producer id, epoch, last sequence, last offset, offset delta, timestamp, coordinator epoch,
    first offset of its open transaction

Only the last batch of each producer is in a snapshot, as in Kafka.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from crc32c import crc32c

from barnabas.env.disk import Disk, write_atomically
from barnabas.records.batch_header import NO_SEQUENCE, advance_sequence
from barnabas.storage.file_names import SNAPSHOT_SUFFIX, offset_name, parse_segment_file
from barnabas.storage.producer_state import Producer, SentBatch

_VERSION = 1
_HEAD = struct.Struct(">hIi")
_CRC_POSITION = 2
_CHECKSUMMED_POSITION = 6
_ENTRY = struct.Struct(">qhiqiqiq")
_NO_TRANSACTION = -1


class SnapshotDamaged(ValueError):
    """An invalid snapshot; the log can always be replayed instead."""


def snapshot_path(directory: str, offset: int) -> str:
    return f"{directory}/{offset_name(offset)}{SNAPSHOT_SUFFIX}"


def list_snapshots(disk: Disk, directory: str) -> list[int]:
    """Offsets of the snapshots in a partition's directory, rising."""
    found = (parse_segment_file(name) for name in disk.names(directory))
    return sorted(each[0] for each in found if each is not None and each[1] == SNAPSHOT_SUFFIX and not each[2])


def write_snapshot(disk: Disk, directory: str, offset: int, producers: Iterable[Producer]) -> None:
    write_atomically(disk, snapshot_path(directory, offset), encode_snapshot(producers))


def encode_snapshot(producers: Iterable[Producer]) -> bytes:
    entries = [_encode(producer) for producer in producers]
    data = bytearray(_HEAD.pack(_VERSION, 0, len(entries)) + b"".join(entries))
    struct.pack_into(">I", data, _CRC_POSITION, crc32c(memoryview(data)[_CHECKSUMMED_POSITION:]))
    return bytes(data)


def _encode(producer: Producer) -> bytes:
    last = producer.batches[-1] if producer.batches else None
    first_open = producer.transaction_first_offset
    return _ENTRY.pack(
        producer.producer_id,
        producer.epoch,
        last.last_sequence if last else NO_SEQUENCE,
        last.last_offset if last else -1,
        last.last_offset - last.base_offset if last else 0,
        producer.last_timestamp,
        producer.coordinator_epoch,
        _NO_TRANSACTION if first_open is None else first_open,
    )


def read_snapshot(disk: Disk, directory: str, offset: int) -> list[Producer]:
    path = snapshot_path(directory, offset)
    data = disk.read(path)
    try:
        return decode_snapshot(data)
    except SnapshotDamaged as error:
        raise SnapshotDamaged(f"{path}: {error}") from None


def decode_snapshot(data: bytes) -> list[Producer]:
    if len(data) < _HEAD.size:
        raise SnapshotDamaged(f"{len(data)} bytes are too few")
    version, crc, count = _HEAD.unpack_from(data)
    if version != _VERSION:
        raise SnapshotDamaged(f"version {version} is not {_VERSION}")
    if crc32c(memoryview(data)[_CHECKSUMMED_POSITION:]) != crc:
        raise SnapshotDamaged("the checksum does not match")
    if _HEAD.size + count * _ENTRY.size != len(data):
        raise SnapshotDamaged(f"{count} entries do not fill {len(data)} bytes")
    return [_decode(values) for values in _ENTRY.iter_unpack(data[_HEAD.size :])]


def _decode(values: tuple[int, ...]) -> Producer:
    producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, first_open = values
    producer = Producer(
        producer_id,
        epoch,
        coordinator_epoch=coordinator_epoch,
        last_timestamp=timestamp,
        transaction_first_offset=None if first_open == _NO_TRANSACTION else first_open,
    )
    if last_offset >= 0:
        base_sequence = NO_SEQUENCE if last_sequence == NO_SEQUENCE else advance_sequence(last_sequence, -delta)
        producer.batches.append(SentBatch(base_sequence, last_sequence, last_offset - delta, last_offset, timestamp))
    return producer
