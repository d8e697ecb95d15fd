"""Subscriptions: what brokers ask of which clients, and all of it together for one client.

A client gets the metrics of every subscription that matches it, and the shortest of their
intervals. No subscription at all is a subscription to nothing: the client asks again after the
default interval.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from crc32c import crc32c

from barnabas.client_metrics.core.client_labels import ClientLabels
from barnabas.client_metrics.core.hash_order import hash_order, uuid_hash
from barnabas.config.client_metrics_keys import INTERVAL_MS, INTERVAL_MS_DEFAULT, MATCH, split_match
from barnabas.config.parse import parse_client_metrics_config
from barnabas.model.dataclass import dataclass
from barnabas.model.ids import Uuid
from barnabas.model.pattern import Matcher, matcher

# As the name of a metric: all metrics.
ALL_METRICS = "*"


@dataclass(frozen=True, slots=True)
class Subscription:
    name: str
    metrics: tuple[str, ...]
    interval_ms: int
    patterns: Mapping[str, Matcher]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether every pattern matches the whole of its label."""
        return all(accepts(labels[name]) for name, accepts in self.patterns.items())


@dataclass(frozen=True, slots=True)
class Requested:
    """What one client instance is asked for. The id changes with the metrics and the interval."""

    metrics: tuple[str, ...]
    interval_ms: int
    subscription_id: int


def parse_subscription(name: str, raw: Mapping[str, str]) -> Subscription:
    """``ConfigError`` for settings that another version of the controller accepted."""
    values = parse_client_metrics_config(raw)
    metrics, matches = values.get("metrics", ()), values.get(MATCH, ())
    interval_ms = values.get(INTERVAL_MS, INTERVAL_MS_DEFAULT)
    assert isinstance(metrics, tuple)
    assert isinstance(interval_ms, int)
    assert isinstance(matches, tuple)
    patterns: dict[str, Matcher] = {}
    for text in matches:
        entry = split_match(text)
        assert entry is not None, "checked when the settings were parsed"
        accepts = matcher(entry[1])
        assert not isinstance(accepts, str), "checked when the settings were parsed"
        patterns[entry[0]] = accepts
    return Subscription(name, metrics, interval_ms, patterns)


def requested_of(labels: ClientLabels, subscriptions: Iterable[Subscription]) -> Requested:
    values = labels.by_name()
    matching = [subscription for subscription in subscriptions if subscription.matches(values)]
    interval_ms = min([INTERVAL_MS_DEFAULT, *(each.interval_ms for each in matching)])
    metrics = hash_order(metric for each in matching for metric in each.metrics)
    if ALL_METRICS in metrics:
        metrics = (ALL_METRICS,)
    return Requested(metrics, interval_ms, subscription_id(metrics, interval_ms, labels.instance_id))


def subscription_id(metrics: Iterable[str], interval_ms: int, instance_id: Uuid) -> int:
    """Kafka's number: a checksum of the metrics and the interval, mixed with the instance id."""
    text = f"[{', '.join(metrics)}]{interval_ms}"
    unsigned = crc32c(text.encode("utf-8", "surrogatepass")) ^ uuid_hash(instance_id)
    return unsigned - (1 << 32) if unsigned >= 1 << 31 else unsigned
