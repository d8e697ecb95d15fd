"""Serves repeated OffsetCommit requests of a connection without decoding them.

A consumer's commits repeat each other: the same group, member, generation, topic and partition,
and only the offset is new. So the broker remembers an OffsetCommit about one partition, byte for
byte, while its connection lasts. A later request that differs only in correlation id, offset and
leader epoch is not decoded, and its record is not encoded again. The state of the group, the
metadata and the log is checked every time.

As with :mod:`~barnabas.api.produce.shortcut`, the broker remembers the meaning of the bytes, never
a decision. A request goes through the handler when its member is not in the current generation,
its topic has changed, its shard is not on this broker, or any error occurs. The response leaves
when the record is replicated, like every response of a coordinator.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from barnabas.api.broker import Broker
from barnabas.api.broker_apis.offset_commit import answer_all
from barnabas.api.commit_batching import CommitBatching, RecognisedCommit
from barnabas.coordinators.group.prepared_commit import PreparedCommit
from barnabas.metadata.topics import TopicImage
from barnabas.model.errors import ErrorCode
from barnabas.network.connection import Connection, Reply
from barnabas.wire.compiler import DECODE_ERRORS
from barnabas.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
)

if TYPE_CHECKING:
    from barnabas.api.route import Route

# A client that commits more partitions than this, each in its own request, has higher costs than
# decoding.
REMEMBERED_PARTITIONS_MAX = 256
# Topics with names of different lengths have their offsets at different positions; each position
# costs a lookup.
REMEMBERED_PLACES_MAX = 4
# Room for client, group, member and instance ids, the longest topic name, and metadata of usual
# length.
REMEMBERED_REQUEST_BYTES_MAX = 1024

# Earlier versions have no leader epoch, and some have a retention time for the offset.
_LEADER_EPOCH_VERSION_MIN = 6
_OFFSET_AND_EPOCH = struct.Struct(">qi")
_CORRELATION_POSITION = 4
_AFTER_CORRELATION = 8
_PARTITION_INDEX = struct.Struct(">i")
# Two of its bytes never occur in UTF-8, and it stands before all client-chosen text in a response,
# so the first occurrence is the correlation id.
_MARK_CORRELATION = 0x7AF8_F97D


class _Remembered:
    """The request of one partition, its encoded response, and its prepared record."""

    __slots__ = ("answer_head", "answer_tail", "prepared", "tail", "topic")

    def __init__(self, prepared: PreparedCommit, topic: TopicImage, tail: bytes, answer: bytes) -> None:
        self.prepared = prepared
        self.topic = topic
        self.tail = tail  # of the request, behind offset and leader epoch
        self.answer_head, _, self.answer_tail = answer.partition(_MARK_CORRELATION.to_bytes(4, "big"))


class CommitShortcut:
    """The remembered requests of one connection, in one version of OffsetCommit."""

    __slots__ = ("_access_version", "_batching", "_broker", "_groups", "_head", "_known", "_places", "route")

    def __init__(self, broker: Broker, route: Route, frame: memoryview, batching: CommitBatching) -> None:
        self.route = route
        self._batching = batching
        self._broker = broker
        self._access_version = broker.access.version
        self._groups = broker.groups
        self._head = frame[:_CORRELATION_POSITION].tobytes()
        self._places: list[int] = []
        # The keys are the bytes between the correlation id and the offset.
        self._known: dict[bytes, _Remembered] = {}

    # -- remembering -------------------------------------------------------------------------------

    def remember(self, frame: memoryview, body: int, request: OffsetCommitRequest, response: OffsetCommitResponse | None) -> None:
        """The handler has removed from the request the partitions that it refused."""
        if self.route.version < _LEADER_EPOCH_VERSION_MIN or len(frame) > REMEMBERED_REQUEST_BYTES_MAX or self._groups.runtime.compresses:
            return
        if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
            return
        if response is not None and any(each.error_code for topic in response.topics for each in topic.partitions):
            return
        asked = request.topics[0]
        topic = self._broker.metadata.image.topics.by_name.get(asked.name)
        place = self._place(frame, body, asked.partitions[0])
        if topic is None or topic.topic_id != asked.topic_id or place is None:
            return
        key = frame[_AFTER_CORRELATION:place].tobytes()
        if key not in self._known and not self._has_room(place):
            return
        if place not in self._places:
            self._places.append(place)
        answer = bytes(self.route.answer(_MARK_CORRELATION, answer_all(request, ErrorCode.NONE)))
        prepared = PreparedCommit(request, self.route.version)
        self._known[key] = _Remembered(prepared, topic, frame[place + _OFFSET_AND_EPOCH.size :].tobytes(), answer)

    def _place(self, frame: memoryview, body: int, asked: OffsetCommitRequestPartition) -> int | None:
        """The position of offset and leader epoch.

        To prove it, write other numbers there: the bytes must decode to a request that differs in
        these numbers and in nothing else.
        """
        whole = frame.tobytes()
        index = _PARTITION_INDEX.pack(asked.partition_index)
        place = whole.rfind(index + _OFFSET_AND_EPOCH.pack(asked.committed_offset, asked.committed_leader_epoch)) + len(index)
        if place <= body:
            return None
        changed = bytearray(whole)
        offset, leader_epoch = ~asked.committed_offset, ~asked.committed_leader_epoch
        _OFFSET_AND_EPOCH.pack_into(changed, place, offset, leader_epoch)
        try:
            expected, _ = self.route.decode(frame, body)
            found, _ = self.route.decode(memoryview(changed), body)
        except DECODE_ERRORS:
            return None
        if len(expected.topics) != 1 or len(expected.topics[0].partitions) != 1:
            # The handler refused other partitions, and the response must repeat that.
            return None
        partition = expected.topics[0].partitions[0]
        partition.committed_offset, partition.committed_leader_epoch = offset, leader_epoch
        return place if found == expected else None

    def _has_room(self, place: int) -> bool:
        return len(self._known) < REMEMBERED_PARTITIONS_MAX and (place in self._places or len(self._places) < REMEMBERED_PLACES_MAX)

    # -- serving -----------------------------------------------------------------------------------

    def serve(self, connection: Connection, frame: memoryview) -> Reply:
        if self._broker.access.version != self._access_version:
            # The rules have changed, so every remembered request must pass the handler again.
            connection.shortcut = None
            return None
        recognised = self._recognise(frame)
        if recognised is None:
            return None
        found, offset, leader_epoch = recognised
        prepared, batching = found.prepared, self._batching
        if batching.awaits(prepared):
            # The earlier commit of this partition is written first, with its own numbers.
            batching.flush()
        prepared.commit(offset, leader_epoch)
        correlation_id = frame[_CORRELATION_POSITION:_AFTER_CORRELATION].tobytes()
        answer = found.answer_head + correlation_id + found.answer_tail
        commit = RecognisedCommit(connection, self.route, frame, correlation_id, prepared, answer)
        return batching.serve_alone(commit) if batching.is_alone(connection) else batching.add(commit)

    def _recognise(self, frame: memoryview) -> tuple[_Remembered, int, int] | None:
        """The remembered request, the offset and the leader epoch; None for a request that must go
        through the handler."""
        if frame[:_CORRELATION_POSITION] != self._head:
            return None
        for place in self._places:
            found = self._known.get(frame[_AFTER_CORRELATION:place].tobytes())
            if found is not None:
                break
        else:
            return None
        if frame[place + _OFFSET_AND_EPOCH.size :] != found.tail:
            return None
        if self._broker.metadata.image.topics.by_name.get(found.topic.name) is not found.topic:
            return None
        return found, *_OFFSET_AND_EPOCH.unpack_from(frame, place)
