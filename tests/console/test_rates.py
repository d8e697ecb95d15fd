from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from playwright.sync_api import Browser, expect

from barnabas.cli.beside import free_port
from barnabas.console.settings import ClusterSettings
from barnabas.testing import EmbeddedBroker
from tests.console.browser import opened_page, screenshot
from tests.console.console_thread import ConsoleThread, console_of
from tests.waiting import until


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reading every few hundred milliseconds rather than every ten seconds."""
    monkeypatch.setattr("barnabas.console.access.rate_collection.FINE_SECONDS", 0.3)


def _produces(bootstrap: str, topic: str) -> Callable[[], None]:
    producer = Producer({"bootstrap.servers": bootstrap})

    def produce() -> None:
        for number in range(300):
            producer.produce(topic, b"v" * 100, partition=number % 3)
        assert producer.flush(60) == 0

    return produce


def _shown_with(console: ConsoleThread, address: str, produce: Callable[[], None], names: set[str]) -> dict[str, Any]:
    """The rates, as soon as all of these series have a point above 0."""
    client = console.client()
    shown: dict[str, Any] = {}

    def has_all() -> bool:
        produce()
        shown.update(client.get(address))
        found = {one["name"] for chart in shown["charts"] for one in chart["series"] if max(one["values"]) > 0}
        return names <= found

    until(has_all, f"{names} have rates")
    return shown


def test_rates_without_metrics_pages_come_from_offsets_and_logs(broker: EmbeddedBroker, topic: str) -> None:
    with console_of(ClusterSettings("plain", broker.bootstrap)) as console:
        _shown_with(console, "/clusters/plain/rates", _produces(broker.bootstrap, topic), {"records_in", "log_bytes"})
        page = console.client().page("/clusters/plain/rates")
        assert 'data-chart="data-records"' in page
        assert "Throughput and latency" in console.client().page("/clusters/plain")


def test_the_page_of_a_cluster_draws_its_rates(broker: EmbeddedBroker, topic: str, browser: Browser) -> None:
    with console_of(ClusterSettings("plain", broker.bootstrap)) as console:
        _shown_with(console, "/clusters/plain/rates", _produces(broker.bootstrap, topic), {"records_in", "log_bytes"})
        for path, name in (("/clusters/plain", "cluster-with-rates"), ("/clusters/plain/rates", "rates-drawn")):
            with opened_page(browser, console.url) as page:
                page.goto(path)
                expect(page.locator(".chart canvas").first).to_be_visible()
                screenshot(page, name)


def test_nodes_with_metrics_pages_have_throughput_and_latency() -> None:
    address = f"127.0.0.1:{free_port('127.0.0.1')}"
    with EmbeddedBroker(config={"barnabas.prometheus.listener": address}) as broker:
        settings = ClusterSettings("measured", broker.bootstrap, metrics=(f"http://{address}/metrics", "http://127.0.0.1:1/metrics"))
        with console_of(settings) as console:
            console.client().post("/clusters/measured/topics", name="orders", partitions=3)
            names = {"records_in", "bytes_in", "requests", "produce_ms", "log_bytes"}
            shown = _shown_with(console, "/clusters/measured/rates", _produces(broker.bootstrap, "orders"), names)
            (problem,) = shown["missing"]
            assert problem.startswith("http://127.0.0.1:1/metrics cannot be read: ")


def test_a_console_with_logins_keeps_no_rates_of_a_cluster_without_metrics_pages(secure_broker: EmbeddedBroker) -> None:
    properties = {name: value for name, value in secure_broker.client_settings.items() if not name.startswith(("sasl.", "bootstrap"))}
    with console_of(ClusterSettings("secured", secure_broker.bootstrap, {**properties, "sasl.mechanism": "SCRAM-SHA-512"})) as console:
        client = console.client()
        login = secure_broker.client_settings
        client.log_in("secured", login["sasl.username"], login["sasl.password"])
        (sentence,) = client.get("/clusters/secured/rates")["missing"]
        assert sentence.startswith("The console keeps no rates of this cluster")
