"""Recognises repeated Produce requests of a connection without decoding them.

A producer's requests repeat each other: the same client, acks, topic and partition, and only the
records are new. So the broker remembers a Produce to one partition, byte for byte, while its
connection lasts. A later request that differs only in correlation id and records is not decoded
again: one lookup replaces the decoder, the handler and the encoder. The append itself is the
ordinary one, see :mod:`~barnabas.api.produce.batching`. librdkafka sends such requests all the
time; a small request takes a third of the CPU time it takes without the shortcut.

The shortcut remembers the meaning of the bytes, never a decision about the records. A request goes
through the handler when this broker no longer leads the partition, when any error occurs, or when
the request does not match. A transactional batch goes through it too, unless the remembered request
had one: then the handler has found that the client may write with this transactional id. With
acks=all the response is a promise while other replicas are behind.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from barnabas.api.broker import Broker
from barnabas.api.produce.acknowledgement import await_replicas
from barnabas.api.produce.hints import HINTS_VERSION_MIN, give_hints
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import Uuid
from barnabas.model.promise import Promise
from barnabas.network.connection import LATER, Connection, Reply
from barnabas.records.batch_header import ATTRIBUTES_LOW_BYTE_POSITION, HEADER_BYTES, TRANSACTIONAL_BIT
from barnabas.replication.partition import Partition
from barnabas.storage.log import Appended
from barnabas.wire.messages.produce import PartitionProduceResponse, ProduceRequest, ProduceResponse, TopicProduceResponse
from barnabas.wire.varint import MalformedVarint, read_uvarint, uvarint_size

if TYPE_CHECKING:
    from barnabas.api.produce.batching import ProduceBatching
    from barnabas.api.route import Route

# A connection that writes to more partitions than this spreads its records so thin that decoding
# is the least of its costs.
REMEMBERED_PARTITIONS_MAX = 1024
# Topics with names of different lengths have their records at different positions; each position
# costs a lookup.
REMEMBERED_PLACES_MAX = 4
# Room for a client id, the longest topic name and a few numbers. Longer prefixes would only use
# memory, up to a thousand times.
REMEMBERED_PREFIX_BYTES_MAX = 512

_LENGTH = struct.Struct(">i")
_ZSTD_VERSION_MIN = 7  # Earlier versions refuse zstd, and only the handler looks at the codec.
_CORRELATION_POSITION = 4
_AFTER_CORRELATION = 8
# The end of a flexible request, after the records: the empty tagged fields of partition, topic and
# request.
_FLEXIBLE_TAIL = b"\x00\x00\x00"

# Values that occur nowhere else in a response; their positions show where the real values belong.
_MARK_CORRELATION = 0x7A7B_7C7D
_MARK_OFFSET, _MARK_APPEND_TIME, _MARK_START = 0x1112_1314_1516_1718, 0x2122_2324_2526_2728, 0x3132_3334_3536_3738

# A partition, acks, the timeout in milliseconds, the template of the response, and the bit of the
# attributes that a batch may not have.
Remembered: TypeAlias = "tuple[Partition, int, int, AnswerTemplate, int]"
# A remembered request, and the new parts of this one: its correlation id and its records.
Recognised: TypeAlias = tuple[Remembered, bytes, memoryview]


class ProduceShortcut:
    """The remembered requests of one connection, in one version of Produce."""

    __slots__ = (
        "_access",
        "_access_version",
        "_batching",
        "_broker",
        "_head",
        "_known",
        "_listener",
        "_places",
        "_replicas",
        "_tail",
        "route",
    )

    def __init__(self, broker: Broker, route: Route, batching: ProduceBatching, frame: memoryview, listener: str = "") -> None:
        self.route = route
        self._broker = broker
        self._batching = batching
        self._listener = listener
        self._replicas = broker.replicas
        self._access = broker.access
        self._access_version = broker.access.version
        self._head = frame[:_CORRELATION_POSITION].tobytes()
        self._tail = _FLEXIBLE_TAIL if route.flexible_request else b""
        # Positions of the length of the records. Each has a function that reads the bytes before
        # it: head, correlation id, key.
        self._places: dict[int, Callable[[memoryview], tuple[bytes, bytes, bytes]]] = {}
        # The keys are the bytes between the correlation id and the length of the records.
        self._known: dict[bytes, Remembered] = {}

    def serve(self, connection: Connection, frame: memoryview) -> Reply:
        if self._access.version != self._access_version:
            # The rules have changed, so every remembered request must pass the handler again.
            connection.shortcut = None
            return None
        recognised = self.recognise(frame)
        if recognised is None:
            return None
        self._batching.add(connection, self, frame, recognised)
        return LATER

    def remember(self, frame: memoryview, body: int, request: ProduceRequest, response: ProduceResponse | None) -> None:
        if (
            request.acks == 0
            or self.route.version < _ZSTD_VERSION_MIN
            or len(request.topic_data) != 1
            or len(request.topic_data[0].partition_data) != 1
        ):
            return
        topic = request.topic_data[0]
        data = topic.partition_data[0]
        name = topic.name or self._replicas.topic_names.get(topic.topic_id, "")
        partition = self._replicas.get(name, data.index)
        failed = response is not None and response.responses[0].partition_responses[0].error_code != ErrorCode.NONE
        if failed or partition is None or data.records is None:
            return
        size, tail = len(data.records), self._tail
        width = uvarint_size(size + 1) if tail else _LENGTH.size
        place = len(frame) - len(tail) - size - width
        if not _AFTER_CORRELATION <= place <= REMEMBERED_PREFIX_BYTES_MAX or not self._has_room(place):
            return
        # To prove that the layout is understood, read the records back through it.
        records = self._records(frame, place)
        if records is None or len(records) != size or size < HEADER_BYTES:
            return
        if place not in self._places:
            self._places[place] = struct.Struct(f">{_CORRELATION_POSITION}s4s{place - _AFTER_CORRELATION}s").unpack_from
        key = frame[_AFTER_CORRELATION:place].tobytes()
        answer = AnswerTemplate(self.route, topic.name, topic.topic_id, data.index)
        forbidden = 0 if records[ATTRIBUTES_LOW_BYTE_POSITION] & TRANSACTIONAL_BIT else TRANSACTIONAL_BIT
        self._known[key] = (partition, request.acks, request.timeout_ms, answer, forbidden)

    def _has_room(self, place: int) -> bool:
        return len(self._known) < REMEMBERED_PARTITIONS_MAX and (place in self._places or len(self._places) < REMEMBERED_PLACES_MAX)

    def recognise(self, frame: memoryview) -> Recognised | None:
        """None for a request that must go through the handler."""
        for place, read_prefix in self._places.items():
            try:
                head, correlation_id, key = read_prefix(frame)
            except struct.error:  # The frame is shorter than this prefix.
                continue
            known = self._known.get(key)
            if known is not None and head == self._head:
                records = self._records(frame, place)
                if records is None or len(records) < HEADER_BYTES or records[ATTRIBUTES_LOW_BYTE_POSITION] & known[4]:
                    return None
                return known, correlation_id, records
        return None

    def await_replicas(self, known: Remembered, outcome: Appended) -> Promise[ProduceResponse]:
        partition, _, timeout_ms, answer, _ = known
        response = answer.response(ErrorCode.NONE, outcome.base_offset, outcome.append_time_ms, partition.log.log_start_offset)
        entry = response.responses[0].partition_responses[0]

        def finish() -> ProduceResponse:
            if entry.error_code and self.route.version >= HINTS_VERSION_MIN:
                give_hints(self._broker, self._listener, response)
            return response

        return await_replicas(self._broker.loop, [(entry, partition.replicated(outcome.last_offset + 1))], timeout_ms, finish)

    def _records(self, frame: memoryview, place: int) -> memoryview | None:
        """The records, if their length is at ``place`` and nothing else follows them."""
        try:
            if self._tail:
                length = frame[place]
                if length < 0x80:
                    start = place + 1
                elif (more := frame[place + 1]) < 0x80:
                    length += (more - 1) << 7
                    start = place + 2
                else:
                    length, start = read_uvarint(frame, place)
                stop = len(frame) - 3
                if start + length - 1 != stop or frame[stop] or frame[stop + 1] or frame[stop + 2]:
                    return None
                return frame[start:stop]
            (length,) = _LENGTH.unpack_from(frame, place)
        except (IndexError, MalformedVarint, struct.error):
            return None
        start = place + 4
        return frame[start:] if start + length == len(frame) else None


class AnswerTemplate:
    """The response to a successful append, encoded once; only the numbers in it change."""

    __slots__ = ("_fixed", "_has_start", "_pack", "_partition")

    def __init__(self, route: Route, topic: str, topic_id: Uuid, index: int) -> None:
        self._partition = (topic, topic_id, index)
        sample = self.response(ErrorCode.NONE, _MARK_OFFSET, _MARK_APPEND_TIME, _MARK_START)
        frame = bytes(route.answer(_MARK_CORRELATION, sample))
        correlation = frame.index(_MARK_CORRELATION.to_bytes(4, "big"))
        numbers = frame.index(_MARK_OFFSET.to_bytes(8, "big"))
        # Versions 3 and 4 have no log start offset.
        self._has_start = frame[numbers + 16 : numbers + 24] == _MARK_START.to_bytes(8, "big")
        end = numbers + (24 if self._has_start else 16)
        parts = (frame[:correlation], frame[correlation + 4 : numbers], frame[end:])
        self._pack = struct.Struct(f">{len(parts[0])}s4s{len(parts[1])}s{'qqq' if self._has_start else 'qq'}{len(parts[2])}s").pack
        self._fixed = parts

    def fill(self, correlation_id: bytes, base_offset: int, append_time_ms: int, log_start_offset: int) -> bytes:
        """The correlation id goes back as the bytes of the request."""
        head, middle, tail = self._fixed
        if self._has_start:
            return self._pack(head, correlation_id, middle, base_offset, append_time_ms, log_start_offset, tail)
        return self._pack(head, correlation_id, middle, base_offset, append_time_ms, tail)

    def response(self, code: ErrorCode, base_offset: int, append_time_ms: int, log_start_offset: int) -> ProduceResponse:
        topic, topic_id, index = self._partition
        return ProduceResponse(
            responses=[
                TopicProduceResponse(
                    name=topic,
                    topic_id=topic_id,
                    partition_responses=[
                        PartitionProduceResponse(
                            index=index,
                            error_code=code,
                            base_offset=base_offset,
                            log_append_time_ms=append_time_ms,
                            log_start_offset=log_start_offset,
                        )
                    ],
                )
            ],
            throttle_time_ms=0,
        )
