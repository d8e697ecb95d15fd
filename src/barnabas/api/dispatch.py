"""From a frame to an answer: header, route, decode, handle, encode.

A route is made the first time an API is called in a version, and then found by one dictionary lookup. What goes wrong before a
handler runs is the peer's fault and ends the connection, as it does with Kafka: an unknown API, a version that was not offered,
bytes that do not decode. The one exception is ApiVersions, which is asked by clients that cannot know the versions yet.
"""

from __future__ import annotations

import struct
from time import perf_counter_ns
from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.broker_apis.api_versions import unsupported_version
from barnabas.api.handler import Handler, Handlers
from barnabas.api.request_context import RequestContext
from barnabas.model.promise import Promise
from barnabas.network.connection import Connection, Reply
from barnabas.telemetry.catalogue import REQUEST_SECONDS, REQUESTS
from barnabas.telemetry.metrics import Counter, LatencyHistogram
from barnabas.wire.apis import ApiKey, messages, stable_versions
from barnabas.wire.compiler import DECODE_ERRORS, Decoder, Encoder, decoder, encoder
from barnabas.wire.frames import OutFrame
from barnabas.wire.headers import read_request_prefix, request_header_version, response_header_version
from barnabas.wire.tagged_fields import MalformedMessage, skip_tagged_fields

_CORRELATION_ID = struct.Struct(">i")


class Route:
    __slots__ = ("decode", "encode", "flexible_request", "flexible_response", "handle", "requests", "seconds")

    def __init__(self, decode: Decoder, handle: Handler, encode: Encoder, requests: Counter, seconds: LatencyHistogram) -> None:
        self.decode = decode
        self.handle = handle
        self.encode = encode
        self.flexible_request = False
        self.flexible_response = False
        self.requests = requests
        self.seconds = seconds


class Dispatch:
    """Serves the frames of one kind of listener."""

    def __init__(self, broker: Broker, handlers: Handlers) -> None:
        self._broker = broker
        self._handlers = handlers
        self._routes: dict[tuple[int, int], Route] = {}

    def serve(self, connection: Connection, frame: memoryview) -> Reply:
        started = perf_counter_ns()
        api_key, version, correlation_id, client_id, position = read_request_prefix(frame)
        route = self._routes.get((api_key, version))
        if route is None:
            route = self._route(api_key, version)
            if route is None:
                return unsupported_version(correlation_id)
        try:
            if route.flexible_request:
                position = skip_tagged_fields(frame, position, len(frame)) if frame[position] else position + 1
            request, _ = route.decode(frame, position)
        except DECODE_ERRORS as wrong:
            raise MalformedMessage(f"{ApiKey(api_key).api_name} v{version} cannot be read: {wrong}") from wrong
        context = RequestContext(connection, version, correlation_id, client_id)
        try:
            response = route.handle(self._broker, context, request)
        except Exception as bug:  # noqa: BLE001
            self._failed(connection, ApiKey(api_key), version, bug)
            return None
        if type(response) is Promise:
            if not response.done:
                return response.map(lambda value: self._finish(route, started, correlation_id, value))
            response = response.value
        return self._finish(route, started, correlation_id, response)

    def _finish(self, route: Route, started: int, correlation_id: int, response: Any) -> OutFrame | None:
        route.requests.value += 1
        route.seconds.observe((perf_counter_ns() - started) // 1000)
        if response is None:
            return None
        out = OutFrame()
        out += _CORRELATION_ID.pack(correlation_id)
        if route.flexible_response:
            out.append(0)
        route.encode(response, out)
        out.seal()
        return out

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
        request, response = messages(key)
        metrics = self._broker.metrics
        route = Route(
            decoder(request, version),
            handle,
            encoder(response, version),
            metrics.counter(REQUESTS, key.api_name),
            metrics.histogram(REQUEST_SECONDS, key.api_name),
        )
        route.flexible_request = request_header_version(request, version) == 2
        route.flexible_response = response_header_version(response, version) == 1
        self._routes[api_key, version] = route
        return route

    def _failed(self, connection: Connection, key: ApiKey, version: int, bug: Exception) -> None:
        """A handler that raises is wrong, and this is a task's outermost frame: the others must be served on."""
        self._broker.log.error("request failed", api=key.api_name, version=version, client=connection.peer_address[0], exc_info=bug)
        connection.close()
