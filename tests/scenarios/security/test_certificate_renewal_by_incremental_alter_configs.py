"""Certificates renewed while clients use the listener: by a changed setting, and by a changed file.

Which certificate a listener shows is asked with OpenSSL; settings are changed by librdkafka.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from cryptography import x509

from barnabas.devcluster.certificates import CertificateAuthority, Issued
from barnabas.node import certificates
from barnabas.testing import EmbeddedBroker
from tests.scenarios.security.certificates import HOSTS, NOW, Files, pem_stores, ssl_listeners
from tests.scenarios.security.events import Events
from tests.waiting import PATIENCE_SECONDS, until

KEYSTORE = "listener.name.ssl.ssl.keystore."


@pytest.fixture
def kafka(files: Files, node: Issued, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedBroker]:
    monkeypatch.setattr(certificates, "LOOK_SECONDS", 0.05)
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, node)) as broker:
        yield broker


def serial_shown(bootstrap: str, trusted: Path) -> int:
    """The serial number of the certificate that the listener shows to a new connection."""
    host, port = bootstrap.split(":")
    context = ssl.create_default_context(cafile=str(trusted))
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=host) as tls,
    ):
        shown = tls.getpeercert(binary_form=True)
    assert shown is not None
    return x509.load_der_x509_certificate(shown).serial_number


def alter(bootstrap: str, files: Files, changes: dict[str, str]) -> None:
    """Raises ``KafkaException`` when the broker refuses."""
    entries = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET) for name, value in changes.items()]
    resource = ConfigResource(ResourceType.BROKER, "1", incremental_configs=entries)
    client = AdminClient({"bootstrap.servers": bootstrap, **files.client()})
    for future in client.incremental_alter_configs([resource]).values():
        future.result(PATIENCE_SECONDS)


def replace_file(path: Path, text: str) -> None:
    """At once, so that the broker sees no state in between."""
    written = path.with_suffix(".new")
    written.write_text(text)
    written.replace(path)


def in_pem(path: Path) -> dict[str, str]:
    return {f"{KEYSTORE}type": "PEM", f"{KEYSTORE}location": str(path)}


def test_password_of_a_changed_key_store_may_be_a_reference_to_a_file(
    files: Files, node: Issued, authority: CertificateAuthority, tmp_path: Path
) -> None:
    secret = tmp_path / "secrets.properties"
    secret.write_text("key=opensesame\n")
    providers = {
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "config.providers.file.param.allowed.paths": str(tmp_path),
    }
    renewed = authority.issue("node", HOSTS, now=NOW)
    store = tmp_path / "renewed.pem"
    store.write_text(renewed.encrypted_key_pem("opensesame") + renewed.chain_pem)
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, node) | providers) as broker:
        password = "listener.name.ssl.ssl.key.password"
        with pytest.raises(KafkaException, match="has no key 'lost'"):
            alter(broker.bootstrap, files, {**in_pem(store), password: f"${{file:{secret}:lost}}"})
        assert serial_shown(broker.bootstrap, files.trusted) == node.certificate.serial_number
        alter(broker.bootstrap, files, {**in_pem(store), password: f"${{file:{secret}:key}}"})
        until(lambda: serial_shown(broker.bootstrap, files.trusted) == renewed.certificate.serial_number, "the listener shows the new one")
        broker.restart()
        assert serial_shown(broker.bootstrap, files.trusted) == renewed.certificate.serial_number


def test_a_changed_setting_renews_the_certificate_and_connections_go_on(
    kafka: EmbeddedBroker, files: Files, node: Issued, authority: CertificateAuthority
) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, **files.client()})
    producer.produce("t", b"before", partition=0)
    assert producer.flush(PATIENCE_SECONDS) == 0
    assert serial_shown(kafka.bootstrap, files.trusted) == node.certificate.serial_number
    renewed = authority.issue("node", [*HOSTS, "node.example.org"], now=NOW)
    alter(kafka.bootstrap, files, in_pem(files.store(renewed, "renewed")))
    until(lambda: serial_shown(kafka.bootstrap, files.trusted) == renewed.certificate.serial_number, "the new certificate is shown")
    producer.produce("t", b"after", partition=0)
    assert producer.flush(PATIENCE_SECONDS) == 0
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap, "group.id": "g", **files.client()})
    consumer.assign([TopicPartition("t", 0, 0)])
    read = [consumer.poll(PATIENCE_SECONDS) for _ in range(2)]
    assert [each.value() for each in read if each is not None] == [b"before", b"after"]
    consumer.close()
    kafka.restart()
    assert serial_shown(kafka.bootstrap, files.trusted) == renewed.certificate.serial_number


def test_inline_keys_renew_the_certificate_and_are_never_described(
    kafka: EmbeddedBroker, files: Files, authority: CertificateAuthority
) -> None:
    renewed = authority.issue("node", HOSTS, now=NOW)
    changes = {
        f"{KEYSTORE}type": "PEM",
        f"{KEYSTORE}key": renewed.encrypted_key_pem("the-password"),
        f"{KEYSTORE}certificate.chain": renewed.chain_pem,
        "listener.name.ssl.ssl.key.password": "the-password",
    }
    alter(kafka.bootstrap, files, changes)
    until(lambda: serial_shown(kafka.bootstrap, files.trusted) == renewed.certificate.serial_number, "the new certificate is shown")
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, **files.client()})
    (described,) = client.describe_configs([ConfigResource(ResourceType.BROKER, "1")]).values()
    entries = described.result(PATIENCE_SECONDS)
    assert entries[f"{KEYSTORE}type"].value == "PEM"
    for name in changes.keys() - {f"{KEYSTORE}type"}:
        assert entries[name].value is None, name
        assert entries[name].is_sensitive, name


def test_the_same_path_again_reads_a_changed_file_again(
    files: Files, node: Issued, authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(certificates, "LOOK_SECONDS", 3600.0)
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, node)) as kafka:
        path = files.store(authority.issue("node", HOSTS, now=NOW), "changing")
        alter(kafka.bootstrap, files, in_pem(path))
        renewed = authority.issue("node", HOSTS, now=NOW)
        files.store(renewed, "changing")
        alter(kafka.bootstrap, files, in_pem(path))
        until(lambda: serial_shown(kafka.bootstrap, files.trusted) == renewed.certificate.serial_number, "the new certificate is shown")


def test_a_store_that_cannot_be_used_is_refused_and_the_old_one_stays(
    kafka: EmbeddedBroker, files: Files, node: Issued, authority: CertificateAuthority
) -> None:
    broken = files.directory / "broken.pem"
    broken.write_text(node.key_pem + authority.issue("node", HOSTS, now=NOW).chain_pem)
    stranger = CertificateAuthority.make("another", now=NOW).issue("node", HOSTS, now=NOW)
    for changes, reason in [
        (in_pem(files.directory / "missing.pem"), "No such file"),
        (in_pem(broken), "does not belong to the first certificate"),
        (in_pem(files.store(authority.issue("other", HOSTS, now=NOW), "other")), r"CN=other.*ssl\.allow\.dn\.changes"),
        (in_pem(files.store(authority.issue("node", ["localhost"], now=NOW), "fewer")), r"127\.0\.0\.1.*ssl\.allow\.san\.changes"),
        (in_pem(files.store(stranger, "stranger")), "cannot connect.*certificate verify failed"),
        ({"listener.name.nowhere.ssl.keystore.type": "PEM"}, "listener that does not exist"),
        ({"listener.name.ssl.ssl.principal.mapping.rules": "DEFAULT"}, "Cannot update"),
        ({"ssl.keystore.location": "/x"}, "for a listener only"),
    ]:
        with pytest.raises(KafkaException, match=reason):
            alter(kafka.bootstrap, files, changes)
    assert serial_shown(kafka.bootstrap, files.trusted) == node.certificate.serial_number


def test_other_names_are_accepted_where_the_settings_allow_them(files: Files, node: Issued, authority: CertificateAuthority) -> None:
    allowed = {"ssl.allow.dn.changes": "true", "ssl.allow.san.changes": "true"}
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, node) | allowed) as kafka:
        other = authority.issue("other", ["127.0.0.1"], now=NOW)
        alter(kafka.bootstrap, files, in_pem(files.store(other, "other")))
        until(lambda: serial_shown(kafka.bootstrap, files.trusted) == other.certificate.serial_number, "the new certificate is shown")


def test_client_certificates_can_be_required_while_the_broker_runs(kafka: EmbeddedBroker, files: Files, alice: Issued) -> None:
    alter(kafka.bootstrap, files, {"listener.name.ssl.ssl.client.auth": "required"})

    def is_refused() -> bool:
        try:
            AdminClient({"bootstrap.servers": kafka.bootstrap, "log_level": 0, **files.client()}).list_topics(timeout=1)
        except KafkaException:
            return True
        return False

    until(is_refused, "a client without a certificate is refused")
    client = AdminClient({"bootstrap.servers": kafka.bootstrap, **files.client(alice)})
    assert client.list_topics(timeout=PATIENCE_SECONDS).brokers


def test_a_changed_file_renews_the_certificate_and_a_half_written_one_is_reported_once(
    events: Events, kafka: EmbeddedBroker, files: Files, node: Issued, authority: CertificateAuthority
) -> None:
    renewed = authority.issue("node", HOSTS, now=NOW)
    whole = renewed.key_pem + renewed.chain_pem
    path = files.directory / "node.pem"
    replace_file(path, whole[:-100])
    until(lambda: events.named("certificates cannot be renewed, the present ones stay"), "the half-written file is reported")
    assert serial_shown(kafka.bootstrap, files.trusted) == node.certificate.serial_number
    replace_file(path, whole)
    until(lambda: serial_shown(kafka.bootstrap, files.trusted) == renewed.certificate.serial_number, "the new certificate is shown")
    by_listener = [each.values["listener"] for each in events.named("certificates cannot be renewed, the present ones stay")]
    assert sorted(by_listener) == ["CONTROLLER", "SSL"]
    assert "PRIVATE" not in str(events)


def test_connections_between_nodes_use_renewed_stores(
    files: Files, node: Issued, authority: CertificateAuthority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new authority in two steps, without a restart: trusted first, then the one that signs."""
    monkeypatch.setattr(certificates, "LOOK_SECONDS", 0.05)
    config = {
        "listener.security.protocol.map": "PLAINTEXT:SSL,CONTROLLER:SSL",
        "ssl.client.auth": "required",
        "default.replication.factor": "2",
        **pem_stores(files, node),
    }
    new = CertificateAuthority.make("the next", now=NOW)
    renewed = new.issue("node", HOSTS, now=NOW)
    trusted = files.directory / "ca.pem"
    seen_by_clients = files.directory / "both.pem"
    both = authority.certificate_pem + new.certificate_pem
    seen_by_clients.write_text(both)
    client = {
        "security.protocol": "SSL",
        "ssl.ca.location": str(seen_by_clients),
        "ssl.key.pem": renewed.key_pem,
        "ssl.certificate.pem": renewed.chain_pem,
    }
    with EmbeddedBroker(brokers=2, config=config) as kafka:
        trusted.write_text(both)

        def all_trust_both() -> bool:
            return all(_accepts(kafka.address(each), client) for each in (1, 2))

        until(all_trust_both, "both brokers trust the new authority")
        files.store(renewed)
        for each in (1, 2):
            shows = lambda each=each: serial_shown_to(kafka.address(each), client) == renewed.certificate.serial_number  # noqa: E731
            until(shows, f"broker {each} shows the new certificate")
        kafka.restart(2)
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "acks": "all", **client})
        producer.produce("t", b"replicated")
        assert producer.flush(PATIENCE_SECONDS) == 0


def _accepts(address: str, client: dict[str, str]) -> bool:
    try:
        return bool(AdminClient({"bootstrap.servers": address, "log_level": 0, **client}).list_topics(timeout=1).brokers)
    except KafkaException:
        return False


def serial_shown_to(address: str, client: dict[str, str]) -> int:
    return serial_shown(address, Path(client["ssl.ca.location"]))
