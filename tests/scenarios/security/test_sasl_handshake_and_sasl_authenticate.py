"""Listeners with SASL, seen by librdkafka and by raw frames."""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient

from barnabas.devcluster.certificates import Issued
from barnabas.model.cannot_start import CannotStart
from barnabas.model.errors import ErrorCode
from barnabas.testing import EmbeddedBroker
from barnabas.wire.apis import ApiKey
from barnabas.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.scenarios.security.certificates import Files, pem_stores
from tests.scenarios.security.sasl import MODULE, sasl_listeners
from tests.unit.security.sasl.frames import answer, handshake, request_frame, token, versions
from tests.waiting import PATIENCE_SECONDS, until

RECEIVE_BYTES_MAX = 524_288


def client(password: str = "wonder", protocol: str = "SASL_PLAINTEXT") -> dict[str, str]:
    return {"security.protocol": protocol, "sasl.mechanism": "PLAIN", "sasl.username": "alice", "sasl.password": password}


def produce(bootstrap: str, settings: dict[str, str]) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, **settings})
    producer.produce("t", b"1")
    assert producer.flush(PATIENCE_SECONDS) == 0


def test_librdkafka_logs_in_with_a_password() -> None:
    with EmbeddedBroker(config=sasl_listeners()) as kafka:
        produce(kafka.bootstrap, client())


def test_a_password_under_tls(files: Files, node: Issued) -> None:
    with EmbeddedBroker(config=sasl_listeners("SASL_SSL") | pem_stores(files, node)) as kafka:
        produce(kafka.bootstrap, client(protocol="SASL_SSL") | {"ssl.ca.location": str(files.trusted)})


def test_a_wrong_password_is_refused_in_a_sentence() -> None:
    errors: list[KafkaError] = []
    with EmbeddedBroker(config=sasl_listeners()) as kafka:
        settings: dict[str, Any] = {"bootstrap.servers": kafka.bootstrap, "log_level": 0, "error_cb": errors.append, **client("wrong")}
        refused = AdminClient(settings)
        until(lambda: refused.poll(0) or errors, "librdkafka reports the failure")
    assert errors[0].code() == KafkaError._AUTHENTICATION
    assert "Invalid username or password" in errors[0].str()


def test_a_session_goes_on_after_the_client_has_authenticated_again() -> None:
    with EmbeddedBroker(config=sasl_listeners() | {"connections.max.reauth.ms": "2500"}) as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0, **client()})
        failed: list[KafkaError] = []
        # More than two sessions long.
        for _ in range(120):
            producer.produce("t", b"1", on_delivery=lambda error, _: failed.append(error) if error is not None else None)
            producer.flush(PATIENCE_SECONDS)
            producer.poll(0.05)
        assert failed == []


@pytest.mark.parametrize(
    "sent",
    [
        # Metadata, before anything else.
        struct.pack(">hhih", 3, 1, 1, -1) + b"\xff\xff\xff\xff",
        # SaslAuthenticate without a handshake.
        struct.pack(">hhih", 36, 0, 1, -1) + struct.pack(">i", 0),
        b"\x00",
    ],
)
def test_a_request_before_authentication_closes_the_connection(sent: bytes) -> None:
    with EmbeddedBroker(config=sasl_listeners()) as kafka, _connected(kafka) as raw:
        raw.sendall(struct.pack(">i", len(sent)) + sent)
        assert raw.recv(100) == b""


def test_a_frame_before_authentication_may_not_be_large() -> None:
    with EmbeddedBroker(config=sasl_listeners()) as kafka, _connected(kafka) as raw:
        raw.sendall(struct.pack(">i", RECEIVE_BYTES_MAX + 1) + b"x" * 100)
        assert raw.recv(100) == b""


