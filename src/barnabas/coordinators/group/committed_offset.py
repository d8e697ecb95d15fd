"""A committed offset of one partition, in memory and in the log."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.ids import ZERO_UUID, TopicPartition, Uuid
from barnabas.wire.coordinator_records.legacy_offset_commit import LegacyOffsetCommitValue
from barnabas.wire.coordinator_records.offset_commit import OffsetCommitKey, OffsetCommitValue

# A commit with its own expiry time (OffsetCommit before version 5) needs the one record version
# that has a field for it.
_VALUE_VERSION_WITH_EXPIRY = 1
_VALUE_VERSION = 4

NO_EXPIRY = -1  # The offset expires with its group, as almost all offsets do.


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    topic_id: Uuid
    """Zero if unknown: an old record, or a transactional commit."""
    serial: int
    """Rises with every replayed record, and so orders commits by their position in the log."""


def committed_from(value: OffsetCommitValue | LegacyOffsetCommitValue, serial: int) -> CommittedOffset:
    if isinstance(value, LegacyOffsetCommitValue):
        return CommittedOffset(value.offset, -1, value.metadata, value.commit_timestamp, NO_EXPIRY, ZERO_UUID, serial)
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        value.expire_timestamp,
        value.topic_id,
        serial,
    )


def commit_record(
    group_id: str,
    partition: TopicPartition,
    *,
    offset: int,
    leader_epoch: int,
    metadata: str | None,
    now_ms: int,
    expire_timestamp_ms: int = NO_EXPIRY,
    topic_id: Uuid = ZERO_UUID,
) -> CoordinatorRecord:
    expires = expire_timestamp_ms != NO_EXPIRY
    return CoordinatorRecord(
        OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition),
        OffsetCommitValue(
            offset=offset,
            leader_epoch=leader_epoch,
            metadata=metadata or "",
            commit_timestamp=now_ms,
            expire_timestamp=expire_timestamp_ms,
            # Version 1 has no topic id, and the replayed state must equal the state read back
            # later.
            topic_id=ZERO_UUID if expires else topic_id,
        ),
        _VALUE_VERSION_WITH_EXPIRY if expires else _VALUE_VERSION,
    )


def tombstone(group_id: str, partition: TopicPartition) -> CoordinatorRecord:
    return CoordinatorRecord(OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition), None)
