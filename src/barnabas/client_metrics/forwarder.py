"""Pushes on their way to a collector: a bounded queue, one POST at a time, and a thread for it.

Messages of OTLP can be joined end to end, so one POST takes all pushes that wait, up to
:data:`POST_BYTES_MAX`. A collector that is down is tried again, less and less often; meanwhile the
oldest pushes make room for new ones. Metrics are not worth more memory than that.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from barnabas.env.worker import Worker
from barnabas.telemetry.catalogue import CLIENT_METRICS_FORWARDED, CLIENT_METRICS_NOT_FORWARDED
from barnabas.telemetry.logs import EventLog
from barnabas.telemetry.metrics import Metrics
from barnabas.telemetry.otlp_post import Fate, Posted

# Collectors take 4 MiB by default (gRPC) and 20 MiB (HTTP).
POST_BYTES_MAX = 2 * 1024 * 1024
WAITING_BYTES_MAX = 16 * 1024 * 1024
BACKOFF_SECONDS = 1.0
BACKOFF_SECONDS_MAX = 60.0


class Forwarder:
    def __init__(self, post: Callable[[bytes], Posted], metrics: Metrics, log: EventLog) -> None:
        self._post = post
        self._log = log
        self._worker = Worker("client-metrics-forwarder", 1)
        self._waiting: deque[bytes] = deque()
        self._waiting_bytes = 0
        self._sending: list[bytes] = []
        self._retry: asyncio.TimerHandle | None = None
        self._backoff_seconds = 0.0
        self._forwarded = metrics.counter(CLIENT_METRICS_FORWARDED)
        self._displaced = metrics.counter(CLIENT_METRICS_NOT_FORWARDED, "waiting")
        self._refused = metrics.counter(CLIENT_METRICS_NOT_FORWARDED, "refused")

    def offer(self, push: bytes) -> None:
        self._waiting.append(push)
        self._waiting_bytes += len(push)
        while self._waiting_bytes > WAITING_BYTES_MAX:
            self._waiting_bytes -= len(self._waiting.popleft())
            self._displaced.value += 1
        self._send()

    def _send(self) -> None:
        if self._sending or self._retry is not None or not self._waiting:
            return
        size = 0
        while self._waiting and (not size or size + len(self._waiting[0]) <= POST_BYTES_MAX):
            push = self._waiting.popleft()
            self._sending.append(push)
            size += len(push)
        self._waiting_bytes -= size
        body = b"".join(self._sending)
        self._worker.run(lambda: self._post(body)).then(self._posted)

    def _posted(self, posted: Posted) -> None:
        pushes, self._sending = self._sending, []
        match posted.fate:
            case Fate.TAKEN:
                if self._backoff_seconds:
                    self._log.info("client metrics are forwarded again")
                self._backoff_seconds = 0.0
                self._forwarded.value += len(pushes)
            case Fate.REFUSED:
                self._refused.value += len(pushes)
                self._log.warning("client metrics refused by the collector", pushes=len(pushes), reason=posted.reason)
            case Fate.TRY_AGAIN:
                self._put_back(pushes)
                if not self._backoff_seconds:
                    self._log.warning("client metrics cannot be forwarded", reason=posted.reason, advice="It is tried again.")
                self._backoff_seconds = min(BACKOFF_SECONDS_MAX, max(BACKOFF_SECONDS, 2 * self._backoff_seconds))
                self._retry = asyncio.get_running_loop().call_later(self._backoff_seconds, self._try_again)
        self._send()

    def _put_back(self, pushes: list[bytes]) -> None:
        """In front, as far as newer pushes have left room."""
        for push in reversed(pushes):
            if self._waiting_bytes + len(push) > WAITING_BYTES_MAX:
                self._displaced.value += 1
                continue
            self._waiting.appendleft(push)
            self._waiting_bytes += len(push)

    def _try_again(self) -> None:
        self._retry = None
        self._send()

    def stop(self) -> None:
        """Pushes that wait are lost: a node that stops does not wait for a collector."""
        if self._retry is not None:
            self._retry.cancel()
        self._waiting.clear()
        self._worker.close()
