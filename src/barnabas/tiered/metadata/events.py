"""Encodes and decodes the records of ``__remote_log_metadata``, and finds the partition of that
topic that has the events of a given partition."""

from __future__ import annotations

import struct
from typing import TypeAlias, assert_never

from barnabas.model.buffers import Buffer
from barnabas.model.ids import Uuid
from barnabas.storage.leader_epochs import EpochStart
from barnabas.tiered.metadata.segment_metadata import (
    RemotePartition,
    RemotePartitionDelete,
    RemoteSegmentId,
    RemoteSegmentMetadata,
    RemoteSegmentUpdate,
)
from barnabas.tiered.metadata.segment_state import PartitionDeleteState, SegmentState
from barnabas.wire.remote_log_records import (
    RemoteLogSegmentMetadataRecord,
    RemoteLogSegmentMetadataSnapshotRecord,
    RemoteLogSegmentMetadataUpdateRecord,
    RemotePartitionDeleteMetadataRecord,
    decode_remote_log_record,
    encode_remote_log_record,
    partition_delete_metadata,
    segment_metadata,
    segment_metadata_update,
)
from barnabas.wire.tagged_fields import MalformedMessage

RemoteLogEvent: TypeAlias = RemoteSegmentMetadata | RemoteSegmentUpdate | RemotePartitionDelete


def partition_of(event: RemoteLogEvent) -> RemotePartition:
    return event.id.partition if isinstance(event, RemoteSegmentMetadata) else event.partition


def encode_event(event: RemoteLogEvent) -> bytes:
    """The value of a record in ``__remote_log_metadata``; its key is null."""
    match event:
        case RemoteSegmentMetadata():
            return encode_remote_log_record(_segment_record(event))
        case RemoteSegmentUpdate():
            return encode_remote_log_record(_update_record(event))
        case RemotePartitionDelete():
            return encode_remote_log_record(_delete_record(event))
        case _:
            assert_never(event)


def decode_event(value: Buffer) -> RemoteLogEvent:
    """Raises ``MalformedMessage`` for any other value; the reader of the topic skips and logs
    it."""
    record = decode_remote_log_record(value)
    try:
        match record:
            case RemoteLogSegmentMetadataRecord():
                return _segment(record)
            case RemoteLogSegmentMetadataUpdateRecord():
                return RemoteSegmentUpdate(
                    _segment_id(record.remote_log_segment_id),
                    SegmentState(record.remote_log_segment_state),
                    broker_id=record.broker_id,
                    event_timestamp=record.event_timestamp_ms,
                    custom_metadata=_custom(record.custom_metadata),
                )
            case RemotePartitionDeleteMetadataRecord():
                return RemotePartitionDelete(
                    _partition(record.topic_id_partition),
                    PartitionDeleteState(record.remote_partition_delete_state),
                    broker_id=record.broker_id,
                    event_timestamp=record.event_timestamp_ms,
                )
            case RemoteLogSegmentMetadataSnapshotRecord():
                raise MalformedMessage("a snapshot record does not name its partition, and does not belong into the topic")
            case _:
                assert_never(record)
    except ValueError as error:
        raise MalformedMessage(f"remote log event is invalid: {error}") from error


def _segment_record(segment: RemoteSegmentMetadata) -> RemoteLogSegmentMetadataRecord:
    partition = segment.id.partition
    return RemoteLogSegmentMetadataRecord(
        remote_log_segment_id=segment_metadata.RemoteLogSegmentIdEntry(
            topic_id_partition=segment_metadata.TopicIdPartitionEntry(
                name=partition.topic, id=partition.topic_id, partition=partition.partition
            ),
            id=segment.id.uuid,
        ),
        start_offset=segment.start_offset,
        end_offset=segment.end_offset,
        broker_id=segment.broker_id,
        max_timestamp_ms=segment.max_timestamp,
        event_timestamp_ms=segment.event_timestamp,
        segment_leader_epochs=[
            segment_metadata.SegmentLeaderEpochEntry(leader_epoch=entry.epoch, offset=entry.start_offset) for entry in segment.leader_epochs
        ],
        segment_size_in_bytes=segment.size_bytes,
        custom_metadata=segment.custom_metadata,
        remote_log_segment_state=segment.state,
        txn_index_empty=segment.txn_index_empty,
    )


