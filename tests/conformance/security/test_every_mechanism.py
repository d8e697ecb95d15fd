"""Each client with each mechanism, on SASL_PLAINTEXT and on SASL_SSL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from peers.apache_kafka import why_missing as why_no_java
from peers.kerberos import Realm, why_missing as why_no_kerberos
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.conformance.security.clients import CLIENTS, java
from tests.conformance.security.nodes import MECHANISMS, SecureNode
from tests.scenarios.security.identity_provider import IdentityProvider


def skip_what_is_missing(client: str, mechanism: str) -> None:
    if mechanism != "GSSAPI":
        return
    if why_no_kerberos() is not None:
        pytest.skip(why_no_kerberos() or "")
    if client == "librdkafka":
        try:
            Producer({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"})
        except KafkaException:
            pytest.skip("this librdkafka was built without GSSAPI, as the wheels of confluent-kafka are")


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_record_goes_in_and_out(node: SecureNode, client: str, mechanism: str) -> None:
    skip_what_is_missing(client, mechanism)
    topic = f"{client}-{mechanism}"
    value = topic.encode()
    assert CLIENTS[client](node, mechanism, topic, value) == value


@pytest.fixture(scope="module")
def tools(provider: IdentityProvider, realm: Realm | None) -> Iterator[Tools]:
    properties = {"org.apache.kafka.sasl.oauthbearer.allowed.urls": f"{provider.token_url}"}
    if realm is not None:
        properties["java.security.krb5.conf"] = str(realm.config)
    with kafka_tools(properties) as runner:
        yield runner


@pytest.mark.java
@pytest.mark.skipif(why_no_java() is not None, reason=why_no_java() or "")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_kafkas_console_tools_log_in_with_their_command_config(node: SecureNode, tools: Tools, tmp_path: Path, mechanism: str) -> None:
    skip_what_is_missing("java", mechanism)
    topic = f"java-{mechanism}"
    assert java(tools, tmp_path)(node, mechanism, topic, topic.encode()) == topic.encode()
