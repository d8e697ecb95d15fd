"""Recognises repeated Fetch requests of a connection without decoding them.

A consumer's fetches repeat each other: the same limits and the same partitions, and only the
offsets are new, in a session also its epoch. So the broker remembers a Fetch, byte for byte, while
its connection lasts. A later request that differs only in these numbers and in the correlation id
is not decoded, and if its partitions have no errors its response is filled into a template instead
of being encoded.

As with :mod:`~barnabas.api.produce.shortcut`, the broker remembers the meaning of the bytes, never
a decision: sessions, permissions, leadership, offsets, preferred replicas and waiting are those of
every other fetch (:class:`~barnabas.api.fetch.fetching.Fetching`). A request goes through the
handler when it opens or closes a session, when its session refuses it, or when it does not match.
Clients with quotas have no shortcuts (:mod:`~barnabas.api.dispatch`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from time import perf_counter_ns
from typing import TYPE_CHECKING, NamedTuple

from barnabas.api.broker import Broker
from barnabas.api.fetch.answer_template import AnswerTemplate
from barnabas.api.fetch.fetching import TOPIC_ID_VERSION_MIN, Fetching, ReadEntry, named_partitions
from barnabas.api.fetch.readers import Consumer, replica_id
from barnabas.model.errors import ErrorCode
from barnabas.network.caller import Caller
from barnabas.network.connection import Connection, Frame, Reply
from barnabas.replication.fetch_sessions import FINAL_EPOCH, INITIAL_EPOCH, NO_SESSION, FetchedPartition, PartitionKey
from barnabas.replication.reads import READ_COMMITTED
from barnabas.wire.compiler import DECODE_ERRORS
from barnabas.wire.headers import read_request_prefix
from barnabas.wire.messages.fetch import FetchRequest, FetchResponse

if TYPE_CHECKING:
    from barnabas.api.route import Route

# In a session a consumer names the partitions that it got records of, in ever new combinations;
# those with few partitions are worth remembering.
REMEMBERED_REQUESTS_MAX = 64
# Lengths of requests. Of each length, only requests with their numbers at the same positions are
# remembered.
REMEMBERED_LAYOUTS_MAX = 16
# A request with more partitions spends its time on reading them.
PARTITIONS_MAX = 16
# Room for a client id, a few of the longest topic names, and the numbers of all partitions.
REMEMBERED_REQUEST_BYTES_MAX = 2048
# Combinations of partitions in responses; others are encoded.
TEMPLATES_MAX = 64

# Earlier versions have other fields, and current clients do not use them.
_VERSION_MIN = 12
_AFTER_CORRELATION = 8
_LIMITS_AND_SESSION = struct.Struct(">iiibii")
_SESSION_IN_LIMITS = 13
_SESSION = struct.Struct(">ii")
_PARTITION = struct.Struct(">iiqiqi")
_OFFSET_IN_PARTITION = 8
_OFFSET = struct.Struct(">q")


class _Remembered(NamedTuple):
    caller: Caller
    request: FetchRequest
    named: list[FetchedPartition]
    committed_only: bool


class FetchShortcut:
    """The remembered requests of one connection, in one version of Fetch."""

    __slots__ = ("_broker", "_connection", "_flush_produces", "_known", "_layouts", "_sessions", "_templates", "_uses_topic_ids", "route")

    def __init__(self, broker: Broker, route: Route, connection: Connection, flush_produces: Callable[[], None]) -> None:
        """``flush_produces`` serves the produces of this turn, whose records a later fetch must
        find."""
        self.route = route
        self._broker = broker
        self._connection = connection
        self._flush_produces = flush_produces
        self._sessions = broker.fetch_sessions
        self._uses_topic_ids = route.version >= TOPIC_ID_VERSION_MIN
        # By the length of a request; see _layout.
        self._layouts: dict[int, struct.Struct] = {}
        # The keys are the bytes between the numbers that change.
        self._known: dict[tuple[bytes, ...], _Remembered] = {}
        self._templates: dict[tuple[bool, tuple[PartitionKey, ...]], AnswerTemplate] = {}

    # -- remembering -------------------------------------------------------------------------------

    def remember(self, frame: memoryview, body: int, request: FetchRequest, response: FetchResponse | None) -> None:
        if self.route.version < _VERSION_MIN or len(self._known) >= REMEMBERED_REQUESTS_MAX or len(frame) > REMEMBERED_REQUEST_BYTES_MAX:
            return
        named = named_partitions(request)
        if len(named) > PARTITIONS_MAX or request.forgotten_topics_data or replica_id(request, self.route.version) >= 0:
            return
        layout = self._layout(frame, body, request)
        if layout is None:
            return
        self._layouts[len(frame)] = layout
        client_id = read_request_prefix(frame).client_id
        caller = Caller(self._connection, self.route.version, 0, client_id, api=self.route.key.api_name)
        self._known[_fixed_parts(layout.unpack(frame))] = _Remembered(caller, request, named, request.isolation_level == READ_COMMITTED)

    def _layout(self, frame: memoryview, body: int, request: FetchRequest) -> struct.Struct | None:
        """Takes requests apart: API and version, correlation id, fixed bytes, session and epoch,
        fixed bytes, and for each partition its offset and the fixed bytes behind it.

        None if the positions of the numbers cannot be proven, or if requests of this length already
        have another layout: partitions that are spread otherwise over the topics, or topics whose
        names have other lengths, put the numbers at other positions of as many bytes.
        """
        known = self._layouts.get(len(frame))
        if known is None and len(self._layouts) >= REMEMBERED_LAYOUTS_MAX:
            return None
        whole = frame.tobytes()
        session = _find_session(whole, body, request)
        offsets = _find_offsets(whole, session, request)
        if session < 0 or offsets is None:
            return None
        layout = _struct(session, offsets, len(whole))
        if known is not None and known.format != layout.format:
            return None
        return layout if self._proven(frame, body, session, offsets) else None

    def _proven(self, frame: memoryview, body: int, session: int, offsets: Sequence[int]) -> bool:
        """Whether the numbers of this request are at these positions. The proof of another request
        of this length says nothing about this one.

        To prove it, invert every bit of the numbers there: the bytes must decode to a request with
        these numbers inverted and everything else the same. So each number consists of exactly
        these bytes, and any other number there has no effect on the rest.
        """
        changed = bytearray(frame)
        session_id, epoch = _SESSION.unpack_from(frame, session)
        _SESSION.pack_into(changed, session, ~session_id, ~epoch)
        for place in offsets:
            _OFFSET.pack_into(changed, place, ~_OFFSET.unpack_from(frame, place)[0])
        try:
            expected, _ = self.route.decode(frame, body)
            found, _ = self.route.decode(memoryview(changed), body)
        except DECODE_ERRORS:
            return False
        expected.session_id, expected.session_epoch = ~expected.session_id, ~expected.session_epoch
        for topic in expected.topics:
            for partition in topic.partitions:
                partition.fetch_offset = ~partition.fetch_offset
        return bool(found == expected)

    # -- serving -----------------------------------------------------------------------------------

    def serve(self, connection: Connection, frame: memoryview) -> Reply:
        layout = self._layouts.get(len(frame))
        if layout is None:
            return None
        parts = layout.unpack(frame)
        known = self._known.get(_fixed_parts(parts))
        if known is None:
            return None
        started = perf_counter_ns()
        _, correlation_id, _, session_id, epoch, _, *_ = parts
        if epoch == INITIAL_EPOCH or (epoch == FINAL_EPOCH) != (session_id == NO_SESSION):
            return None
        self._flush_produces()
        context = self._sessions.begin(
            session_id=session_id,
            epoch=epoch,
            named=[each.at(offset) for each, offset in zip(known.named, parts[6::2], strict=True)],
            forgotten=(),
            uses_topic_ids=self._uses_topic_ids,
            now_ms=self._broker.clock.monotonic_ms(),
        )
        if isinstance(context, ErrorCode):
            return None
        fetching = Fetching(self._broker, known.caller, known.request, context, Consumer(self._broker, known.caller, known.request))
        return fetching.serve(lambda reads: self._answer(started, correlation_id, fetching, known, reads))

    def _answer(self, started: int, correlation_id: bytes, fetching: Fetching, known: _Remembered, reads: list[ReadEntry]) -> Frame | None:
        included = fetching.include(reads)
        template = self._template(known.committed_only, included)
        if template is None:
            return self.route.finish(started, int.from_bytes(correlation_id, "big", signed=True), fetching.response(included))
        self.route.count(started)
        return template.fill(correlation_id, fetching.session_id, [entry.read for entry in included])

    def _template(self, committed_only: bool, included: Sequence[ReadEntry]) -> AnswerTemplate | None:
        """None: encode the response."""
        for entry in included:
            if not entry.read.plain:
                return None
        keys = tuple([entry.asked.key for entry in included])
        template = self._templates.get((committed_only, keys))
        if template is None and len(self._templates) < TEMPLATES_MAX and len(keys) <= PARTITIONS_MAX:
            template = self._templates[committed_only, keys] = AnswerTemplate(self.route, keys, committed_only=committed_only)
        return template


def _fixed_parts(parts: tuple[bytes, ...]) -> tuple[bytes, ...]:
    return (parts[0], parts[2], *parts[5::2])


def _find_session(whole: bytes, body: int, request: FetchRequest) -> int:
    """The position of session id and epoch; negative if there is none."""
    limits = request.max_wait_ms, request.min_bytes, request.max_bytes, request.isolation_level
    place = whole.find(_LIMITS_AND_SESSION.pack(*limits, request.session_id, request.session_epoch), body)
    return place + _SESSION_IN_LIMITS if place >= 0 else place


def _find_offsets(whole: bytes, start: int, request: FetchRequest) -> list[int] | None:
    """The positions of the fetch offsets."""
    places = []
    for topic in request.topics:
        for each in topic.partitions:
            numbers = each.partition, each.current_leader_epoch, each.fetch_offset
            more = each.last_fetched_epoch, each.log_start_offset, each.partition_max_bytes
            found = whole.find(_PARTITION.pack(*numbers, *more), max(start, 0))
            if found < 0:
                return None
            places.append(found + _OFFSET_IN_PARTITION)
            start = found + _PARTITION.size
    return places


def _struct(session: int, offsets: Sequence[int], size: int) -> struct.Struct:
    code = f">4s4s{session - _AFTER_CORRELATION}sii"
    start = session + _SESSION.size
    for place in offsets:
        code += f"{place - start}sq"
        start = place + _OFFSET.size
    return struct.Struct(f"{code}{size - start}s")
