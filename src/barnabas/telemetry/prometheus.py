"""The page that Prometheus scrapes, served by its own thread so that a slow scraper cannot hold up
the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from barnabas.telemetry.metrics import LATENCY_BUCKETS_US, Kind, Metrics

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

_MICROSECONDS = 1_000_000


class Exposition:
    """``Metrics`` in the form that prometheus-client's registry needs."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Family]:
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        for metric, readings in self._metrics.values():
            family: Any
            if metric.kind is Kind.COUNTER:
                family = CounterMetricFamily(metric.name, metric.doc, labels=metric.labels)
            else:
                family = GaugeMetricFamily(metric.name, metric.doc, labels=metric.labels)
            for labels, value in readings:
                family.add_metric(labels, value)
            yield family
        for metric, series in self._metrics.histograms():
            histogram = HistogramMetricFamily(metric.name, metric.doc, labels=metric.labels)
            for labels, values in series.items():
                total = 0
                buckets = []
                for bound, count in zip((*LATENCY_BUCKETS_US, None), list(values.counts), strict=True):
                    total += count
                    buckets.append(("+Inf" if bound is None else repr(bound / _MICROSECONDS), total))
                histogram.add_metric(labels, buckets=buckets, sum_value=values.sum_us / _MICROSECONDS)
            yield histogram


class PrometheusPage:
    def __init__(self, metrics: Metrics, host: str, port: int) -> None:
        """Raises ``OSError`` when the address is taken."""
        from prometheus_client import CollectorRegistry, start_http_server

        registry = CollectorRegistry(auto_describe=False)
        registry.register(Exposition(metrics))
        self._server, self._thread = start_http_server(port, addr=host, registry=registry)
        self.port: int = self._server.server_port

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
