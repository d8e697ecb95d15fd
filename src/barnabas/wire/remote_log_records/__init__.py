"""Records of ``__remote_log_metadata``: what they are by key, and the frame each is written in.

A value is framed as in the metadata log: ``uvarint frame version = 1``, ``uvarint api key``, ``uvarint version``, then the message.
Records have no key.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from barnabas.model.buffers import Buffer
from barnabas.wire.compiler import DECODE_ERRORS, decoder, encoder
from barnabas.wire.declare import declaration_of
from barnabas.wire.remote_log_records.partition_delete_metadata import RemotePartitionDeleteMetadataRecord
from barnabas.wire.remote_log_records.segment_metadata import RemoteLogSegmentMetadataRecord
from barnabas.wire.remote_log_records.segment_metadata_snapshot import RemoteLogSegmentMetadataSnapshotRecord
from barnabas.wire.remote_log_records.segment_metadata_update import RemoteLogSegmentMetadataUpdateRecord
from barnabas.wire.tagged_fields import MalformedMessage
from barnabas.wire.varint import read_uvarint, write_uvarint

__all__ = [
    "FRAME_VERSION",
    "RECORDS",
    "RemoteLogRecord",
    "RemoteLogSegmentMetadataRecord",
    "RemoteLogSegmentMetadataSnapshotRecord",
    "RemoteLogSegmentMetadataUpdateRecord",
    "RemotePartitionDeleteMetadataRecord",
    "decode_remote_log_record",
    "encode_remote_log_record",
]

RemoteLogRecord: TypeAlias = (
    RemoteLogSegmentMetadataRecord
    | RemoteLogSegmentMetadataUpdateRecord
    | RemotePartitionDeleteMetadataRecord
    | RemoteLogSegmentMetadataSnapshotRecord
)

FRAME_VERSION: Final = 1
RECORDS: Final[dict[int, type[Any]]] = {}
for _record in RemoteLogRecord.__args__:
    _key = declaration_of(_record).key
    assert _key is not None
    RECORDS[_key] = _record


def encode_remote_log_record(record: RemoteLogRecord) -> bytes:
    """In the newest version."""
    declaration = declaration_of(type(record))
    assert declaration.key is not None
    out = bytearray((FRAME_VERSION,))
    write_uvarint(out, declaration.key)
    version = declaration.versions.highest
    write_uvarint(out, version)
    encoder(type(record), version)(record, out)
    return bytes(out)


def decode_remote_log_record(value: Buffer) -> RemoteLogRecord:
    """``MalformedMessage`` for bytes that are none of the four, whoever wrote them."""
    try:
        frame_version, position = read_uvarint(value, 0)
        key, position = read_uvarint(value, position)
        version, position = read_uvarint(value, position)
        if frame_version != FRAME_VERSION:
            raise MalformedMessage(f"frame version {frame_version} is not {FRAME_VERSION}")
        if key not in RECORDS:
            raise MalformedMessage(f"record type {key} is unknown")
        record, end = decoder(RECORDS[key], version)(value, position)
    except DECODE_ERRORS as wrong:
        raise MalformedMessage(f"remote log record cannot be read: {wrong}") from wrong
    if end != len(value):
        raise MalformedMessage(f"{len(value) - end} bytes follow a {type(record).__name__}")
    made: RemoteLogRecord = record
    return made
