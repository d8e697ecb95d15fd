"""Records of ``__remote_log_metadata``, one module per record.

:data:`RECORDS` finds a record class by its key. :mod:`~barnabas.wire.framed_records` frames them,
as in the metadata log. Not here: the state that they build up (the remote log's catalogue).
"""

from __future__ import annotations

from typing import Final, TypeAlias

from barnabas.model.buffers import Buffer
from barnabas.wire.framed_records import by_key, decode_framed, encode_framed
from barnabas.wire.remote_log_records.partition_delete_metadata import RemotePartitionDeleteMetadataRecord
from barnabas.wire.remote_log_records.segment_metadata import RemoteLogSegmentMetadataRecord
from barnabas.wire.remote_log_records.segment_metadata_snapshot import RemoteLogSegmentMetadataSnapshotRecord
from barnabas.wire.remote_log_records.segment_metadata_update import RemoteLogSegmentMetadataUpdateRecord

__all__ = [
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

RECORDS: Final = by_key(RemoteLogRecord.__args__)


def encode_remote_log_record(record: RemoteLogRecord) -> bytes:
    return encode_framed(record)


def decode_remote_log_record(value: Buffer) -> RemoteLogRecord:
    """Raises ``MalformedMessage`` for bytes that are none of the four records."""
    record: RemoteLogRecord = decode_framed(value, RECORDS, "remote log record")
    return record
