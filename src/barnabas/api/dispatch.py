"""From a frame to an answer: header, route, decode, handle, encode.

A route is made at the first call of an API in a version, and one dictionary lookup finds it after
that. Some routes have a shortcut (:mod:`~barnabas.api.shortcuts`): a request that repeats an
earlier one of its connection skips the decoder, the handler and the encoder.

An error before a handler runs is the peer's fault and closes the connection, as in Kafka: an
unknown API, a version that was not offered, bytes that do not decode. The one exception is
ApiVersions: a client sends it before it can know the versions.
"""

from __future__ import annotations

from time import perf_counter_ns
from typing import Any

from barnabas.api.broker import Broker
from barnabas.api.broker_apis.api_versions import unsupported_version
from barnabas.api.handler import Handlers
from barnabas.api.route import Route
from barnabas.api.shortcuts import Shortcuts
from barnabas.model.errors import ErrorCode, known_error
from barnabas.model.promise import Promise
from barnabas.network.caller import Caller
from barnabas.network.connection import Connection, Frame, Reply
from barnabas.network.request_meter import RequestMeter
from barnabas.telemetry.catalogue import REQUEST_SECONDS, REQUESTS, RESPONSE_ERRORS
from barnabas.wire.apis import ApiKey, stable_versions
from barnabas.wire.compiler import DECODE_ERRORS
from barnabas.wire.headers import read_request_prefix
from barnabas.wire.tagged_fields import MalformedMessage, skip_tagged_fields

# Requests between nodes, which no quota of a client may slow down.
EXEMPT_FROM_QUOTAS = frozenset(
    {
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.ALTER_PARTITION,
        ApiKey.ASSIGN_REPLICAS_TO_DIRS,
        ApiKey.BEGIN_QUORUM_EPOCH,
        ApiKey.BROKER_HEARTBEAT,
        ApiKey.BROKER_REGISTRATION,
        ApiKey.CONTROLLER_REGISTRATION,
        ApiKey.END_QUORUM_EPOCH,
        ApiKey.ENVELOPE,
        ApiKey.FETCH_SNAPSHOT,
        ApiKey.UPDATE_RAFT_VOTER,
        ApiKey.VOTE,
        ApiKey.WRITE_TXN_MARKERS,
    }
)


class Dispatch:
    """Serves the frames of one kind of listener."""

    def __init__(self, broker: Broker, handlers: Handlers, exempt: frozenset[ApiKey] = EXEMPT_FROM_QUOTAS) -> None:
        self._broker = broker
        self._handlers = handlers
        self._exempt = exempt
        self._quotas = broker.client_quotas
        self._routes: dict[int, Route] = {}
        self._shortcuts = Shortcuts(broker, self._serve_fully)

    def serve(self, connection: Connection, frame: memoryview) -> Reply:
        shortcut = connection.shortcut
        if shortcut is not None:
            reply = shortcut.serve(connection, frame)
            if reply is not None:
                return reply
        # Serve pending requests first, so that responses keep the order of requests.
        self._shortcuts.flush()
        return self._serve_fully(connection, frame)

    def _serve_fully(self, connection: Connection, frame: memoryview) -> Frame | Promise[Frame | None] | None:
        started = perf_counter_ns()
        api_key, version, correlation_id, client_id, position = read_request_prefix(frame)
        route = self._routes.get(api_key << 16 | version)
        if route is None:
            route = self._route(api_key, version)
            if route is None:
                self._count_error(ApiKey.API_VERSIONS, ErrorCode.UNSUPPORTED_VERSION)
                return unsupported_version(correlation_id)
        meter = self._metered(connection, route.key, client_id or "") if self._quotas.in_force else None
        try:
            if route.flexible_request:
                position = skip_tagged_fields(frame, position, len(frame)) if frame[position] else position + 1
            request, _ = route.decode(frame, position)
        except DECODE_ERRORS as error:
            raise MalformedMessage(f"{route.key.api_name} v{version} cannot be read: {error}") from error
        caller = Caller(connection, version, correlation_id, client_id, api=route.key.api_name, meter=meter)
        try:
            response = route.handle(self._broker, caller, request)
        except Exception as bug:  # noqa: BLE001
            self._failed(connection, route, bug)
            return None
        pending = response if type(response) is Promise and not response.done else None
        if pending is None and type(response) is Promise:
            response = response.value
        if meter is not None:
            # No shortcut is remembered: it would serve the next request without measuring it.
            return self._finish_metered(connection, route, meter, started, correlation_id, len(frame), response)
        if route.has_shortcut:
            self._shortcuts.remember(connection, route, frame, position, request, response if pending is None else None)
        if pending is not None:
            return pending.map(lambda value: self._finish(connection, route, started, correlation_id, value))
        return self._finish(connection, route, started, correlation_id, response)

    def _finish(self, connection: Connection, route: Route, started: int, correlation_id: int, response: Any) -> Frame | None:
        """A response that cannot be encoded is a bug of its handler, and must not reach the part
        that resolves the promise: the applier would take it for a failure of its own and halt the
        node."""
        try:
            return route.finish(started, correlation_id, response)
        except Exception as bug:  # noqa: BLE001
            self._failed(connection, route, bug)
            return None

    def _metered(self, connection: Connection, key: ApiKey, client_id: str) -> RequestMeter | None:
        user = connection.principal.name
        limits = self._quotas.limits(user, client_id) if key not in self._exempt else None
        return RequestMeter(self._quotas, limits, self._broker.clock, user, client_id) if limits is not None else None

    def _finish_metered(
        self,
        connection: Connection,
        route: Route,
        meter: RequestMeter,
        started: int,
        correlation_id: int,
        request_bytes: int,
        response: Any,
    ) -> Frame | Promise[Frame | None] | None:
        def finish(value: Any) -> Frame | None:
            if route.key is ApiKey.PRODUCE:
                meter.produced(request_bytes)
            wait_ms = meter.finish(value)
            if wait_ms:
                # The response leaves at once. Requests that have arrived already wait as well.
                connection.throttle(wait_ms / 1000)
            return self._finish(connection, route, started, correlation_id, value)

        if type(response) is not Promise:
            return finish(response)
        meter.pause()

        def finish_later(value: Any) -> Frame | None:
            meter.resume()
            return finish(value)

        return response.map(finish_later)

    def _route(self, api_key: int, version: int) -> Route | None:
        """None for an unknown version of ApiVersions, which has its own response."""
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
            lambda code: self._count_error(key, code),
            has_shortcut=self._shortcuts.exist_for(key),
        )
        self._routes[api_key << 16 | version] = route
        return route

    def _count_error(self, key: ApiKey, code: int) -> None:
        self._broker.metrics.counter(RESPONSE_ERRORS, key.api_name, known_error(code).name).value += 1

    def _failed(self, connection: Connection, route: Route, bug: Exception) -> None:
        """Log a bug in a handler and close its connection; other connections continue.

        This is a task's outermost frame.
        """
        self._broker.log.error(
            "request failed", api=route.key.api_name, version=route.version, client=connection.peer_address[0], exc_info=bug
        )
        connection.close()