def test_requests_behind_a_failed_authentication_are_never_served() -> None:
    with EmbeddedBroker(config=sasl_listeners()) as kafka, _connected(kafka) as raw:
        bad = b"\x00alice\x00wrong"
        metadata = struct.pack(">hhih", 3, 1, 1, -1) + b"\xff\xff\xff\xff"
        frames = (bytes(versions(0)), bytes(handshake("PLAIN", 0)), bad, metadata)
        raw.sendall(b"".join(struct.pack(">i", len(each)) + each for each in frames))
        received = b"".join(iter(lambda: raw.recv(65536), b""))
        count, position = 0, 0
        while position < len(received):
            position += 4 + struct.unpack_from(">i", received, position)[0]
            count += 1
    # ApiVersions and the handshake; a failure of version 0 has no answer.
    assert count == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sasl.enabled.mechanisms": "MAGIC"}, "MAGIC, but only"),
        ({"listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{MODULE} required;"}, "must have a username and a password"),
        ({"listener.name.sasl_plaintext.plain.sasl.jaas.config": "what"}, "semicolon"),
    ],
)
def test_a_listener_that_cannot_authenticate_is_a_sentence(changes: dict[str, str], reason: str) -> None:
    with pytest.raises(CannotStart, match=reason), EmbeddedBroker(config=sasl_listeners() | changes):
        pass


def test_an_authenticated_connection_answers_a_second_handshake_with_illegal_sasl_state_and_goes_on() -> None:
    with EmbeddedBroker(config=sasl_listeners()) as kafka, _connected(kafka) as raw:
        assert _asked(raw, handshake("PLAIN")) is not None
        assert answer(_asked(raw, token(b"\x00alice\x00wonder")), ApiKey.SASL_AUTHENTICATE, 2).error_code == ErrorCode.NONE
        for _ in range(2):
            assert answer(_asked(raw, handshake("PLAIN")), ApiKey.SASL_HANDSHAKE, 1).error_code == ErrorCode.ILLEGAL_SASL_STATE
            told = answer(_asked(raw, token(b"\x00alice\x00wonder")), ApiKey.SASL_AUTHENTICATE, 2)
            assert told.error_code == ErrorCode.ILLEGAL_SASL_STATE


def test_a_request_during_an_exchange_gets_its_own_error_and_the_connection_ends() -> None:
    with EmbeddedBroker(config=sasl_listeners()) as kafka, _connected(kafka) as raw:
        _asked(raw, handshake("PLAIN"))
        told = answer(_asked(raw, request_frame(FindCoordinatorRequest(key="g"), ApiKey.FIND_COORDINATOR, 3)), ApiKey.FIND_COORDINATOR, 3)
        assert told.error_code == ErrorCode.ILLEGAL_SASL_STATE
        assert raw.recv(100) == b""


def test_a_token_may_not_be_larger_than_requests_before_authentication() -> None:
    with EmbeddedBroker(config=sasl_listeners()) as kafka, _connected(kafka) as raw:
        _asked(raw, handshake("PLAIN"))
        raw.sendall(struct.pack(">i", RECEIVE_BYTES_MAX + 1) + b"x" * 100)
        assert raw.recv(100) == b""


def test_connections_that_never_authenticate_are_bounded_for_each_address() -> None:
    with EmbeddedBroker(config=sasl_listeners() | {"max.connections.per.ip": "3"}) as kafka:
        silent = [_connected(kafka) for _ in range(3)]
        try:
            with _connected(kafka) as fourth:
                assert fourth.recv(100) == b""
        finally:
            for each in silent:
                each.close()


def _asked(raw: socket.socket, frame: memoryview) -> bytes:
    """The response to a request, with its length."""
    raw.sendall(struct.pack(">i", len(frame)) + frame)
    size = raw.recv(4, socket.MSG_WAITALL)
    return size + raw.recv(struct.unpack(">i", size)[0], socket.MSG_WAITALL)


def _connected(kafka: EmbeddedBroker) -> socket.socket:
    host, port = kafka.bootstrap.split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)
