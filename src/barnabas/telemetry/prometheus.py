"""The page that Prometheus scrapes. :mod:`~.http_server` serves it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from gzip import compress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from barnabas.telemetry.http_server import Request, Response
from barnabas.telemetry.metrics import LATENCY_BUCKETS_US, Family as Found, Kind, Metrics

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

_MICROSECONDS = 1_000_000
# The page repeats itself so much that the fastest level makes it ten times smaller.
GZIP_LEVEL = 1


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
        for read in list(self._metrics.families):
            for found in read():
                yield _of_clients(found)


def _of_clients(found: Found) -> Family:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    counts = found.kind is Kind.COUNTER
    family = CounterMetricFamily(found.name, found.doc) if counts else GaugeMetricFamily(found.name, found.doc)
    name = f"{family.name}_total" if counts else family.name
    for labels, value in found.samples:
        family.add_sample(name, dict(labels), value)
    return family


class MetricsPage:
    """``/metrics``, in the format that the scraper prefers.

    A worker thread makes the page: with thousands of topics that takes long enough to delay a
    probe. Scrapers that come together wait for each other.
    """

    def __init__(self, metrics: Metrics) -> None:
        from prometheus_client import CollectorRegistry, ProcessCollector

        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(Exposition(metrics))
        # The names of process_* and their sources are those that every dashboard knows.
        ProcessCollector(registry=self._registry)
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="metrics-page")

    async def respond(self, request: Request) -> Response:
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._make, request)

    def _make(self, request: Request) -> Response:
        from prometheus_client.exposition import choose_encoder

        encode, content_type = choose_encoder(request.headers.get("accept", ""))
        body = encode(self._registry)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(HTTPStatus.OK, body, content_type)
        return Response(HTTPStatus.OK, compress(body, GZIP_LEVEL), content_type, {"Content-Encoding": "gzip"})

    def close(self) -> None:
        self._worker.shutdown(wait=False, cancel_futures=True)
