"""Series: sums of deltas, limits, and the end of those that are not pushed any more."""

from __future__ import annotations

import math
from typing import Any

import pytest

from barnabas.client_metrics.core import client_series
from barnabas.client_metrics.core.client_series import ClientSeries
from barnabas.client_metrics.core.otlp_reader import read_otlp
from barnabas.client_metrics.core.prometheus_names import family_name, label_name
from tests.otlp import CUMULATIVE, counter, gauge, metrics_data
from tests.unit.client_metrics.core.made import client


def accept(series: ClientSeries, *metrics: Any, number: int = 100, expires_ms: int = 1000, **resource: str) -> int:
    return series.accept(client(number), read_otlp(metrics_data(*metrics, resource=resource).SerializeToString()), expires_ms=expires_ms)


def values(series: ClientSeries) -> dict[str, float]:
    return {family: value for family, _, _, value in series.series()}


def test_deltas_are_added_and_other_values_replaced() -> None:
    series = ClientSeries()
    for number in (1, 2):
        accept(series, counter("d", number), counter("c", number, temporality=CUMULATIVE), gauge("g", number))
    assert values(series) == {"client_d": 3, "client_c": 2, "client_g": 2}


def test_a_delta_that_is_no_number_leaves_the_sum_as_it_is() -> None:
    series, metric = ClientSeries(), counter("d", 1)
    for value in (math.nan, 1.0, math.inf, 2.0):
        metric.sum.data_points[0].as_double = value
        accept(series, metric)
    assert values(series) == {"client_d": 3}


def test_series_have_the_labels_of_their_client_and_cannot_replace_them() -> None:
    series = ClientSeries()
    accept(series, gauge("org.apache.kafka.g", 1.0, client_id="forged", topic="t"))
    ((family, counts, labels, _),) = series.series()
    assert (family, counts) == ("org_apache_kafka_g", False)
    assert dict(labels) == {"client_id": "a-client", "client_instance_id": "AAAAAAAAAAAAAAAAAAAAZA", "topic": "t"}


def test_a_series_that_is_not_pushed_again_expires_and_the_others_stay() -> None:
    series = ClientSeries()
    accept(series, gauge("old", 1.0), gauge("kept", 1.0), expires_ms=1000)
    accept(series, gauge("kept", 2.0), expires_ms=2000)
    series.expire(1000)
    assert values(series) == {"client_kept": 2}
    assert series.count == 1
    series.expire(2000)
    assert (values(series), series.count, list(series.clients())) == ({}, 0, [])


def test_series_beyond_the_limit_of_a_client_or_of_the_page_are_dropped_and_the_others_updated() -> None:
    series = ClientSeries(series_max=3, of_instance_max=2)
    assert accept(series, *(gauge(f"g{n}", 1.0) for n in range(4))) == 2
    assert accept(series, gauge("g0", 5.0), gauge("new", 1.0)) == 1
    assert accept(series, gauge("a", 1.0), gauge("b", 1.0), number=101) == 1
    assert values(series) == {"client_g0": 5, "client_g1": 1, "client_a": 1}


def test_of_too_many_clients_the_first_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_series, "INSTANCES_SHOWN_MAX", 1)
    series = ClientSeries()
    accept(series, gauge("a", 1.0))
    assert accept(series, gauge("b", 1.0), gauge("c", 1.0), number=101) == 2
    assert values(series) == {"client_a": 1}


def test_only_known_attributes_of_a_resource_describe_a_client_and_long_ones_are_cut() -> None:
    series = ClientSeries()
    accept(series, gauge("a", 1.0), group_id="x" * 100_000, secret="y")
    ((_, resource),) = series.clients()
    assert resource == {"group_id": "x" * 512}


@pytest.mark.parametrize(
    ("name", "counts", "expected"),
    [
        ("org.apache.kafka.producer.record.send.total", True, "org_apache_kafka_producer_record_send"),
        ("org.apache.kafka.producer.record.send.rate", False, "org_apache_kafka_producer_record_send_rate"),
        ("org.apache.kafka.x.total", False, "org_apache_kafka_x_total_value"),
        ("barnabas_requests_total", True, "client_barnabas_requests"),
        ('a{b="c"} 1\n# TYPE x', False, "client_a_b__c___1___TYPE_x"),
        ("ä", False, "client__"),
        ("", False, "client_"),
    ],
)
def test_names_become_names_of_prometheus(name: str, counts: bool, expected: str) -> None:
    assert family_name(name, counts=counts) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("topic", "topic"), ("node-id", "node_id"), ("__name__", "name__"), ("1", "label_1"), ("", "label_"), ('"} 1\n', "label_")],
)
def test_labels_become_labels_of_prometheus(name: str, expected: str) -> None:
    made = label_name(name)
    assert made == expected or (name.startswith('"') and made.isidentifier() and made.isascii())
