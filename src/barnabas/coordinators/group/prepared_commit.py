"""A commit of one partition, encoded once: later commits differ only in offset, leader epoch, time
and place in their batch.

A consumer commits the same partitions again and again. So the record is encoded once with marks in
it, and each commit copies it with its own numbers in place of the marks. The bytes are those that
the normal way would write.

Only the bytes are prepared, no decision: permission is checked for every commit, as on the normal
way.
"""

from __future__ import annotations

import struct
from typing import cast

from barnabas.coordinators.group.committed_offset import commit_record
from barnabas.coordinators.group.machine import GroupMachine
from barnabas.model.ids import TopicPartition
from barnabas.records.record import Record, write_record
from barnabas.wire.coordinator_records.offset_commit import OffsetCommitValue
from barnabas.wire.messages.offset_commit import OffsetCommitRequest

# The marks find the positions of the real values. They consist of bytes that UTF-8 never contains,
# so no name or metadata of a client can equal them.
_MARK_OFFSET, _MARK_TIME = b"\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xf8", b"\xf9\xfa\xfb\xfc\xfd\xfe\xf8\xf9"
_OFFSET_AND_EPOCH = struct.Struct(">qi")
_TIMESTAMP = struct.Struct(">q")

# The offset delta of a record takes one byte up to 63.
COMMITS_TOGETHER_MAX = 64


class PreparedCommit:
    """For a request about one partition, with the topic's name and id filled in for every version.
    Not for requests of the oldest clients with their own retention time.
    """

    __slots__ = ("_delta_position", "_offset_position", "_template", "_time_position", "_value", "_version", "record", "request")

    def __init__(self, request: OffsetCommitRequest, version: int) -> None:
        (topic,) = request.topics
        (asked,) = topic.partitions
        mark_time = int.from_bytes(_MARK_TIME, "big", signed=True)
        self.request = request
        self._version = version
        self.record = commit_record(
            request.group_id,
            TopicPartition(topic.name, asked.partition_index),
            offset=int.from_bytes(_MARK_OFFSET, "big", signed=True),
            leader_epoch=-1,
            metadata=asked.committed_metadata,
            now_ms=mark_time,
            topic_id=topic.topic_id,
        )
        self._value = cast(OffsetCommitValue, self.record.value)
        key, value = self.record.encode()
        first, last = bytearray(), bytearray()
        write_record(first, offset_delta=0, timestamp_delta=0, record=Record(0, 0, key, value))
        write_record(last, offset_delta=COMMITS_TOGETHER_MAX - 1, timestamp_delta=0, record=Record(0, 0, key, value))
        (self._delta_position,) = (place for place, (one, other) in enumerate(zip(first, last, strict=True)) if one != other)
        self._template = bytes(first)
        self._offset_position = self._template.index(_MARK_OFFSET)
        self._time_position = self._template.index(_MARK_TIME, self._offset_position)

    def commit(self, offset: int, leader_epoch: int) -> None:
        """Set the offset for the following :meth:`decide`."""
        self._value.offset = offset
        self._value.leader_epoch = leader_epoch

    def decide(self, machine: GroupMachine, now_ms: int) -> bool:
        value = self._value
        if machine.offsets.commit_error(self.request, self._version, now_ms) or machine.offsets.metadata_error(value.metadata):
            return False
        value.commit_timestamp = now_ms
        return True

    def encode_at(self, offset_delta: int) -> bytearray:
        value = self._value
        record = bytearray(self._template)
        record[self._delta_position] = offset_delta << 1  # zig-zag
        _OFFSET_AND_EPOCH.pack_into(record, self._offset_position, value.offset, value.leader_epoch)
        _TIMESTAMP.pack_into(record, self._time_position, value.commit_timestamp)
        return record
