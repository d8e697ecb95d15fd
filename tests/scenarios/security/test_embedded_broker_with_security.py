"""Brokers of tests with TLS, logins and ACLs, in the hands of librdkafka."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AdminClient

from barnabas.testing import EmbeddedBroker, EmbeddedCluster
from tests.waiting import PATIENCE_SECONDS, until


@pytest.fixture(scope="module")
def secured() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(secure=True) as broker:
        yield broker


def delivery(settings: dict[str, str], topic: str) -> int:
    """The error code of one record that librdkafka sends; 0 when it was delivered."""
    codes: list[int] = []
    producer = Producer({**settings, "log_level": 0})
    producer.produce(topic, b"v", on_delivery=lambda error, _: codes.append(error.code() if error else 0))
    assert producer.flush(PATIENCE_SECONDS) == 0
    return codes[0]


def read_one(settings: dict[str, str], topic: str, group: str) -> bytes | KafkaError:
    consumer = Consumer({**settings, "group.id": group, "auto.offset.reset": "earliest", "log_level": 0})
    consumer.subscribe([topic])
    try:
        message = consumer.poll(PATIENCE_SECONDS)
        assert message is not None
        return message.error() or message.value() or b""
    finally:
        consumer.close()


def test_client_settings_are_all_that_librdkafka_needs(secured: EmbeddedBroker) -> None:
    topic = secured.create_topic()
    assert delivery(secured.client_settings, topic) == 0
    assert read_one(secured.client_settings, topic, "g-admin") == b"v"


def test_client_without_the_settings_is_not_served(secured: EmbeddedBroker) -> None:
    errors: list[KafkaError] = []
    configuration: dict[str, Any] = {"bootstrap.servers": secured.bootstrap, "log_level": 0, "error_cb": errors.append}
    client = AdminClient(configuration)

    def reported() -> bool:
        client.poll(0)
        return bool(errors)

    until(reported, "librdkafka reports an error")


def test_added_user_may_do_what_it_is_allowed_to(secured: EmbeddedBroker) -> None:
    mine, other = secured.create_topic(), secured.create_topic()
    alice = secured.add_user("alice")
    assert delivery(alice, mine) == KafkaError.TOPIC_AUTHORIZATION_FAILED
    secured.allow("alice", "Read", "WRITE", topic=mine)
    secured.allow("alice", "Read", group="g-alice")
    assert delivery(alice, mine) == 0
    assert read_one(alice, mine, "g-alice") == b"v"
    assert delivery(alice, other) == KafkaError.TOPIC_AUTHORIZATION_FAILED


def test_user_keeps_its_rights_with_another_password(secured: EmbeddedBroker) -> None:
    topic = secured.create_topic()
    secured.add_user("bob", "first")
    secured.allow("bob", "Write", topic=topic)
    assert secured.add_user("bob", "second")["sasl.password"] == "second"
    assert delivery(secured.settings_of("bob"), topic) == 0


def test_user_may_be_allowed_to_administer_the_cluster(secured: EmbeddedBroker) -> None:
    carol = AdminClient({**secured.add_user("carol"), "log_level": 0})
    secured.allow("carol", "Describe")
    # The allowed operations of the caller are part of the answer.
    assert carol.describe_cluster(include_authorized_operations=True).result(PATIENCE_SECONDS).authorized_operations


def test_faults_reach_clients_and_not_the_helpers(secured: EmbeddedBroker) -> None:
    topic = secured.create_topic()
    with secured.fail("Produce", "TOPIC_AUTHORIZATION_FAILED", times=1) as fault:
        secured.produce(topic, b"of the helpers")
        assert delivery(secured.client_settings, topic) == KafkaError.TOPIC_AUTHORIZATION_FAILED
        assert fault.used == 1


@pytest.mark.parametrize("process", [False, True])
def test_cluster_of_three_is_secured_and_keeps_its_users_over_a_restart(process: bool) -> None:
    with EmbeddedCluster(3, secure=True, process=process) as cluster:
        topic = cluster.create_topic(partitions=3)
        alice = cluster.add_user("alice")
        cluster.allow("alice", "Write", topic="*")
        assert delivery(alice, topic) == 0
        cluster.restart()
        assert delivery(cluster.settings_of("alice"), topic) == 0
        assert len(cluster.consume(topic, count=2)) == 2


def test_kept_directory_has_the_same_certificates_and_passwords(tmp_path: Path) -> None:
    with EmbeddedBroker(secure=True, data_dir=tmp_path) as first:
        first.produce("t", b"1")
        before = first.client_settings
    with EmbeddedBroker(secure=True, data_dir=tmp_path) as second:
        again = {**before, "bootstrap.servers": second.bootstrap}
        assert again == second.client_settings
        assert delivery(again, "t") == 0


def test_java_clients_get_their_own_names(secured: EmbeddedBroker) -> None:
    settings = secured.java_client_settings
    assert settings["bootstrap.servers"] == secured.bootstrap
    assert Path(settings["ssl.truststore.location"]).read_text().startswith("-----BEGIN CERTIFICATE")
    assert 'username="admin"' in settings["sasl.jaas.config"]


def test_open_cluster_has_an_address_and_no_users(kafka: EmbeddedBroker) -> None:
    assert kafka.client_settings == kafka.java_client_settings == {"bootstrap.servers": kafka.bootstrap}
    with pytest.raises(ValueError, match="secure=True"):
        kafka.add_user("alice")
    with pytest.raises(ValueError, match="secure=True"):
        kafka.allow("alice", "Read", topic="t")


def test_mistakes_of_a_test_are_named(secured: EmbeddedBroker) -> None:
    with pytest.raises(ValueError, match=r"no operation 'Reed'\. Did you mean READ"):
        secured.allow("alice", "Reed", topic="t")
    with pytest.raises(ValueError, match="one resource at a time"):
        secured.allow("alice", "Read", topic="t", group="g")
    with pytest.raises(ValueError, match="no user 'nobody'"):
        secured.settings_of("nobody")
