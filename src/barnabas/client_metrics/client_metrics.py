"""The door for handlers: asks and pushes of clients, and what becomes of them.

A push is judged on the loop, opened on a thread, and put into the series on the loop again; its
answer waits for that, because a push that cannot be read is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Protocol

from barnabas.client_metrics.core.client_instances import ClientInstances, Pushed, silent_ms_max
from barnabas.client_metrics.core.client_labels import ClientLabels
from barnabas.client_metrics.core.client_series import ClientSeries
from barnabas.client_metrics.core.subscription import Requested, Subscription
from barnabas.client_metrics.page_families import client_infos, families_of
from barnabas.client_metrics.reading import Push, open_push
from barnabas.env.clock import Clock
from barnabas.env.entropy import Entropy, random_uuid
from barnabas.env.worker import Worker
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import NodeId, Uuid
from barnabas.model.promise import Promise
from barnabas.telemetry import catalogue
from barnabas.telemetry.metrics import Metrics

if TYPE_CHECKING:
    from barnabas.client_metrics.forwarder import Forwarder

# Pushes that wait for the thread. Each holds up to telemetry.max.bytes; a client that finds more of
# them pushes again after its interval.
PUSHES_WAITING_MAX = 64
SWEEP_SECONDS = 10.0


class ClientConnection(Hashable, Protocol):
    def if_lost(self, callback: Callable[[], object]) -> None:
        """``callback`` is called once, when the connection has ended."""


class ClientMetrics:
    def __init__(
        self, clock: Clock, entropy: Entropy, metrics: Metrics, *, node_id: NodeId, push_bytes_max: int, forwarder: Forwarder | None = None
    ) -> None:
        self.push_bytes_max = push_bytes_max
        self._clock = clock
        self._entropy = entropy
        self._broker_id = str(node_id)
        self._forwarder = forwarder
        self._instances = ClientInstances(push_bytes_max=push_bytes_max)
        self._series = ClientSeries()
        self._worker = Worker("client-metrics", 1)
        self._waiting = 0
        self._watched: set[ClientConnection] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._dropped = {reason: metrics.counter(catalogue.CLIENT_METRICS_DROPPED, reason) for reason in ("limit", "text", "kind")}
        metrics.reading(catalogue.CLIENT_METRICS_INSTANCES, lambda: [((), len(self._instances))])
        metrics.reading(catalogue.CLIENT_METRICS_SERIES, lambda: [((), self._series.count)])
        metrics.reading(catalogue.CLIENT_INFO, lambda: client_infos(self._series.clients()))
        metrics.families.append(lambda: families_of(self._series.series()))

    def replace_subscriptions(self, subscriptions: Iterable[Subscription]) -> None:
        self._instances.replace_subscriptions(subscriptions)

    def new_instance_id(self) -> Uuid:
        return Uuid(random_uuid(self._entropy))

    def ask(self, labels: ClientLabels, connection: ClientConnection) -> Requested | ErrorCode:
        self._watch(connection)
        return self._instances.ask(labels, connection, self._clock.monotonic_ms())

    def push(self, labels: ClientLabels, connection: ClientConnection, pushed: Pushed, data: bytes) -> ErrorCode | Promise[ErrorCode]:
        self._watch(connection)
        accepted = self._instances.push(labels, connection, pushed, self._clock.monotonic_ms())
        if isinstance(accepted, ErrorCode):
            return accepted
        if not data:
            return ErrorCode.NONE
        if self._waiting >= PUSHES_WAITING_MAX:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        self._waiting += 1
        for_collector = self._labels_for_collector(labels) if self._forwarder is not None else None
        opening = self._worker.run(lambda: open_push(pushed.codec, data, for_collector, push_bytes_max=self.push_bytes_max))
        interval_ms = accepted.requested.interval_ms

        def opened(outcome: Push | ErrorCode) -> ErrorCode:
            self._waiting -= 1
            if isinstance(outcome, ErrorCode):
                accepted.last_error = outcome
                return outcome
            self._take(labels, outcome, interval_ms)
            return ErrorCode.NONE

        return opening.map(opened)

    def _take(self, labels: ClientLabels, push: Push, interval_ms: int) -> None:
        expires_ms = self._clock.monotonic_ms() + silent_ms_max(interval_ms)
        self._dropped["limit"].value += self._series.accept(labels, push.opened, expires_ms=expires_ms)
        self._dropped["text"].value += push.opened.too_long
        self._dropped["kind"].value += push.opened.other_kinds
        if self._forwarder is not None and push.forwarded:
            self._forwarder.offer(push.forwarded)

    def _labels_for_collector(self, labels: ClientLabels) -> dict[str, str]:
        return {**labels.by_name(), "principal": labels.principal, "broker_id": self._broker_id}

    def _watch(self, connection: ClientConnection) -> None:
        if connection not in self._watched:
            self._watched.add(connection)
            connection.if_lost(lambda: self._lost(connection))
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._expire)

    def _lost(self, connection: ClientConnection) -> None:
        self._watched.discard(connection)
        self._instances.disconnected(connection)

    def _expire(self) -> None:
        """The timer runs only while there is something to expire."""
        self._sweep = None
        now_ms = self._clock.monotonic_ms()
        self._instances.expire(now_ms)
        self._series.expire(now_ms)
        if len(self._instances) or self._series.count:
            self._sweep = asyncio.get_running_loop().call_later(SWEEP_SECONDS, self._expire)

    def stop(self) -> None:
        if self._sweep is not None:
            self._sweep.cancel()
        self._worker.close()
        if self._forwarder is not None:
            self._forwarder.stop()
