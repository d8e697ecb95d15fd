"""ApiVersions."""

from __future__ import annotations

import pytest

from barnabas.api.broker_apis import BROKER_HANDLERS
from barnabas.api.controller_handlers import CONTROLLER_HANDLERS
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.conformance.differential.pair import Pair

JAVA = ApiVersionsRequest(client_software_name="apache-kafka-java", client_software_version="4.3.0")


def test_api_versions_of_a_broker_are_those_of_kafka(pair: Pair) -> None:
    pair.same(JAVA)


def test_api_versions_of_a_broker_name_telemetry_where_metrics_of_clients_are_received(receiving: Pair, pair: Pair) -> None:
    for _, barnabas in receiving.same(JAVA):
        assert {71, 72} <= {each.api_key for each in barnabas.api_keys}
    for _, barnabas in pair.same(JAVA):
        assert not {71, 72} & {each.api_key for each in barnabas.api_keys}


@pytest.mark.parametrize("to_controller", [False, True], ids=["broker", "controller"])
def test_api_versions_name_the_feature_of_a_dynamic_quorum(receiving: Pair, to_controller: bool) -> None:
    for _, barnabas in receiving.same(JAVA, [3, 4], to_controller=to_controller):
        assert "kraft.version" in {each.name for each in barnabas.finalized_features}


def test_api_versions_of_a_controller_are_those_of_kafka(pair: Pair) -> None:
    pair.same(JAVA, to_controller=True)


def test_api_versions_of_a_controller_never_name_telemetry(receiving: Pair) -> None:
    for _, barnabas in receiving.same(JAVA, to_controller=True):
        assert not {71, 72} & {each.api_key for each in barnabas.api_keys}


def test_api_versions_of_brokers_and_controllers_together_name_every_api_of_kafka(receiving: Pair) -> None:
    kafka = {
        each.api_key
        for to_controller in (False, True)
        for each in receiving.ask(receiving.kafka, JAVA, 4, to_controller=to_controller).api_keys
    }
    assert kafka == set(ApiKey)
    assert {*BROKER_HANDLERS, *CONTROLLER_HANDLERS} == set(ApiKey)


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a-", ".a", "a", "a.b-c", "ä", "x" * 1000])
def test_api_versions_judges_the_name_of_a_client_as_kafka_does(pair: Pair, name: str) -> None:
    pair.same(ApiVersionsRequest(client_software_name=name, client_software_version="1"))
    pair.same(ApiVersionsRequest(client_software_name="x", client_software_version=name))
