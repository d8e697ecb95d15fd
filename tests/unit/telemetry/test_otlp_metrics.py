from __future__ import annotations

from barnabas.telemetry.metrics import LATENCY_BUCKETS_US, Kind, Metric, Metrics
from barnabas.telemetry.otlp_metrics import otlp_metrics
from tests.otlp import CUMULATIVE, read

_REQUESTS = Metric("requests_total", Kind.COUNTER, "requests", "Requests answered.", ("api",))
_OPEN = Metric("connections", Kind.GAUGE, "connections", "Connections open now.")
_SECONDS = Metric("request_seconds", Kind.HISTOGRAM, "seconds", "Time of requests.", ("api",))


def test_counters_gauges_and_histograms_are_metrics_of_opentelemetry() -> None:
    metrics = Metrics()
    metrics.counter(_REQUESTS, "Fetch").value += 7
    metrics.counter(_REQUESTS, "Prodüce").value += 300
    metrics.reading(_OPEN, lambda: [((), 2.5)])
    timed = metrics.histogram(_SECONDS, "Fetch")
    timed.observe(75)
    timed.observe(10**9, times=2)
    data = read(otlp_metrics(metrics, {"service.name": "barnabas"}, version="1.2", started_ns=5, now_ns=2**62))
    (resource,) = data.resource_metrics
    assert [(each.key, each.value.string_value) for each in resource.resource.attributes] == [("service.name", "barnabas")]
    (scope,) = resource.scope_metrics
    assert (scope.scope.name, scope.scope.version) == ("barnabas", "1.2")
    by_name = {each.name: each for each in scope.metrics}
    counted = by_name["requests_total"]
    assert (counted.unit, counted.description) == ("requests", "Requests answered.")
    assert (counted.sum.is_monotonic, counted.sum.aggregation_temporality) == (True, CUMULATIVE)
    points = {each.attributes[0].value.string_value: each for each in counted.sum.data_points}
    assert {name: each.as_double for name, each in points.items()} == {"Fetch": 7, "Prodüce": 300}
    assert (points["Fetch"].attributes[0].key, points["Fetch"].start_time_unix_nano, points["Fetch"].time_unix_nano) == ("api", 5, 2**62)
    assert [each.as_double for each in by_name["connections"].gauge.data_points] == [2.5]
    (point,) = by_name["request_seconds"].histogram.data_points
    assert (point.count, round(point.sum, 6)) == (3, 2000.000075)
    assert list(point.explicit_bounds) == [each / 1_000_000 for each in LATENCY_BUCKETS_US]
    assert list(point.bucket_counts) == [0, 1, *[0] * 14, 2]
    assert by_name["request_seconds"].histogram.aggregation_temporality == CUMULATIVE
