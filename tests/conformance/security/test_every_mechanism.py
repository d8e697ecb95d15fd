"""Each client with each mechanism, on SASL_PLAINTEXT and on SASL_SSL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer

from barnabas.client_settings.java_names import for_librdkafka
from barnabas.direct_requests.broker_connection import BrokerConnection
from barnabas.direct_requests.errors import RequestRefused
from barnabas.wire.messages.describe_cluster import DescribeClusterRequest
from peers.apache_kafka import why_missing as why_no_java
from peers.kerberos import Realm, why_missing as why_no_kerberos
from tests.conformance.clients.kafka_tools import Tools, kafka_tools
from tests.conformance.security.clients import CLIENTS, java
from tests.conformance.security.nodes import MECHANISMS, SecureNode, java_properties
from tests.scenarios.security.identity_provider import IdentityProvider
from tests.waiting import PATIENCE_SECONDS


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


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_request_of_our_own_logs_in_with_the_file_of_javas_client(node: SecureNode, mechanism: str) -> None:
    skip_what_is_missing("our own", mechanism)
    properties = for_librdkafka(java_properties(node, mechanism)).properties
    with BrokerConnection(node.bootstrap, properties, seconds_max=PATIENCE_SECONDS) as connection:
        assert connection.ask(DescribeClusterRequest(include_cluster_authorized_operations=False)).brokers


@pytest.mark.parametrize(
    ("mechanism", "changed", "reason"),
    [
        ("PLAIN", {"sasl.password": "looking-glass"}, "refuses this client: Authentication failed"),
        ("OAUTHBEARER", {"sasl.oauthbearer.client.secret": "wrong"}, "There is no token for the login: .* answered with status 401"),
        ("OAUTHBEARER", {"sasl.oauthbearer.token.endpoint.url": "file:///etc/hostname"}, "must be a URL with http or https"),
        ("GSSAPI", {"sasl.kerberos.principal": "mallory"}, "Kerberos gives no ticket for kafka@localhost"),
        ("GSSAPI", {"sasl.kerberos.service.name": "elsewhere"}, "Kerberos gives no ticket for elsewhere@localhost"),
    ],
    ids=str,
)
def test_a_login_of_our_own_that_fails_is_a_sentence(node: SecureNode, mechanism: str, changed: dict[str, str], reason: str) -> None:
    skip_what_is_missing("our own", mechanism)
    properties = for_librdkafka(java_properties(node, mechanism)).properties | changed
    with pytest.raises(RequestRefused, match=reason):
        BrokerConnection(node.bootstrap, properties, seconds_max=PATIENCE_SECONDS)


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
