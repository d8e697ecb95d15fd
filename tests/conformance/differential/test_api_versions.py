"""ApiVersions."""

from __future__ import annotations

import pytest

from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.conformance.differential.pair import Pair

JAVA = ApiVersionsRequest(client_software_name="apache-kafka-java", client_software_version="4.3.0")


def test_api_versions_of_a_broker_are_those_of_kafka(pair: Pair) -> None:
    pair.same(JAVA)


def test_api_versions_of_a_controller_are_those_of_kafka(pair: Pair) -> None:
    fewer = "what followers and brokers ask controllers arrives with replication"
    for kafka, barnabas in pair.same(JAVA, to_controller=True, differ={"api_keys": fewer}):
        offered = {each.api_key: each for each in kafka.api_keys}
        assert [each for each in barnabas.api_keys if offered[each.api_key] != each] == []


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a-", ".a", "a", "a.b-c", "ä", "x" * 1000])
def test_api_versions_judges_the_name_of_a_client_as_kafka_does(pair: Pair, name: str) -> None:
    pair.same(ApiVersionsRequest(client_software_name=name, client_software_version="1"))
    pair.same(ApiVersionsRequest(client_software_name="x", client_software_version=name))
