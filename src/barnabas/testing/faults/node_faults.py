"""The faults of one node, applied to the requests of its clients.

Everything here runs on the node's loop. A rule that was set first is used first; when its count is
used up, the next one is. A delay is added to the effect of another rule.

    refuse       the response of :mod:`error_responses`; a produce with acks=0 has no response, so
                 its connection is closed, as Kafka does
    delay        the broker handles the request at once and holds the answer back. Answers of a
                 connection keep their order, so later answers wait too.
    disconnect   the connection ends without an answer; the request is not handled
    lose answer  the same, but the broker has handled the request
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any

from barnabas.model.promise import Promise
from barnabas.network.connection import Connection, Frame, Later, Reply, ServeFrame
from barnabas.testing.faults.cuttable import CuttableListener, CuttablePeers
from barnabas.testing.faults.error_responses import (
    error_response,
    forget_fetch_session,
    has_place_for_error,
    is_incremental_fetch,
    refuse_metadata,
)
from barnabas.testing.faults.fault_count import FaultCount
from barnabas.testing.faults.fault_rule import Effect, FaultRule
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import DECODE_ERRORS, decoder, encoder
from barnabas.wire.frames import OutFrame
from barnabas.wire.headers import read_request_prefix, request_header_version, response_header_version
from barnabas.wire.tagged_fields import skip_tagged_fields

# The client ids of the other nodes and of the test's own helpers begin with this. Their requests
# are never affected.
EXEMPT_PREFIX = "barnabas.testing/"
_EXEMPT_BYTES = EXEMPT_PREFIX.encode()
_PREFIX = struct.Struct(">hhih")
_CORRELATION_ID = struct.Struct(">i")
_LENGTH_BYTES = 4


class NodeFaults:
    """Given to a node as its two ports to the network: ``Node(listen=faults.listen,
    dial=faults.dial)``."""

    def __init__(self) -> None:
        self._rules: dict[int, tuple[FaultRule, FaultCount]] = {}
        self._listeners: list[CuttableListener] = []
        self._peers: list[CuttablePeers] = []

    # -- the node's ports

    def listen(self, *arguments: Any, **options: Any) -> CuttableListener:
        listener = CuttableListener(*arguments, opened=self._opened, **options)
        self._listeners.append(listener)
        return listener

    def dial(self, client_id: str, **options: Any) -> CuttablePeers:
        peers = CuttablePeers(EXEMPT_PREFIX + client_id, **options)
        self._peers.append(peers)
        return peers

    # -- the test's side

    def set(self, rule: FaultRule, count: FaultCount) -> None:
        self._rules[rule.fault_id] = rule, count
        self._intercept()

    def undo(self, fault_id: int) -> None:
        self._rules.pop(fault_id, None)
        self._intercept()

    def cut(self) -> None:
        """All connections of the node end, in both directions, and no new one can be made."""
        for listener in self._listeners:
            listener.cut()
        for peers in self._peers:
            peers.cut()

    def reconnect(self) -> None:
        for listener in self._listeners:
            listener.reconnect()
        for peers in self._peers:
            peers.reconnect()

    # -- requests

    def _opened(self, listener: CuttableListener, connection: Connection) -> None:
        if self._rules and not listener.for_controllers:
            connection.intercept(self._wrap)

    def _intercept(self) -> None:
        """Serve all connections with the rules, or as usual when there are none."""
        for listener in self._listeners:
            if listener.for_controllers:
                continue
            for connection in listener.connections:
                connection.intercept(self._wrap if self._rules else None)

    def _wrap(self, serve: ServeFrame) -> ServeFrame:
        return _Interceptor(self._rules, serve)


class _Interceptor:
    def __init__(self, rules: dict[int, tuple[FaultRule, FaultCount]], serve: ServeFrame) -> None:
        self._rules = rules
        self._serve = serve

    def __call__(self, connection: Connection, frame: memoryview) -> Reply:
        if len(frame) < _PREFIX.size or _is_exempt(frame):
            return self._serve(connection, frame)
        api_key, version, _, _ = _PREFIX.unpack_from(frame)
        if api_key not in ApiKey._value2member_map_ or version not in stable_versions(ApiKey(api_key)):
            return self._serve(connection, frame)
        reply = self._affected(connection, frame, ApiKey(api_key), version)
        seconds = sum(rule.seconds for rule, count in self._concerned(api_key) if rule.effect is Effect.DELAY and count.take())
        return _delayed(reply, seconds) if seconds and reply is not None else reply

    def _affected(self, connection: Connection, frame: memoryview, key: ApiKey, version: int) -> Frame | Promise[Frame | None] | None:
        for rule, count in self._concerned(key):
            match rule.effect:
                case Effect.REFUSE:
                    request = _read_request(frame, key, version)
                    if request is None or not has_place_for_error(key, request):
                        continue
                    if version >= 7 and is_incremental_fetch(key, request, rule.code):
                        return _response_frame(frame, key, version, forget_fetch_session())
                    if count.take():
                        return self._refused(connection, frame, key, version, request, rule.code)
                case Effect.DISCONNECT if count.take():
                    connection.abort()
                    return None
                case Effect.LOSE_ANSWER if count.take():
                    return self._lost(connection, frame)
                case _:
                    pass
        return self._handled(connection, frame)

    def _concerned(self, api_key: int) -> list[tuple[FaultRule, FaultCount]]:
        return [each for each in self._rules.values() if each[0].concerns(api_key)]

    def _handled(self, connection: Connection, frame: memoryview) -> Frame | Promise[Frame | None] | None:
        """The broker's answer. A shortcut would answer later by itself, past this code, so the
        connection has none while there are faults."""
        connection.shortcut = None
        reply = self._serve(connection, frame)
        assert not isinstance(reply, Later), "only a shortcut answers later"
        return reply

    def _refused(
        self, connection: Connection, frame: memoryview, key: ApiKey, version: int, request: Any, code: int
    ) -> Frame | Promise[Frame | None] | None:
        if key is ApiKey.PRODUCE and request.acks == 0:
            connection.abort()
            return None
        if key is not ApiKey.METADATA:
            return _response_frame(frame, key, version, error_response(key, version, request, code))
        reply = self._handled(connection, frame)

        def refuse(answer: Frame | None) -> Frame | None:
            if answer is None:
                return None
            response = _read_response(answer, key, version)
            return _response_frame(frame, key, version, refuse_metadata(response, code))

        return reply.map(refuse) if isinstance(reply, Promise) else refuse(reply)

    def _lost(self, connection: Connection, frame: memoryview) -> Promise[Frame | None] | None:
        reply = self._handled(connection, frame)
        if not isinstance(reply, Promise):
            connection.abort()
            return None

        def lose(answer: Frame | None) -> None:
            _release(answer)
            connection.abort()

        return reply.map(lose)


def _is_exempt(frame: memoryview) -> bool:
    return frame[_PREFIX.size : _PREFIX.size + len(_EXEMPT_BYTES)] == _EXEMPT_BYTES


def _delayed(reply: Frame | Promise[Frame | None], seconds: float) -> Promise[Frame | None]:
    later: Promise[Frame | None] = Promise()
    loop = asyncio.get_running_loop()
    answer = reply if isinstance(reply, Promise) else Promise.kept(reply)
    answer.then(lambda frame: loop.call_later(seconds, later.resolve, frame))
    later.if_abandoned(answer.abandon)
    return later


def _read_request(frame: memoryview, key: ApiKey, version: int) -> Any:
    """None for bytes that do not decode: the broker itself refuses them."""
    request = messages(key)[0]
    position = read_request_prefix(frame).position
    try:
        if request_header_version(request, version) == 2:
            position = skip_tagged_fields(frame, position, len(frame))
        return decoder(request, version)(frame, position)[0]
    except DECODE_ERRORS:
        return None


def _read_response(frame: Frame, key: ApiKey, version: int) -> Any:
    response = messages(key)[1]
    position = _LENGTH_BYTES + _CORRELATION_ID.size + response_header_version(response, version)
    return decoder(response, version)(memoryview(bytes(frame)), position)[0]


def _response_frame(frame: memoryview, key: ApiKey, version: int, response: Any) -> OutFrame:
    """``frame`` is the request."""
    out = OutFrame(_LENGTH_BYTES)
    out += _CORRELATION_ID.pack(_PREFIX.unpack_from(frame)[2])
    if response_header_version(messages(key)[1], version) == 1:
        out.append(0)
    encoder(messages(key)[1], version)(response, out)
    out.seal()
    return out


def _release(frame: Frame | None) -> None:
    if isinstance(frame, OutFrame):
        for _, source in frame.cuts:
            source.release()
