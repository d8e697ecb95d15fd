"""A node pushes its metrics to a collector of OpenTelemetry."""

from __future__ import annotations

from typing import Any

from barnabas.testing import EmbeddedBroker
from tests.collector import Collector, collector
from tests.otlp import read
from tests.waiting import until


def _requests(running: Collector) -> dict[str, float]:
    """The requests by API that the last push counts."""
    (resource,) = read(running.bodies[-1]).resource_metrics
    found: dict[str, float] = {}
    for each in resource.scope_metrics[0].metrics:
        if each.name == "barnabas_requests_total":
            found = {one.attributes[0].value.string_value: one.as_double for one in each.sum.data_points}
    return found


def _attributes(running: Collector) -> dict[str, Any]:
    return {each.key: each.value.string_value for each in read(running.bodies[-1]).resource_metrics[0].resource.attributes}


def test_a_node_pushes_its_metrics_and_goes_on_after_a_collector_that_failed() -> None:
    with collector() as running:
        running.statuses = [503, 400]
        config = {"barnabas.otlp.endpoint": running.url, "barnabas.otlp.interval.ms": "100", "barnabas.otlp.headers": "x-token=abc"}
        with EmbeddedBroker(config=config) as broker:
            broker.create_topic("orders")
            until(lambda: len(running.requests) > 3 and _requests(running).get("CreateTopics"), "the collector has the request")
            path, headers, _ = running.requests[-1]
            assert (path, headers["X-Token" if "X-Token" in headers else "x-token"]) == ("/v1/metrics", "abc")
            assert headers["Content-Type"] == "application/x-protobuf"
            attributes = _attributes(running)
            assert (attributes["service.name"], attributes["service.instance.id"]) == ("barnabas", "1")


def test_a_node_stops_while_its_collector_is_away() -> None:
    with collector() as gone:
        url = gone.url
    with EmbeddedBroker(config={"barnabas.otlp.endpoint": url, "barnabas.otlp.interval.ms": 100}) as broker:
        broker.create_topic("orders")
