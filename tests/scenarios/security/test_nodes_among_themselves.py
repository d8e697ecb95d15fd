"""Three brokers and a controller that reach each other only over TLS, or TLS and a password."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from barnabas.devcluster.certificates import CertificateAuthority, Issued
from barnabas.model.cannot_start import CannotStart
from barnabas.testing import EmbeddedBroker
from tests.scenarios.security.certificates import NOW, Files, pem_stores
from tests.scenarios.security.sasl import protocols
from tests.waiting import PATIENCE_SECONDS, until


@pytest.mark.parametrize("protocol", ["SSL", "SASL_SSL", "SASL_PLAINTEXT"])
def test_records_are_replicated_and_a_stopped_broker_catches_up(files: Files, node: Issued, alice: Issued, protocol: str) -> None:
    config = protocols(protocol) | pem_stores(files, node)
    settings = {"security.protocol": protocol, "ssl.ca.location": str(files.trusted)}
    if protocol == "SSL":
        config["ssl.client.auth"] = "required"
        settings |= files.client(alice)
    else:
        settings |= {"sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": "wonder"}
    with EmbeddedBroker(brokers=3, config=config) as kafka:
        client: dict[str, Any] = {"bootstrap.servers": kafka.bootstrap, **settings}
        admin = AdminClient(client)
        admin.create_topics([NewTopic("t", 1, 3)])["t"].result(PATIENCE_SECONDS)
        send(client, 100)
        kafka.stop(2)
        send(client, 100)
        kafka.start(2)
        until(lambda: in_sync(admin) == {1, 2, 3}, "broker 2 is in sync again", seen=lambda: in_sync(admin))


def send(client: dict[str, Any], count: int) -> None:
    producer = Producer({**client, "acks": "all"})
    failed: list[KafkaError] = []
    for number in range(count):
        producer.produce("t", b"%d" % number, on_delivery=lambda error, _: failed.append(error) if error is not None else None)
    assert producer.flush(PATIENCE_SECONDS) == 0
    assert failed == []


def in_sync(admin: AdminClient) -> set[int]:
    return set(admin.list_topics("t", timeout=PATIENCE_SECONDS).topics["t"].partitions[0].isrs)


def test_a_node_whose_certificate_names_another_host_is_not_followed(files: Files, authority: CertificateAuthority) -> None:
    stranger = authority.issue("node", ["example.org"], now=NOW)
    config = protocols("SSL") | pem_stores(files, stranger) | {"initial.broker.registration.timeout.ms": "3000"}
    with pytest.raises(CannotStart, match="REQUEST_TIMED_OUT"), EmbeddedBroker(brokers=3, config=config):
        pass
