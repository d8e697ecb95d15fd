"""The page of metrics shows the use and the waits of clients that have quotas."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator

import pytest

from barnabas.testing import EmbeddedBroker
from peers.ports import free_port
from tests.scenarios.client import FETCH_BY_NAME, PRODUCE_BY_NAME, Client, batch_of, fetch_request, produce_request
from tests.scenarios.quotas.altering import set_quota
from tests.scenarios.quotas.test_controller_mutation_rate import creating
from tests.waiting import PATIENCE_SECONDS

RATE = 1000


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def watched(port: int) -> Iterator[Client]:
    with EmbeddedBroker(config={"barnabas.prometheus.listener": f"127.0.0.1:{port}"}) as kafka, Client(kafka.bootstrap) as client:
        yield client


def quotas_on_page(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_SECONDS) as answer:
        lines = answer.read().decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines) if name.startswith("barnabas_quota_")}


def test_a_client_without_quotas_has_no_series(watched: Client, port: int) -> None:
    watched.create_topic("t")
    watched.produce("t", [b"x"])
    assert quotas_on_page(port) == {}


def test_use_and_waits_have_a_series_for_each_entity(watched: Client, port: int) -> None:
    watched.create_topic("t")
    set_quota(watched, {"user": "ANONYMOUS"}, producer_byte_rate=RATE, consumer_byte_rate=100 * RATE, controller_mutation_rate=1)
    set_quota(watched, {"client-id": None}, request_percentage=1000)
    wait_ms = watched.ask(produce_request("t", 0, batch_of([bytes(10 * RATE)])), PRODUCE_BY_NAME).throttle_time_ms
    assert wait_ms > 0
    watched.ask(fetch_request([("t", 0, 0)]), FETCH_BY_NAME)
    watched.ask(creating(u=1))
    page = quotas_on_page(port)
    of_user = 'client_id="",user="ANONYMOUS"'
    assert page[f"barnabas_quota_produced_bytes_per_second{{{of_user}}}"] > 0
    assert page[f"barnabas_quota_fetched_bytes_per_second{{{of_user}}}"] > 0
    assert page[f"barnabas_quota_mutation_tokens{{{of_user}}}"] <= 11
    assert page['barnabas_quota_request_percent{client_id="test",user=""}'] > 0
    assert page['barnabas_quota_throttle_seconds_total{client_id="",quota="producer_byte_rate",user="ANONYMOUS"}'] == wait_ms / 1000
