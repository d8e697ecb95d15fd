"""Counters, histograms and readings, and their page for Prometheus."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from barnabas.telemetry import catalogue
from barnabas.telemetry.catalogue import CATALOGUE, CONNECTIONS, PARTITIONS, REQUEST_SECONDS, REQUESTS, TOPIC_BYTES_IN
from barnabas.telemetry.metrics import LATENCY_BUCKETS_US, Kind, LatencyHistogram, Metrics, Reading
from barnabas.telemetry.prometheus import Exposition


def page(metrics: Metrics) -> str:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Exposition(metrics))
    return generate_latest(registry).decode()


def samples(metrics: Metrics) -> dict[str, float]:
    lines = (line for line in page(metrics).splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


# -- the catalogue ---------------------------------------------------------------------------


def test_every_metric_is_declared_once_with_a_valid_prometheus_name() -> None:
    names = [metric.name for metric in CATALOGUE]
    assert len(set(names)) == len(names)
    for metric in CATALOGUE:
        assert re.fullmatch(r"(barnabas|process)_[a-z_]+", metric.name)
        assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER)
        assert metric.unit
        assert metric.doc.endswith(".")


def test_every_declared_metric_is_in_the_catalogue() -> None:
    assert catalogue.REQUESTS in CATALOGUE
    assert len(CATALOGUE) > 20


# -- counting --------------------------------------------------------------------------------


def test_one_series_for_each_set_of_labels() -> None:
    metrics = Metrics()
    metrics.counter(REQUESTS, "Fetch").value += 2
    metrics.counter(REQUESTS, "Fetch").value += 1
    metrics.counter(REQUESTS, "Produce").value += 5
    assert dict(metrics.values())[REQUESTS] == [(("Fetch",), 3), (("Produce",), 5)]


def test_labels_and_kinds_must_be_those_of_the_declaration() -> None:
    metrics = Metrics()
    for wrong in (
        lambda: metrics.counter(REQUESTS),
        lambda: metrics.counter(REQUESTS, "a", "b"),
        lambda: metrics.counter(REQUEST_SECONDS, "a"),
        lambda: metrics.histogram(REQUESTS, "a"),
        lambda: metrics.histogram(REQUEST_SECONDS),
        lambda: metrics.reading(REQUEST_SECONDS, list),
    ):
        with pytest.raises(AssertionError):
            wrong()


def test_a_forgotten_series_is_removed_and_the_others_stay() -> None:
    metrics = Metrics()
    for topic in ("a", "b"):
        metrics.counter(TOPIC_BYTES_IN, topic).value += 1
    metrics.forget(TOPIC_BYTES_IN, "a")
    metrics.forget(TOPIC_BYTES_IN, "never was")
    metrics.forget(REQUESTS, "never was")
    assert dict(metrics.values())[TOPIC_BYTES_IN] == [(("b",), 1)]


def test_readings_are_taken_on_a_scrape() -> None:
    metrics = Metrics()
    count = [1]

    def read() -> Iterable[Reading]:
        return [((), count[0])]

    metrics.reading(PARTITIONS, read)
    assert samples(metrics)["barnabas_partitions"] == 1
    count[0] = 7
    assert samples(metrics)["barnabas_partitions"] == 7


@pytest.mark.parametrize(("elapsed_us", "bucket"), [(0, 0), (50, 0), (51, 1), (30_000_000, 15), (30_000_001, 16), (10**12, 16)])
def test_a_latency_falls_into_the_first_bucket_that_holds_it(elapsed_us: int, bucket: int) -> None:
    histogram = LatencyHistogram()
    histogram.observe(elapsed_us)
    assert histogram.counts.index(1) == bucket
    assert (sum(histogram.counts), histogram.sum_us) == (1, elapsed_us)


# -- the page --------------------------------------------------------------------------------


def test_the_page_is_valid_for_prometheus() -> None:
    metrics = Metrics()
    metrics.counter(REQUESTS, "Fetch").value += 3
    metrics.reading(CONNECTIONS, lambda: [(("PLAINTEXT",), 2), (("CONTROLLER",), 0)])
    assert page(metrics).splitlines() == [
        "# HELP barnabas_requests_total Requests answered, by API.",
        "# TYPE barnabas_requests_total counter",
        'barnabas_requests_total{api="Fetch"} 3.0',
        "# HELP barnabas_connections Connections open now.",
        "# TYPE barnabas_connections gauge",
        'barnabas_connections{listener="PLAINTEXT"} 2.0',
        'barnabas_connections{listener="CONTROLLER"} 0.0',
    ]


def test_buckets_are_cumulative_and_times_are_in_seconds() -> None:
    metrics = Metrics()
    histogram = metrics.histogram(REQUEST_SECONDS, "Fetch")
    for elapsed_us in (40, 60, 200_000, 60_000_000):
        histogram.observe(elapsed_us)
    read = samples(metrics)
    assert read['barnabas_request_seconds_bucket{api="Fetch",le="5e-05"}'] == 1
    assert read['barnabas_request_seconds_bucket{api="Fetch",le="0.0001"}'] == 2
    assert read['barnabas_request_seconds_bucket{api="Fetch",le="0.25"}'] == 3
    assert read['barnabas_request_seconds_bucket{api="Fetch",le="30.0"}'] == 3
    assert read['barnabas_request_seconds_bucket{api="Fetch",le="+Inf"}'] == 4
    assert read['barnabas_request_seconds_count{api="Fetch"}'] == 4
    assert read['barnabas_request_seconds_sum{api="Fetch"}'] == pytest.approx(60.2001)
    assert len([name for name in read if "_bucket" in name]) == len(LATENCY_BUCKETS_US) + 1


def test_names_of_topics_cannot_break_the_page() -> None:
    """Topic names are letters, digits and three signs; labels are escaped in any case."""
    metrics = Metrics()
    metrics.counter(TOPIC_BYTES_IN, 'evil"}\n# HELP').value += 1
    assert 'topic="evil\\"}\\n# HELP"' in page(metrics)


def test_a_page_without_series_is_empty() -> None:
    assert page(Metrics()) == ""
