"""Client instances for tests."""

from __future__ import annotations

from barnabas.client_metrics.core.client_labels import ClientLabels
from barnabas.client_metrics.core.subscription import Subscription, parse_subscription
from barnabas.model.ids import Uuid

INTERVAL_MS = 10_000


def instance_id(number: int) -> Uuid:
    return Uuid(number.to_bytes(16))


def client(number: int = 100, client_id: str = "a-client") -> ClientLabels:
    return ClientLabels(instance_id(number), client_id, "apache-kafka-java", "4.3.0", "10.0.0.1", 40_000 + number)


def subscription(name: str = "all", metrics: str = "*", interval_ms: int = INTERVAL_MS, match: str = "") -> Subscription:
    return parse_subscription(name, {"metrics": metrics, "interval.ms": str(interval_ms), "match": match})
