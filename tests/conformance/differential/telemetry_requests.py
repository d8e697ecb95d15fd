"""Requests of clients that push metrics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count

from barnabas.model.ids import Uuid
from barnabas.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from barnabas.wire.messages.push_telemetry import PushTelemetryRequest
from tests.conformance.differential.config_requests import CLIENT_METRICS, DELETE, SET, altering
from tests.conformance.differential.pair import Pair, Peer
from tests.waiting import until

_numbers = count(1)
INTERVAL = "interval.ms"
INTERVAL_MS_MIN = 100


def new_instance() -> Uuid:
    """The same id on both sides, so that their subscription ids are comparable."""
    return Uuid(b"an instance " + next(_numbers).to_bytes(4, "big"))


def asking(instance_id: Uuid) -> GetTelemetrySubscriptionsRequest:
    return GetTelemetrySubscriptionsRequest(client_instance_id=instance_id)


def pushing(
    instance_id: Uuid, subscription_id: int, metrics: bytes = b"", *, terminating: bool = False, codec: int = 0
) -> PushTelemetryRequest:
    return PushTelemetryRequest(
        client_instance_id=instance_id,
        subscription_id=subscription_id,
        terminating=terminating,
        compression_type=codec,
        metrics=metrics,
    )


@contextmanager
def subscribed(pair: Pair, **settings: str) -> Iterator[None]:
    """A subscription, in force on both sides. Underscores of settings stand for dots."""
    name = f"subscription-{next(_numbers)}"
    keys = [key.replace("_", ".") for key in settings]
    pair.same(altering((CLIENT_METRICS, name, [(key, SET, value) for key, value in zip(keys, settings.values(), strict=True)])), [1])
    _settle(pair)
    try:
        yield
    finally:
        pair.same(altering((CLIENT_METRICS, name, [(key, DELETE, None) for key in keys])), [1])
        _settle(pair)


def _settle(pair: Pair) -> None:
    """Returns when both brokers follow the subscriptions. Changes take effect in their order, so
    one that every client sees proves those before it. Tests have longer intervals than this one."""
    interval_ms = INTERVAL_MS_MIN + next(_numbers) % 100
    for change in ((INTERVAL, SET, str(interval_ms)), (INTERVAL, DELETE, None)):
        pair.same(altering((CLIENT_METRICS, "barrier", [change])), [1])
        for peer in pair.peers:

            def seen(peer: Peer = peer, is_set: bool = change[1] == SET) -> bool:
                answer = peer.broker.ask(asking(new_instance()), 0)
                return bool((answer.push_interval_ms == interval_ms) is is_set)

            until(seen, f"{peer.name} follows the subscriptions", pause_seconds=0.002)
