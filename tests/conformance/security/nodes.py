"""A node in a process of its own that accepts every mechanism, and the credentials for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas.testing import EmbeddedBroker
from peers.kerberos import REALM, SERVICE, Realm
from tests.scenarios.security.identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProvider, bearer_settings
from tests.waiting import PATIENCE_SECONDS

USER, PASSWORD = "alice", "wonder"
PROTOCOLS = ("SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")
# Java clients ask Kerberos for the name that an address resolves to.
HOST = "localhost"
_OAUTH = "org.apache.kafka.common.security.oauthbearer"


@dataclass(frozen=True)
class SecureNode:
    kafka: EmbeddedBroker
    protocol: str
    provider: IdentityProvider
    trusted: Path  # the certificate authority
    keytab: Path | None  # alice's
    tickets: Path | None

    @property
    def bootstrap(self) -> str:
        return self.kafka.bootstrap


@contextmanager
def secure_node(protocol: str, provider: IdentityProvider, tls: dict[str, str], realm: Realm | None) -> Iterator[SecureNode]:
    plain = f'PlainLoginModule required username="admin" password="admins" user_admin="admins" user_{USER}="{PASSWORD}";'
    listener = f"listener.name.{protocol.lower()}"
    enabled = [each for each in MECHANISMS if each != "GSSAPI" or realm is not None]
    config = bearer_settings(provider, protocol) | {
        "listeners": f"{protocol}://{HOST}:0,CONTROLLER://{HOST}:0",
        "listener.security.protocol.map": f"{protocol}:{protocol},CONTROLLER:{protocol}",
        "security.inter.broker.protocol": protocol,
        "sasl.enabled.mechanisms": ",".join(enabled),
        "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.mechanism.controller.protocol": "PLAIN",
        f"{listener}.plain.sasl.jaas.config": plain,
        "listener.name.controller.plain.sasl.jaas.config": plain,
        **tls,
    }
    keytab = tickets = None
    if realm is not None:
        config[f"{listener}.gssapi.sasl.jaas.config"] = kerberos_jaas(realm.add_once(f"{SERVICE}/{HOST}"), f"{SERVICE}/{HOST}")
        config["sasl.kerberos.service.name"] = SERVICE
        keytab = realm.add_once(USER)
        tickets = realm.ticket(USER, keytab)
    with EmbeddedBroker(process=True, config=config) as kafka:
        admin = {"security.protocol": protocol, "sasl.mechanism": "PLAIN", "sasl.username": "admin", "sasl.password": "admins"}
        client = AdminClient(
            {"log_level": 0, "bootstrap.servers": kafka.bootstrap, "ssl.ca.location": tls["ssl.truststore.location"], **admin}
        )
        # An upsertion of both mechanisms in one request is a duplicate for Kafka.
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            upsertion = UserScramCredentialUpsertion(USER, ScramCredentialInfo(mechanism, 4096), PASSWORD.encode())
            client.alter_user_scram_credentials([upsertion])[USER].result(PATIENCE_SECONDS)
        yield SecureNode(kafka, protocol, provider, Path(tls["ssl.truststore.location"]), keytab, tickets)
        assert kafka.complaints == ""


def kerberos_jaas(keytab: Path, principal: str) -> str:
    return (
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
        f'keyTab="{keytab}" principal="{principal}@{REALM}";'
    )


def java_properties(node: SecureNode, mechanism: str) -> dict[str, str]:
    """The file of a Java client."""
    properties = {
        "security.protocol": node.protocol,
        "sasl.mechanism": mechanism,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(node.trusted),
    }
    if mechanism == "GSSAPI":
        assert node.keytab is not None
        properties |= {"sasl.jaas.config": kerberos_jaas(node.keytab, USER), "sasl.kerberos.service.name": SERVICE}
    elif mechanism == "OAUTHBEARER":
        properties |= {
            "sasl.jaas.config": f'{_OAUTH}.OAuthBearerLoginModule required clientId="{CLIENT_ID}" clientSecret="{CLIENT_SECRET}";',
            "sasl.login.callback.handler.class": f"{_OAUTH}.OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": node.provider.token_url,
        }
    else:
        package = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
        module = f"org.apache.kafka.common.security.{package}"
        properties["sasl.jaas.config"] = f'{module} required username="{USER}" password="{PASSWORD}";'
    return properties
