"""A console pushes its own metrics to an OpenTelemetry collector."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from barnabas.client_settings.errors import SettingsRefused
from barnabas.console.config_file import console_settings
from barnabas.console.console_metrics import CATALOGUE
from barnabas.console.settings import ClusterSettings, ConsoleSettings, OtlpSettings, check
from barnabas.testing import EmbeddedBroker
from tests.collector import Collector, collector
from tests.console.console_thread import ConsoleThread
from tests.otlp import read
from tests.waiting import until


def _points(running: Collector, name: str) -> dict[tuple[str, ...], Any]:
    """The points of a metric in the last push, by their labels."""
    found: dict[tuple[str, ...], Any] = {}
    for metric in read(running.bodies[-1]).resource_metrics[0].scope_metrics[0].metrics if running.bodies else ():
        if metric.name == name:
            kind = next(each for each in ("gauge", "sum", "histogram") if metric.HasField(each))
            found = {tuple(one.value.string_value for one in each.attributes): each for each in getattr(metric, kind).data_points}
    return found


def test_a_console_pushes_requests_durations_clusters_and_memory(broker: EmbeddedBroker) -> None:
    with collector() as running:
        otlp = OtlpSettings(running.url, {"x-token": "abc"}, interval_ms=100)
        clusters = ClusterSettings("local", broker.bootstrap), ClusterSettings("away", "127.0.0.1:1")
        with ConsoleThread(ConsoleSettings(clusters, otlp=otlp)) as console:
            client = console.client()
            client.get("/clusters/local/topics")
            assert client.http.get("/api/clusters/local/topics/no-such-topic").status_code == 404
            until(lambda: _points(running, "barnabas_console_requests_total").get(("show_topic", "404")), "the collector has the requests")
            assert _points(running, "barnabas_console_requests_total")["list_topics", "200"].as_double == 1
            assert _points(running, "barnabas_console_request_seconds")[("list_topics",)].count == 1
            connected = _points(running, "barnabas_console_cluster_connected")
            assert {name: each.as_double for (name,), each in connected.items()} == {"local": 1, "away": 0}
            assert _points(running, "process_resident_memory_bytes")[()].as_double > 10_000_000
            resource = read(running.bodies[-1]).resource_metrics[0].resource
            attributes = {each.key: each.value.string_value for each in resource.attributes}
            assert (attributes["service.name"], attributes["service.instance.id"]) == (
                "barnabas-console",
                console.url.removeprefix("http://"),
            )
            assert {name.lower(): value for name, value in running.requests[-1][1].items()}["x-token"] == "abc"
            last = len(running.bodies)
        # The last push has the counts of the console's end.
        assert len(running.bodies) > last


def test_the_option_and_the_environment_name_the_collector() -> None:
    command = [sys.executable, "-m", "barnabas", "console", "--cluster", "away=127.0.0.1:1", "--listen", "127.0.0.1:0"]
    with collector() as running:
        variables = {"KAFKA_BARNABAS_OTLP_ENDPOINT": running.url, "KAFKA_BARNABAS_OTLP_HEADERS": "x-token=abc"}
        environment = {**os.environ, **variables, "KAFKA_BARNABAS_OTLP_INTERVAL_MS": "100"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
            try:
                until(lambda: running.requests, "the console pushes its metrics")
            finally:
                process.terminate()
        assert {name.lower(): value for name, value in running.requests[0][1].items()}["x-token"] == "abc"
    refused = subprocess.run([*command, "--otlp-endpoint", "collector:4318"], capture_output=True, text=True)
    assert (refused.returncode, "is a URL such as" in refused.stderr) == (1, True)


def test_a_file_names_the_collector_and_its_mistakes_are_refused(tmp_path: Path) -> None:
    clusters = {"local": {"bootstrap": "127.0.0.1:9092"}}
    url = "http://collector:4318/v1/metrics"
    found = console_settings({"clusters": clusters, "otlp": {"endpoint": url, "headers": "a=b", "interval_ms": 1000}}, tmp_path)
    assert found.otlp == OtlpSettings(url, {"a": "b"}, 1000)
    for wrong in ({}, {"endpoint": "collector"}, {"endpoint": url, "headers": "a"}, {"endpoint": url, "interval_ms": 1}):
        with pytest.raises(SettingsRefused):
            check(console_settings({"clusters": clusters, "otlp": wrong}, tmp_path))


def test_every_metric_of_the_console_is_on_its_page() -> None:
    page = (Path(__file__).parents[2] / "docs" / "console.md").read_text("utf-8")
    assert [each.name for each in CATALOGUE if f"`{each.name}`" not in page] == []
