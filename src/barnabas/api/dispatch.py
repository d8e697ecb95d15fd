"""From a frame to an answer: header, route, decode, handle, encode.

A producer's request that repeats its last one skips most of this and waits for the end of the loop's turn, see
:mod:`~barnabas.api.produce.batching`; a consumer's commit skips it too, see :mod:`~barnabas.api.commit_shortcut`. A route is made the
first time an API is called in a version, and then found by one dictionary lookup. What goes wrong before a handler runs is the
peer's fault and ends the connection, as it does with Kafka: an unknown API, a version that was not offered, bytes that do not
decode. The one exception is ApiVersions, which is asked by clients that cannot know the versions yet.
"""

from __future__ import annotations

import struct
from time import perf_counter_ns
from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.broker_apis.api_versions import unsupported_version
from barnabas.api.commit_shortcut import RepeatedCommit
from barnabas.api.handler import Handler, Handlers
from barnabas.api.produce.batching import ProduceTurn
from barnabas.api.produce.shortcut import RepeatedProduce
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.network.connection import LATER, Connection, Frame, Reply
from barnabas.telemetry.catalogue import REQUEST_SECONDS, REQUESTS
from barnabas.telemetry.metrics import Counter, LatencyHistogram
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import DECODE_ERRORS, decoder, encoder
from barnabas.wire.frames import OutFrame
from barnabas.wire.headers import read_request_prefix, request_header_version, response_header_version
from barnabas.wire.tagged_fields import MalformedMessage, skip_tagged_fields

_CORRELATION_ID = struct.Struct(">i")
_CORRELATION_POSITION = 4  # in a request


class Route:
    """How one API is served in one version."""

    __slots__ = ("decode", "encode", "flexible_request", "flexible_response", "handle", "key", "requests", "seconds", "version")

    def __init__(self, key: ApiKey, version: int, handle: Handler, requests: Counter, seconds: LatencyHistogram) -> None:
        request, response = messages(key)
        self.key = key
        self.version = version
        self.handle = handle
        self.decode = decoder(request, version)
        self.encode = encoder(response, version)
        self.flexible_request = request_header_version(request, version) == 2
        self.flexible_response = response_header_version(response, version) == 1
        self.requests = requests
        self.seconds = seconds

    def answer(self, correlation_id: int, response: Any) -> OutFrame:
        out = OutFrame(4)
        out += _CORRELATION_ID.pack(correlation_id)
        if self.flexible_response:
            out.append(0)
        self.encode(response, out)
        out.seal()
        return out

    def finish(self, started: int, correlation_id: int, response: Any) -> OutFrame | None:
        self.count(started)
        return self.answer(correlation_id, response) if response is not None else None

    def finish_later(self, started: int, correlation_id: int, response: Promise[Any]) -> Promise[Frame | None]:
        return response.map(lambda value: self.finish(started, correlation_id, value))

    def count(self, started: int, requests: int = 1) -> None:
        self.requests.value += requests
        self.seconds.observe((perf_counter_ns() - started) // 1000, requests)


class Dispatch:
    """Serves the frames of one kind of listener."""

    def __init__(self, broker: Broker, handlers: Handlers) -> None:
        self._broker = broker
        self._handlers = handlers
        self._routes: dict[int, Route] = {}
        self._turn = ProduceTurn(broker, self._serve_alone)

    def serve(self, connection: Connection, frame: memoryview) -> Reply:
        repeated = connection.memo
        if type(repeated) is RepeatedProduce:
            recognised = repeated.recognise(frame)
            if recognised is not None:
                self._turn.add(connection, repeated, frame, recognised)
                return LATER
        # Nobody who comes later, of the same connection above all, may overtake those of this turn.
        self._turn.end()
        return self._serve_alone(connection, frame)

    def _serve_alone(self, connection: Connection, frame: memoryview) -> Frame | Promise[Frame | None] | None:
        started = perf_counter_ns()
        repeated = connection.memo
        if type(repeated) is RepeatedCommit:
            reply = repeated.serve(frame)
            if reply is not None:
                if isinstance(reply, Promise):
                    (correlation_id,) = _CORRELATION_ID.unpack_from(frame, _CORRELATION_POSITION)
                    return repeated.route.finish_later(started, correlation_id, reply)
                repeated.route.count(started)
                return reply
        api_key, version, correlation_id, client_id, position = read_request_prefix(frame)
        route = self._routes.get(api_key << 16 | version)
        if route is None:
            route = self._route(api_key, version)
            if route is None:
                return unsupported_version(correlation_id)
        try:
            if route.flexible_request:
                position = skip_tagged_fields(frame, position, len(frame)) if frame[position] else position + 1
            request, _ = route.decode(frame, position)
        except DECODE_ERRORS as wrong:
            raise MalformedMessage(f"{route.key.api_name} v{version} cannot be read: {wrong}") from wrong
        caller = Caller(connection, version, correlation_id, client_id)
        try:
            response = route.handle(self._broker, caller, request)
        except Exception as bug:  # noqa: BLE001
            self._failed(connection, route, bug)
            return None
        if api_key == ApiKey.OFFSET_COMMIT:
            if repeated is None or repeated.route is not route:
                repeated = connection.memo = RepeatedCommit(self._broker, route, frame)
            repeated.remember(frame, position, request)
        if type(response) is Promise:
            if not response.done:
                if api_key == ApiKey.PRODUCE:
                    self._remember(connection, route, frame, request, None)
                return route.finish_later(started, correlation_id, response)
            response = response.value
        if api_key == ApiKey.PRODUCE and response is not None:
            self._remember(connection, route, frame, request, response)
        return route.finish(started, correlation_id, response)

    def _remember(self, connection: Connection, route: Route, frame: memoryview, request: Any, response: Any) -> None:
        repeated = connection.memo
        if repeated is None or repeated.route is not route:
            repeated = connection.memo = RepeatedProduce(self._broker, route, frame, connection.listener.name)
        repeated.remember(frame, request, response)

    def _route(self, api_key: int, version: int) -> Route | None:
        """None for an ApiVersions version we do not know, which has an answer of its own."""
        handle = self._handlers.get(api_key)  # type: ignore[call-overload]
        if handle is None:
            raise MalformedMessage(f"API {api_key} is not served here")
        key = ApiKey(api_key)
        if version not in stable_versions(key):
            if key is ApiKey.API_VERSIONS:
                return None
            raise MalformedMessage(f"{key.api_name} has versions {stable_versions(key)}, not {version}")
        metrics = self._broker.metrics
        route = Route(
            key,
            version,
            handle,
            metrics.counter(REQUESTS, key.api_name),
            metrics.histogram(REQUEST_SECONDS, key.api_name),
        )
        self._routes[api_key << 16 | version] = route
        return route

    def _failed(self, connection: Connection, route: Route, bug: Exception) -> None:
        """A handler that raises is wrong, and this is a task's outermost frame: the others must be served on."""
        self._broker.log.error(
            "request failed", api=route.key.api_name, version=route.version, client=connection.peer_address[0], exc_info=bug
        )
        connection.close()
