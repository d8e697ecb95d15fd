"""How one API is served in one version: decode, handle, encode, count."""

from __future__ import annotations

import struct
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

from barnabas.api.handler import Handler
from barnabas.api.response_errors import error_search
from barnabas.model.promise import Promise
from barnabas.network.connection import Frame
from barnabas.telemetry.metrics import Counter, LatencyHistogram
from barnabas.wire.apis import ApiKey, messages
from barnabas.wire.compiler import decoder, encoder
from barnabas.wire.frames import OutFrame
from barnabas.wire.headers import request_header_version, response_header_version

_CORRELATION_ID = struct.Struct(">i")


class Route:
    __slots__ = (
        "count_error",
        "decode",
        "encode",
        "flexible_request",
        "flexible_response",
        "handle",
        "has_shortcut",
        "key",
        "requests",
        "search_errors",
        "seconds",
        "version",
    )

    def __init__(
        self,
        key: ApiKey,
        version: int,
        handle: Handler,
        requests: Counter,
        seconds: LatencyHistogram,
        count_error: Callable[[int], None],
        *,
        has_shortcut: bool,
    ) -> None:
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
        self.count_error = count_error
        self.search_errors = error_search(response)
        self.has_shortcut = has_shortcut

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
        if response is None:
            return None
        if self.search_errors is not None:
            self.search_errors(response, self.count_error)
        return self.answer(correlation_id, response)

    def finish_later(self, started: int, correlation_id: int, response: Promise[Any]) -> Promise[Frame | None]:
        return response.map(lambda value: self.finish(started, correlation_id, value))

    def count(self, started: int, requests: int = 1) -> None:
        self.requests.value += requests
        self.seconds.observe((perf_counter_ns() - started) // 1000, requests)
