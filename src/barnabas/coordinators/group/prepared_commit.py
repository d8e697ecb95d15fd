"""A commit of one partition, encoded once: later commits differ only in offset, leader epoch and
time.

A consumer commits the same partitions again and again. So the batch is built once with marks in it,
and each commit copies it with its own numbers in place of the marks. The bytes are those that the
normal way would write.

Only the bytes are prepared, no decision: permission is checked for every commit, as on the normal
way.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import cast

from barnabas.coordinators.group.committed_offset import commit_record
from barnabas.coordinators.group.machine import GroupMachine
from barnabas.coordinators.record import CoordinatorRecord
from barnabas.model.ids import TopicPartition
from barnabas.records.batch_header import BASE_TIMESTAMP_POSITION, HEADER_BYTES, seal
from barnabas.wire.coordinator_records.offset_commit import OffsetCommitValue
from barnabas.wire.messages.offset_commit import OffsetCommitRequest

# The marks find the positions of the real values. They consist of bytes that UTF-8 never contains,
# so no name or metadata of a client can equal them.
_MARK_OFFSET, _MARK_TIME = b"\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xf8", b"\xf9\xfa\xfb\xfc\xfd\xfe\xf8\xf9"
_OFFSET_AND_EPOCH = struct.Struct(">qi")
_TIMESTAMP = struct.Struct(">q")
_BASE_AND_MAX_TIMESTAMP = struct.Struct(">qq")

EncodeRecords = Callable[[Sequence[CoordinatorRecord], int], bytearray]


class PreparedCommit:
    """For a request about one partition, with the topic's name and id filled in for every version.
    Not for requests of the oldest clients with their own retention time.
    """

    __slots__ = ("_offset_position", "_template", "_time_position", "_value", "_version", "record", "request")

    def __init__(self, request: OffsetCommitRequest, version: int, encode: EncodeRecords) -> None:
        """``encode`` builds the uncompressed batch of records at a given time."""
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
        self._template = bytes(encode([self.record], mark_time))
        self._offset_position = self._template.index(_MARK_OFFSET, HEADER_BYTES)
        self._time_position = self._template.index(_MARK_TIME, self._offset_position)

    def commit(self, offset: int, leader_epoch: int) -> None:
        """Set the offset for the following :meth:`decide`."""
        self._value.offset = offset
        self._value.leader_epoch = leader_epoch

    def decide(self, machine: GroupMachine, now_ms: int) -> bytearray | None:
        value = self._value
        if machine.offsets.commit_error(self.request, self._version, now_ms) or machine.offsets.metadata_error(value.metadata):
            return None
        value.commit_timestamp = now_ms
        batch = bytearray(self._template)
        _BASE_AND_MAX_TIMESTAMP.pack_into(batch, BASE_TIMESTAMP_POSITION, now_ms, now_ms)
        _OFFSET_AND_EPOCH.pack_into(batch, self._offset_position, value.offset, value.leader_epoch)
        _TIMESTAMP.pack_into(batch, self._time_position, now_ms)
        seal(batch)
        return batch
