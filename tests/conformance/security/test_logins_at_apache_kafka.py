"""The connections of our nodes log in at Apache Kafka, with every mechanism."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from barnabas.config.parse import parse_broker_config
from barnabas.env.awaiting import awaited
from barnabas.env.clock import SystemClock
from barnabas.env.entropy import SystemEntropy
from barnabas.network.peers import Peers
from barnabas.node.sasl import client_login
from barnabas.node.sasl_services import SaslServices
from barnabas.telemetry.logs import EventLog
from barnabas.wire.messages.metadata import MetadataRequest, MetadataResponse
from peers.apache_kafka import apache_kafka, run_tool, why_missing as why_no_java
from peers.kerberos import SERVICE, Realm, why_missing as why_no_kerberos
from tests.conformance.security.nodes import MECHANISMS, PASSWORD, USER, kerberos_jaas
from tests.scenarios.security.identity_provider import IdentityProvider, bearer_settings
from tests.waiting import PATIENCE_SECONDS

pytestmark = [pytest.mark.java, pytest.mark.skipif(why_no_java() is not None, reason=why_no_java() or "")]

_SECURITY = "org.apache.kafka.common.security"
_OAUTH = f"{_SECURITY}.oauthbearer"
PREFIX = "listener.name.plaintext"
HOST = "127.0.0.1"


def password_jaas(module: str, user: str, password: str) -> str:
    return f'{_SECURITY}.{module} required username="{user}" password="{password}" user_admin="admins" user_{USER}="{PASSWORD}";'


@pytest.fixture(scope="module")
def bootstrap(provider: IdentityProvider, realm: Realm | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Apache Kafka whose only listener for clients is called PLAINTEXT, and has SASL."""
    enabled = [each for each in MECHANISMS if each != "GSSAPI" or realm is not None]
    extra = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": ",".join(enabled),
        f"{PREFIX}.plain.sasl.jaas.config": password_jaas("plain.PlainLoginModule", "admin", "admins"),
        f"{PREFIX}.oauthbearer.sasl.jaas.config": f"{_OAUTH}.OAuthBearerLoginModule required;",
        f"{PREFIX}.oauthbearer.sasl.server.callback.handler.class": f"{_OAUTH}.OAuthBearerValidatorCallbackHandler",
        "sasl.oauthbearer.jwks.endpoint.url": provider.keys_url,
        "sasl.oauthbearer.expected.audience": "kafka",
        "sasl.oauthbearer.expected.issuer": "issuer",
        "sasl.kerberos.service.name": SERVICE,
    }
    for name in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        extra[f"{PREFIX}.{name.lower()}.sasl.jaas.config"] = f"{_SECURITY}.scram.ScramLoginModule required;"
    options = [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={provider.keys_url}"]
    if realm is not None:
        extra[f"{PREFIX}.gssapi.sasl.jaas.config"] = kerberos_jaas(realm.add_once(f"{SERVICE}/{HOST}"), f"{SERVICE}/{HOST}")
        options.append(f"-Djava.security.krb5.conf={realm.config}")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("JAVA_TOOL_OPTIONS", " ".join(options))
        with apache_kafka(extra=extra) as (address, _):
            admin = tmp_path_factory.mktemp("admin") / "admin.properties"
            jaas = password_jaas("plain.PlainLoginModule", "admin", "admins")
            admin.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n")
            for name in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                change = ("--alter", "--entity-type", "users", "--entity-name", USER, "--add-config", f"{name}=[password={PASSWORD}]")
                run_tool("kafka.admin.ConfigCommand", "--bootstrap-server", address, "--command-config", str(admin), *change)
            yield address


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_our_nodes_are_let_in(bootstrap: str, provider: IdentityProvider, realm: Realm | None, mechanism: str) -> None:
    if mechanism == "GSSAPI" and realm is None:
        pytest.skip(why_no_kerberos() or "")
    own = bearer_settings(provider, "plaintext") | {
        "node.id": "7",
        "process.roles": "broker",
        "controller.quorum.bootstrap.servers": "127.0.0.1:1",
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": mechanism,
        "sasl.kerberos.service.name": SERVICE,
    }
    module = {"PLAIN": "plain.PlainLoginModule"}.get(mechanism, "scram.ScramLoginModule")
    if mechanism == "GSSAPI":
        assert realm is not None
        own[f"{PREFIX}.gssapi.sasl.jaas.config"] = kerberos_jaas(realm.add_once(USER), USER)
    elif mechanism != "OAUTHBEARER":
        own[f"{PREFIX}.{mechanism.lower()}.sasl.jaas.config"] = password_jaas(module, USER, PASSWORD)
    settings = parse_broker_config(own)

    async def ask() -> MetadataResponse:
        services = SaslServices(SystemClock(), SystemEntropy(), EventLog())
        reports: list[str] = []
        login = client_login(settings, "PLAINTEXT", "sasl.mechanism.inter.broker.protocol", services)
        peers = Peers("node-7", report=lambda _, reason: reports.append(reason), login=login)
        host, _, port = bootstrap.partition(":")
        try:
            # Kafka's Kerberos service has the name of the host.
            answer = await awaited(peers.at(host, int(port)).send(MetadataRequest(topics=[]), timeout_ms=int(PATIENCE_SECONDS * 1000)))
            assert isinstance(answer, MetadataResponse), reports
            return answer
        finally:
            peers.close()
            services.stop()

    assert [each.node_id for each in asyncio.run(ask()).brokers] == [1]
