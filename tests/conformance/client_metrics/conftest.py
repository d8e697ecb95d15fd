"""One broker with a metrics page and a collector, and Kafka's tools in one JVM."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.testing import EmbeddedBroker
from peers.apache_kafka import why_missing
from peers.ports import free_port
from tests.collector import Collector, collector
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.waiting import PATIENCE_SECONDS

CLIENT_METRICS = "org.apache.kafka.tools.ClientMetricsCommand"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = why_missing()
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.java)
            if missing is not None:
                item.add_marker(pytest.mark.skip(reason=missing))


@dataclass(frozen=True)
class Receiving:
    bootstrap: str
    page_port: int
    collector: Collector
    tools: Tools

    def tool(self, *arguments: str) -> str:
        return self.tools.run(CLIENT_METRICS, "--bootstrap-server", self.bootstrap, *arguments)

    def shown(self, client_id: str) -> dict[str, list[tuple[dict[str, str], float]]]:
        """Labels and values of the series of a client, by name, as Prometheus reads them."""
        connection = http.client.HTTPConnection("127.0.0.1", self.page_port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("GET", "/metrics")
            text = connection.getresponse().read().decode()
        finally:
            connection.close()
        found: dict[str, list[tuple[dict[str, str], float]]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.labels.get("client_id") == client_id:
                    found.setdefault(sample.name, []).append((sample.labels, sample.value))
        return found


@pytest.fixture(scope="package")
def receiving() -> Iterator[Receiving]:
    port = free_port()
    with collector() as there, kafka_tools() as tools:
        config = {"barnabas.prometheus.listener": f"127.0.0.1:{port}", "barnabas.client.metrics.otlp.endpoint": there.url}
        with EmbeddedBroker(process=True, config=config) as kafka:
            yield Receiving(kafka.bootstrap, port, there, tools)
            assert kafka.complaints == ""


@pytest.fixture(scope="package")
def subscribed(receiving: Receiving) -> Receiving:
    """Every client pushes everything, twice a second."""
    receiving.tool("--alter", "--name", "everything", "--metrics", "*", "--interval", "500")
    return receiving
