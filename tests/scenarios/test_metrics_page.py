"""The page that Prometheus scrapes, of a node that has done some work."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator

import pytest

from barnabas.telemetry.catalogue import CATALOGUE
from barnabas.testing import EmbeddedBroker
from tests.scenarios.client import Client


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free: int = probe.getsockname()[1]
        return free


@pytest.fixture
def watched(port: int) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(config={"barnabas.prometheus.listener": f"127.0.0.1:{port}"}) as kafka:
        yield kafka


def read_page(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        assert answer.headers["Content-Type"].startswith("text/plain")
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if not line.startswith("#"))}


def test_work_is_counted(watched: EmbeddedBroker, port: int) -> None:
    with Client(watched.bootstrap) as client:
        client.create_topic("t", 2)
        for number in range(5):
            client.produce("t", [b"x", b"y"])
            client.fetch("t", offset=number)
        page = read_page(port)
    assert page['barnabas_topic_records_in_total{topic="t"}'] == 10
    assert page['barnabas_topic_bytes_in_total{topic="t"}'] > 300
    assert page['barnabas_topic_bytes_out_total{topic="t"}'] > 300
    assert page['barnabas_requests_total{api="Produce"}'] == 5
    assert page['barnabas_request_seconds_count{api="Fetch"}'] == 5
    assert page["barnabas_partitions"] == page["barnabas_partitions_led"] == 2
    assert page["barnabas_partitions_offline"] == page["barnabas_log_directories_offline"] == 0
    assert page['barnabas_connections{listener="PLAINTEXT"}'] == 1
    assert page['barnabas_network_bytes_in_total{listener="PLAINTEXT"}'] > 500
    assert page["barnabas_controller_active"] == 1
    assert page["barnabas_metadata_offset"] > 3


def test_everything_in_the_catalogue_is_on_the_page_of_a_node_that_was_used(watched: EmbeddedBroker, port: int) -> None:
    with Client(watched.bootstrap) as client:
        client.create_topic("t")
        client.produce("t", [b"x"])
        names = {name.partition("{")[0] for name in read_page(port)}
    missing = {metric.name for metric in CATALOGUE if not any(name.startswith(metric.name) for name in names)}
    assert missing == set()


def test_a_deleted_topic_leaves_the_page(watched: EmbeddedBroker, port: int) -> None:
    with Client(watched.bootstrap) as client:
        client.create_topic("t")
        client.produce("t", [b"x"])
        client.delete_topic("t")
        assert not [name for name in read_page(port) if 'topic="t"' in name]


def test_the_page_goes_with_the_node(watched: EmbeddedBroker, port: int) -> None:
    read_page(port)
    watched.stop()
    with pytest.raises(OSError, match="refused"):
        read_page(port)
    watched.start()
    read_page(port)
