"""A commit of one partition, encoded once: its offset, leader epoch and time are all that differ from one to the next.

Whoever commits does so again and again, and about the same partition. So the batch is built once with marks in it, and for each commit
copied, with the numbers of that commit where the marks were. The bytes are those that the ordinary way would write.

Only the bytes are prepared, no decision: whether the commit is allowed is asked every time, as it is asked the ordinary way.
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

# To find out where the real values belong: made of bytes that UTF-8 never has, so no name or metadata of a client can spell them.
_MARK_OFFSET, _MARK_TIME = b"\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xf8", b"\xf9\xfa\xfb\xfc\xfd\xfe\xf8\xf9"
_OFFSET_AND_EPOCH = struct.Struct(">qi")
_TIMESTAMP = struct.Struct(">q")
_BASE_AND_MAX_TIMESTAMP = struct.Struct(">qq")

EncodeRecords = Callable[[Sequence[CoordinatorRecord], int], bytearray]


class PreparedCommit:
    """Of a request about one partition, its topic's name and id filled in whatever the version. Not of one that says itself when its
    offsets expire, as the oldest clients do."""

    __slots__ = ("_offset_position", "_template", "_time_position", "_value", "_version", "record", "request")

    def __init__(self, request: OffsetCommitRequest, version: int, encode: EncodeRecords) -> None:
        """``encode`` makes the batch of records written at a time, uncompressed."""
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
        """What :meth:`decide` is about, from now on."""
        self._value.offset = offset
        self._value.leader_epoch = leader_epoch

    def decide(self, machine: GroupMachine, now_ms: int) -> bytearray | None:
        value = self._value
        if machine.offsets.why_no_commit(self.request, self._version, now_ms) or machine.offsets.why_no_metadata(value.metadata):
            return None
        value.commit_timestamp = now_ms
        batch = bytearray(self._template)
        _BASE_AND_MAX_TIMESTAMP.pack_into(batch, BASE_TIMESTAMP_POSITION, now_ms, now_ms)
        _OFFSET_AND_EPOCH.pack_into(batch, self._offset_position, value.offset, value.leader_epoch)
        _TIMESTAMP.pack_into(batch, self._time_position, now_ms)
        seal(batch)
        return batch