def _segment(record: RemoteLogSegmentMetadataRecord) -> RemoteSegmentMetadata:
    # A list on the wire, a map in meaning, so any order is accepted.
    epochs = sorted(EpochStart(each.leader_epoch, each.offset) for each in record.segment_leader_epochs)
    return RemoteSegmentMetadata(
        _segment_id(record.remote_log_segment_id),
        start_offset=record.start_offset,
        end_offset=record.end_offset,
        leader_epochs=tuple(epochs),
        size_bytes=record.segment_size_in_bytes,
        max_timestamp=record.max_timestamp_ms,
        broker_id=record.broker_id,
        event_timestamp=record.event_timestamp_ms,
        state=SegmentState(record.remote_log_segment_state),
        custom_metadata=_custom(record.custom_metadata),
        txn_index_empty=record.txn_index_empty,
    )


def _update_record(update: RemoteSegmentUpdate) -> RemoteLogSegmentMetadataUpdateRecord:
    partition = update.id.partition
    return RemoteLogSegmentMetadataUpdateRecord(
        remote_log_segment_id=segment_metadata_update.RemoteLogSegmentIdEntry(
            topic_id_partition=segment_metadata_update.TopicIdPartitionEntry(
                name=partition.topic, id=partition.topic_id, partition=partition.partition
            ),
            id=update.id.uuid,
        ),
        broker_id=update.broker_id,
        event_timestamp_ms=update.event_timestamp,
        custom_metadata=update.custom_metadata,
        remote_log_segment_state=update.state,
    )


def _delete_record(delete: RemotePartitionDelete) -> RemotePartitionDeleteMetadataRecord:
    return RemotePartitionDeleteMetadataRecord(
        topic_id_partition=partition_delete_metadata.TopicIdPartitionEntry(
            name=delete.partition.topic, id=delete.partition.topic_id, partition=delete.partition.partition
        ),
        broker_id=delete.broker_id,
        event_timestamp_ms=delete.event_timestamp,
        remote_partition_delete_state=delete.state,
    )


def _segment_id(entry: segment_metadata.RemoteLogSegmentIdEntry | segment_metadata_update.RemoteLogSegmentIdEntry) -> RemoteSegmentId:
    return RemoteSegmentId(_partition(entry.topic_id_partition), Uuid(bytes(entry.id)))


def _partition(
    entry: segment_metadata.TopicIdPartitionEntry
    | segment_metadata_update.TopicIdPartitionEntry
    | partition_delete_metadata.TopicIdPartitionEntry,
) -> RemotePartition:
    return RemotePartition(Uuid(bytes(entry.id)), entry.name, entry.partition)


def _custom(value: Buffer | None) -> bytes | None:
    return None if value is None else bytes(value)


# -- which partition of the metadata topic ---------------------------------------------------------

_INT64_PAIR = struct.Struct(">qq")


def metadata_partition(partition: RemotePartition, partition_count: int) -> int:
    """The partition of ``__remote_log_metadata`` that has the events of ``partition``: by Kafka's
    hash, since other brokers may be Kafka's."""
    most, least = _INT64_PAIR.unpack(partition.topic_id)
    hashed = 1
    for value in (_java_long_hash(least), _java_long_hash(most), partition.partition):
        hashed = (31 * hashed + value) & 0xFFFF_FFFF
    return (_murmur2(hashed.to_bytes(4, "big")) & 0x7FFF_FFFF) % partition_count


def _java_long_hash(value: int) -> int:
    unsigned = value & 0xFFFF_FFFF_FFFF_FFFF
    return (unsigned ^ (unsigned >> 32)) & 0xFFFF_FFFF


def _murmur2(data: bytes) -> int:
    """For exactly four bytes, the only length that is hashed here."""
    mask, multiplier = 0xFFFF_FFFF, 0x5BD1_E995
    hashed = 0x9747_B28C ^ len(data)
    mixed = (int.from_bytes(data, "little") * multiplier) & mask
    mixed = ((mixed ^ (mixed >> 24)) * multiplier) & mask
    hashed = ((hashed * multiplier) & mask) ^ mixed
    hashed = ((hashed ^ (hashed >> 13)) * multiplier) & mask
    return hashed ^ (hashed >> 15)
