"""GetTelemetrySubscriptions."""

from __future__ import annotations

import pytest

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import METADATA_TOPIC_ID, ZERO_UUID, uuid_text
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.conformance.differential.pair import Pair
from tests.conformance.differential.raw_client import RawClient
from tests.conformance.differential.scene import Scene
from tests.conformance.differential.telemetry_requests import asking, new_instance, pushing, subscribed
from tests.waiting import until

FROM_A_RANDOM_ID = {"subscription_id": "made from the random id of the client"}


def test_get_telemetry_subscriptions_without_a_subscription_asks_for_nothing(receiving: Pair) -> None:
    for _, ours in receiving.same(asking(new_instance()), [0]):
        assert (ours.requested_metrics, ours.push_interval_ms) == ([], 300_000)


def test_get_telemetry_subscriptions_gives_an_id_to_a_client_without_one(receiving: Pair) -> None:
    receiving.same(asking(ZERO_UUID), [0], differ=FROM_A_RANDOM_ID)
    receiving.same(asking(ZERO_UUID), [0], differ=FROM_A_RANDOM_ID)
    receiving.same(asking(METADATA_TOPIC_ID), [0])


def test_get_telemetry_subscriptions_is_throttled_before_the_interval_is_over(receiving: Pair) -> None:
    instance = new_instance()
    receiving.same(asking(instance), [0])
    for _, ours in receiving.same(asking(instance), [0]):
        assert ours.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED


@pytest.mark.parametrize(
    "metrics",
    [
        "org.apache.kafka.producer.",
        "*",
        "org.apache.kafka.producer.,*",
        "org.apache.kafka.consumer.,org.apache.kafka.producer.,org.apache.kafka.admin.",
        ",".join(f"org.apache.kafka.producer.metric.{number}" for number in range(40)),
        "ä,\N{GRINNING FACE},b",
    ],
    ids=["one", "all", "one and all", "three", "forty", "not ascii"],
)
def test_get_telemetry_subscriptions_lists_the_metrics_in_kafkas_order(receiving: Pair, metrics: str) -> None:
    with subscribed(receiving, metrics=metrics, interval_ms="60000"):
        for _, ours in receiving.same(asking(new_instance()), [0]):
            assert ours.requested_metrics, metrics


def test_get_telemetry_subscriptions_joins_all_that_match(receiving: Pair) -> None:
    with (
        subscribed(receiving, metrics="a,b", interval_ms="60000"),
        subscribed(receiving, metrics="b,c", interval_ms="30000", match="client_id=diff.*"),
        subscribed(receiving, metrics="d", interval_ms="1000", match="client_id=diff"),
        subscribed(receiving, metrics="e", match="client_id=differential,client_source_address=10\\..*"),
    ):
        for _, ours in receiving.same(asking(new_instance()), [0]):
            assert sorted(ours.requested_metrics) == ["a", "b", "c"]
            assert ours.push_interval_ms == 30_000


def test_get_telemetry_subscriptions_never_waits_longer_than_the_default(receiving: Pair) -> None:
    with subscribed(receiving, metrics="a", interval_ms="3600000"):
        receiving.same(asking(new_instance()), [0])


@pytest.mark.parametrize(
    "match",
    [
        "client_software_name=unknown",
        "client_software_version=un.*",
        "client_source_address=127\\.0\\.0\\.1",
        "client_source_port=[0-9]+",
        "client_source_port=1",
        "client_id=DIFFERENTIAL",
        "client_id=(?i)DIFFERENTIAL",
        "client_id = differential ",
        "client_id=differential=",
        "client_id=a|differential",
        "client_id=nobody,client_id=differential",
        "client_id=differential,client_id=nobody",
    ],
)
def test_get_telemetry_subscriptions_matches_clients_as_kafka_does(receiving: Pair, match: str) -> None:
    with subscribed(receiving, metrics="a", interval_ms="60000", match=match):
        receiving.same(asking(new_instance()), [0])


def test_get_telemetry_subscriptions_matches_the_id_of_the_instance(receiving: Pair) -> None:
    instance = new_instance()
    with subscribed(receiving, metrics="a", interval_ms="60000", match=f"client_instance_id={uuid_text(instance)}"):
        for _, ours in receiving.same(asking(instance), [0]):
            assert ours.requested_metrics == ["a"]
        for _, ours in receiving.same(asking(new_instance()), [0]):
            assert ours.requested_metrics == []


def test_get_telemetry_subscriptions_matches_the_software_of_the_client(receiving: Pair) -> None:
    software = ApiVersionsRequest(client_software_name="a-client", client_software_version="1.2.3")
    with (
        subscribed(receiving, metrics="a", interval_ms="60000", match="client_software_name=a-client,client_software_version=1\\..*"),
        Scene(receiving) as scene,
    ):
        scene.until(software, lambda answer: answer.error_code == ErrorCode.NONE, 4)
        answer = scene.same(asking(new_instance()), 0, by="watcher")
        assert answer.requested_metrics == ["a"]


def test_get_telemetry_subscriptions_of_a_client_without_a_client_id_match_an_empty_one(receiving: Pair) -> None:
    with subscribed(receiving, metrics="a", interval_ms="60000", match="client_id=(no)*"):
        instance = new_instance()
        for peer in receiving.peers:
            with RawClient(peer.broker.address, client_id=None) as nameless:
                assert nameless.ask(asking(instance), 0).requested_metrics == ["a"], peer.name


def test_get_telemetry_subscriptions_may_ask_at_once_after_a_change(receiving: Pair) -> None:
    instance = new_instance()
    receiving.same(asking(instance), [0])
    with subscribed(receiving, metrics="new", interval_ms="60000"):
        for _, ours in receiving.same(asking(instance), [0]):
            assert ours.requested_metrics == ["new"]
        for _, ours in receiving.same(asking(instance), [0]):
            assert ours.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_get_telemetry_subscriptions_may_ask_at_once_after_an_error_of_the_push(receiving: Pair) -> None:
    for codec, wrong_by in ((0, 1), (9, 0)):
        instance = new_instance()
        for _, ours in receiving.same(asking(instance), [0]):
            right = ours.subscription_id
        receiving.same(pushing(instance, right + wrong_by, codec=codec), [0])
        for _, ours in receiving.same(asking(instance), [0]):
            assert ours.error_code == ErrorCode.NONE


def test_get_telemetry_subscriptions_forgets_a_client_that_disconnects(receiving: Pair) -> None:
    instance = new_instance()
    for peer in receiving.peers:
        with RawClient(peer.broker.address) as first:
            assert first.ask(asking(instance), 0).error_code == ErrorCode.NONE
            assert first.ask(asking(instance), 0).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        with RawClient(peer.broker.address) as second:

            def forgotten(second: RawClient = second) -> bool:
                return bool(second.ask(asking(instance), 0).error_code == ErrorCode.NONE)

            until(forgotten, f"{peer.name} forgets the client")
