"""Three nodes that log in to each other with Kerberos tickets."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.model.cannot_start import CannotStart
from barnabas.testing import EmbeddedBroker
from peers.kerberos import SERVICE, Realm, why_missing
from tests.conformance.security.nodes import kerberos_jaas
from tests.waiting import PATIENCE_SECONDS

HOST = "127.0.0.1"  # of the listeners of embedded brokers

pytestmark = pytest.mark.skipif(why_missing() is not None, reason=why_missing() or "")


def settings(keytab: Path, principal: str = f"{SERVICE}/{HOST}") -> dict[str, str]:
    jaas = kerberos_jaas(keytab, principal)
    plain = 'PlainLoginModule required username="x" password="y" user_alice="wonder";'
    return {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "GSSAPI,PLAIN",
        "listener.name.controller.sasl.enabled.mechanisms": "GSSAPI",
        "sasl.mechanism.inter.broker.protocol": "GSSAPI",
        "sasl.mechanism.controller.protocol": "GSSAPI",
        "sasl.kerberos.service.name": SERVICE,
        "listener.name.plaintext.gssapi.sasl.jaas.config": jaas,
        "listener.name.plaintext.plain.sasl.jaas.config": plain,
        "listener.name.controller.gssapi.sasl.jaas.config": jaas,
    }


def test_records_are_replicated(realm: Realm) -> None:
    client = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "wonder"}
    with EmbeddedBroker(brokers=3, config=settings(realm.add_once(f"{SERVICE}/{HOST}"))) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap, **client})
        admin.create_topics([NewTopic("t", 1, 3)])["t"].result(PATIENCE_SECONDS)
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": "all", **client})
        for number in range(100):
            producer.produce("t", b"%d" % number)
        assert producer.flush(PATIENCE_SECONDS) == 0


def test_a_node_without_a_key_for_its_principal_does_not_start(realm: Realm, tmp_path: Path) -> None:
    for keytab, reason in ((tmp_path / "missing", "not found"), (realm.add_once(f"{SERVICE}/{HOST}"), "No key table entry")):
        with pytest.raises(CannotStart, match=reason), EmbeddedBroker(config=settings(keytab, "kafka/elsewhere")):
            pass


def test_a_rule_that_cannot_be_read_is_a_sentence(realm: Realm) -> None:
    config = settings(realm.add_once(f"{SERVICE}/{HOST}")) | {"sasl.kerberos.principal.to.local.rules": "RULE:nothing"}
    with pytest.raises(CannotStart, match="rules cannot be used"), EmbeddedBroker(config=config):
        pass
