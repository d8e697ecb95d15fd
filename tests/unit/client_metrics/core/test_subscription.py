"""Subscriptions: which clients they match, and their ids. Kafka's own numbers are compared in
``conformance/differential/test_get_telemetry_subscriptions.py``."""

from __future__ import annotations

import pytest

from barnabas.client_metrics.core.hash_order import hash_order, string_hash, uuid_hash
from barnabas.client_metrics.core.subscription import parse_subscription, requested_of, subscription_id
from barnabas.config.keys import ConfigError
from barnabas.model.ids import Uuid
from tests.unit.client_metrics.core.made import client, subscription


def test_a_client_gets_the_metrics_of_all_matching_subscriptions_and_their_shortest_interval() -> None:
    found = requested_of(
        client(),
        [
            subscription("one", "a,b", 60_000),
            subscription("two", "b,c", 30_000, "client_id=a-.*"),
            subscription("three", "d", 1_000, "client_id=another"),
        ],
    )
    assert sorted(found.metrics) == ["a", "b", "c"]
    assert found.interval_ms == 30_000


def test_a_star_stands_for_all_other_metrics() -> None:
    assert requested_of(client(), [subscription(metrics="a,b"), subscription(metrics="*,c")]).metrics == ("*",)


def test_no_interval_is_longer_than_the_default() -> None:
    assert requested_of(client(), [subscription(interval_ms=3_600_000)]).interval_ms == 300_000
    assert requested_of(client(), []).interval_ms == 300_000


def test_every_pattern_must_match_the_whole_label() -> None:
    both = "client_software_name=apache-kafka-java,client_source_address=10\\..*"
    assert requested_of(client(), [subscription(match=both)]).metrics
    assert not requested_of(client(), [subscription(match=both + ",client_id=a")]).metrics
    assert requested_of(client(100), [subscription(match="client_source_port=40100")]).metrics


def test_a_pattern_that_backtracks_for_ever_elsewhere_is_matched_at_once() -> None:
    requested_of(client(client_id="a" * 500), [subscription(match="client_id=(a+)+b")])


@pytest.mark.parametrize("match", ["client_id=(", "client_id=(?=a)", "client_id=(a)\\1", "client_id=a=b", "client=a", "client_id", "="])
def test_entries_that_are_not_a_name_and_an_expression_of_re2_are_refused(match: str) -> None:
    with pytest.raises(ConfigError):
        parse_subscription("s", {"match": match})


def test_the_subscription_id_changes_with_metrics_interval_and_instance() -> None:
    ids = {
        subscription_id(("a",), 1000, client(1).instance_id),
        subscription_id(("b",), 1000, client(1).instance_id),
        subscription_id(("a",), 2000, client(1).instance_id),
        subscription_id(("a",), 1000, client(2).instance_id),
    }
    assert len(ids) == 4
    assert all(-(1 << 31) <= each < 1 << 31 for each in ids)


def test_hashes_are_those_of_java() -> None:
    assert string_hash("") == 0
    assert string_hash("hello") == 99162322
    assert string_hash("org.apache.kafka") == string_hash("org.apache.kafka")
    assert uuid_hash(Uuid(bytes(15) + b"\x01")) == 1


def test_the_order_is_that_of_a_hash_set() -> None:
    # "Aa" and "BB" have one hash, so they stay in their order.
    assert hash_order(["BB", "Aa", "BB"]) == ("BB", "Aa")
    assert hash_order(["b", "a", "c"]) == ("a", "b", "c")
