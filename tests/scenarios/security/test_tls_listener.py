"""Listeners with TLS, seen by librdkafka and by OpenSSL."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from barnabas.devcluster.certificates import CertificateAuthority, Issued
from barnabas.model.cannot_start import CannotStart
from barnabas.testing import EmbeddedBroker
from tests.scenarios.client import PRODUCE_BY_NAME, Client, batch_of, frame_of, produce_request
from tests.scenarios.security.certificates import NOW, Files, pem_stores, ssl_listeners
from tests.waiting import PATIENCE_SECONDS, until

# librdkafka's own errors begin with an underscore, which does not make them private.
_CANNOT_CONNECT = (KafkaError._SSL, KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN)


def produce_and_read(bootstrap: str, settings: dict[str, str], values: list[bytes]) -> list[bytes]:
    producer = Producer({"bootstrap.servers": bootstrap, **settings})
    for each in values:
        producer.produce("t", each, partition=0)
    assert producer.flush(PATIENCE_SECONDS) == 0
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", **settings})
    consumer.assign([TopicPartition("t", 0, 0)])
    read: list[bytes] = []
    while len(read) < len(values):
        message = consumer.poll(PATIENCE_SECONDS)
        assert message is not None
        assert message.error() is None
        read.append(message.value() or b"")
    consumer.close()
    return read


def is_refused(bootstrap: str, settings: dict[str, str]) -> bool:
    """Whether librdkafka reports that it cannot connect."""
    errors: list[KafkaError] = []
    configuration: dict[str, Any] = {"bootstrap.servers": bootstrap, "log_level": 0, "error_cb": errors.append, **settings}
    client = AdminClient(configuration)

    def reported() -> bool:
        client.poll(0)
        return bool(errors)

    until(reported, "librdkafka reports an error")
    return all(each.code() in _CANNOT_CONNECT for each in errors)


def is_served(bootstrap: str, settings: dict[str, str]) -> bool:
    return bool(AdminClient({"bootstrap.servers": bootstrap, **settings}).list_topics(timeout=PATIENCE_SECONDS).brokers)


def test_records_pass_through_pem_files_in_both_directions(files: Files, node: Issued) -> None:
    # More than one piece of a file region, so that the copying sender has to stop and go on.
    values = [bytes([number % 256]) * 100_000 for number in range(30)]
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, node)) as kafka:
        assert produce_and_read(kafka.bootstrap, files.client(), values) == values


@pytest.mark.parametrize("write_bytes", [1000, 16_384, 65_536, 200_000])
def test_large_requests_in_small_writes_are_answered_one_after_the_other(files: Files, node: Issued, write_bytes: int) -> None:
    """The client waits for each response. So a broker that slept on the last bytes of a request
    would be found."""
    context = ssl.create_default_context(cafile=str(files.trusted))
    batches = [batch_of([bytes([number]) * size]) for number, size in enumerate((300_000, 65_000, 85_000, 950_000, 10))]
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, node)) as kafka, Client(kafka.bootstrap, tls=context) as client:
        client.create_topic("t")
        for batch in batches:
            request = produce_request("t", 0, batch)
            frame = memoryview(frame_of(request, PRODUCE_BY_NAME))
            for start in range(0, len(frame), write_bytes):
                client.send_bytes(bytes(frame[start : start + write_bytes]))
            _, response = client.receive(request, PRODUCE_BY_NAME)
            assert response.responses[0].partition_responses[0].error_code == 0
        assert client.end_offset("t") == len(batches)


def test_keys_and_certificates_may_stand_in_the_settings(files: Files, node: Issued, authority: CertificateAuthority) -> None:
    config = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": node.encrypted_key_pem("secret"),
        "ssl.key.password": "secret",
        "ssl.keystore.certificate.chain": node.chain_pem,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": authority.certificate_pem,
    }
    with EmbeddedBroker(config=ssl_listeners() | config) as kafka:
        assert produce_and_read(kafka.bootstrap, files.client(), [b"1"]) == [b"1"]


@pytest.mark.parametrize("store_type", ["PKCS12", "JKS"])
def test_a_pkcs12_store_is_read_under_either_name(files: Files, node: Issued, store_type: str) -> None:
    store = files.directory / "node.p12"
    store.write_bytes(node.pkcs12("secret"))
    config = {
        "ssl.keystore.type": store_type,
        "ssl.keystore.location": str(store),
        "ssl.keystore.password": "secret",
        "ssl.truststore.type": store_type,
        "ssl.truststore.location": str(store),
        "ssl.truststore.password": "secret",
    }
    with EmbeddedBroker(config=ssl_listeners() | config) as kafka:
        assert produce_and_read(kafka.bootstrap, files.client(), [b"1"]) == [b"1"]


def test_a_listener_may_have_settings_of_its_own(files: Files, node: Issued) -> None:
    own = {f"listener.name.ssl.{name}": value for name, value in pem_stores(files, node).items()}
    config = {
        "listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "advertised.listeners": "SSL://127.0.0.1:0,PLAINTEXT://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SSL:SSL,CONTROLLER:PLAINTEXT",
        **own,
    }
    with EmbeddedBroker(config=config) as kafka:
        assert produce_and_read(kafka.bootstrap, files.client(), [b"1"]) == [b"1"]


def test_a_client_without_a_certificate_is_refused_where_one_is_required(files: Files, node: Issued, alice: Issued) -> None:
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, node) | {"ssl.client.auth": "required"}) as kafka:
        assert produce_and_read(kafka.bootstrap, files.client(alice), [b"1"]) == [b"1"]
        assert is_refused(kafka.bootstrap, files.client())


def test_a_certificate_that_is_expired_or_of_another_authority_is_refused(
    files: Files, node: Issued, authority: CertificateAuthority
) -> None:
    other = CertificateAuthority.make("another", now=NOW).issue("mallory", now=NOW)
    expired = authority.issue("bob", now=NOW, days=-1)
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, node) | {"ssl.client.auth": "requested"}) as kafka:
        assert is_refused(kafka.bootstrap, files.client(other))
        assert is_refused(kafka.bootstrap, files.client(expired))
        assert is_served(kafka.bootstrap, files.client())


def test_a_certificate_that_no_mapping_rule_names_is_refused(
    files: Files, node: Issued, alice: Issued, authority: CertificateAuthority
) -> None:
    rules = "RULE:^CN=(alice|node).*$/$1/"
    config = pem_stores(files, node) | {"ssl.client.auth": "required", "ssl.principal.mapping.rules": rules}
    with EmbeddedBroker(config=ssl_listeners() | config) as kafka:
        assert is_served(kafka.bootstrap, files.client(alice))
        assert is_refused(kafka.bootstrap, files.client(authority.issue("bob", now=NOW)))


def test_plaintext_on_a_tls_port_is_closed_without_an_answer(files: Files, node: Issued) -> None:
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, node)) as kafka:
        host, port = kafka.bootstrap.split(":")
        for sent in (b"\x00\x00\x00\x10\x00\x12\x00\x00", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff" + b"x" * 100):
            with socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as plain:
                plain.sendall(sent)
                received = b"".join(iter(lambda plain=plain: _read(plain), b""))  # type: ignore[misc]
            # At most a TLS alert.
            assert len(received) <= 7, received
        assert is_served(kafka.bootstrap, files.client())


def _read(connection: socket.socket) -> bytes:
    try:
        return connection.recv(4096)
    except ConnectionResetError:
        return b""


def test_only_the_protocols_and_suites_that_are_set_are_offered(files: Files, node: Issued) -> None:
    config = {"ssl.enabled.protocols": "TLSv1.2", "ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"}
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, node) | config) as kafka:
        assert _negotiated(kafka.bootstrap, files, ssl.TLSVersion.TLSv1_2) == ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2")
        with pytest.raises(OSError, match=r"alert|EOF|reset"):
            _negotiated(kafka.bootstrap, files, ssl.TLSVersion.TLSv1_3)


def _negotiated(bootstrap: str, files: Files, version: ssl.TLSVersion) -> tuple[str, str]:
    host, port = bootstrap.split(":")
    context = ssl.create_default_context(cafile=str(files.trusted))
    context.minimum_version = version
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=host) as tls,
    ):
        cipher = tls.cipher()
        assert cipher is not None
        return cipher[0], cipher[1]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"ssl.keystore.location": None}, "needs a private key and a certificate"),
        ({"ssl.keystore.location": "missing.pem"}, "No such file"),
        ({"ssl.keystore.password": "x"}, "does not apply to PEM"),
        ({"ssl.key.password": "x"}, "it is not encrypted"),
        ({"ssl.truststore.location": "empty"}, "neither PEM nor a PKCS12 store"),
        ({"ssl.keystore.location": "java.jks"}, "keytool -importkeystore"),
        ({"ssl.cipher.suites": "TLS_GOOD_ENOUGH"}, "not the name of a cipher suite"),
        ({"ssl.principal.mapping.rules": "RULE:("}, "mapping rule"),
    ],
)
def test_a_store_that_cannot_be_used_is_a_sentence(files: Files, node: Issued, changes: dict[str, str | None], reason: str) -> None:
    (files.directory / "empty").write_bytes(b"0")
    (files.directory / "java.jks").write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    config = ssl_listeners() | pem_stores(files, node)
    for name, value in changes.items():
        if value is None:
            del config[name]
        else:
            config[name] = str(files.directory / value) if name.endswith("location") else value
    with pytest.raises(CannotStart, match=reason), EmbeddedBroker(config=config):
        pass


def test_the_node_certificate_must_name_the_host_that_other_nodes_use(files: Files, authority: CertificateAuthority) -> None:
    stranger = authority.issue("node", ["example.org"], now=NOW)
    # This node connects to nothing but itself, so a wrong name shows only to clients that check it.
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, stranger)) as kafka:
        assert is_refused(kafka.bootstrap, files.client())
        assert is_served(kafka.bootstrap, files.client() | {"ssl.endpoint.identification.algorithm": "none"})
