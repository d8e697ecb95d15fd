"""Peers that do not speak TLS, or not as they should: each is one short event, no traceback, and no
descriptor is left behind."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import ssl
import struct
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest

from barnabas.config.parse import parse_broker_config
from barnabas.config.tls import tls_settings
from barnabas.devcluster.certificates import CertificateAuthority, Issued
from barnabas.devcluster.development import development_properties
from barnabas.env.awaiting import awaited
from barnabas.model.errors import ErrorCode
from barnabas.network import listener as listener_module
from barnabas.network.peers import Peers
from barnabas.network.tls.client_tls import ClientTls
from barnabas.node.process import run_loop
from barnabas.testing import EmbeddedBroker
from barnabas.wire.messages.api_versions import ApiVersionsRequest
from tests.scenarios.security.certificates import NOW, Files, pem_stores, ssl_listeners
from tests.scenarios.security.events import Events
from tests.waiting import PATIENCE_SECONDS, until

REASON_LENGTH_MAX = 120
# Enough of them to tell a leak from the few descriptors that a broker opens for itself meanwhile.
TIMES = 30
OF_THE_BROKER_MAX = 10
HANDSHAKE = 22
TLS_1_1, TLS_1_2 = 0x0302, 0x0303


def record(kind: int, version: int, body: bytes) -> bytes:
    return struct.pack(">BHH", kind, version, len(body)) + body


def client_hello(version: int) -> bytes:
    """The smallest one, with one cipher suite and no extension."""
    body = struct.pack(">H", version) + bytes(32) + b"\x00" + b"\x00\x02\xc0\x13" + b"\x01\x00"
    return record(HANDSHAKE, 0x0301, b"\x01" + len(body).to_bytes(3, "big") + body)


# A client hello that announces 16 MB, and the first records of it.
HUGE_HELLO = b"".join(record(HANDSHAKE, 0x0301, part) for part in (b"\x01\xff\xff\xff" + bytes(16_000), *([bytes(16_384)] * 20)))

GARBAGE = {
    "a request of Kafka": b"\x00\x00\x00\x10\x00\x12\x00\x00\x00\x00\x00\x01\xff\xff\x00\x00\x00\x00\x00\x00",
    "a request of HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a record that is too long": struct.pack(">BHH", HANDSHAKE, 0x0301, 0xFFFF) + bytes(0xFFFF),
    "a client hello without end": HUGE_HELLO,
    "TLS 1.1": client_hello(TLS_1_1),
    "an alert": record(21, TLS_1_2, b"\x02\x28"),
    "application data": record(23, TLS_1_2, bytes(100)),
    "zeros": bytes(64),
}


@pytest.fixture
def broker(events: Events, files: Files, node: Issued, caplog: pytest.LogCaptureFixture) -> Iterator[Callable[..., EmbeddedBroker]]:
    """Starts a broker. After the test it must serve, and must have logged nothing of its own."""
    with ExitStack() as stack:

        def start(**settings: str) -> EmbeddedBroker:
            changed = {name.replace("_", "."): value for name, value in settings.items()}
            return stack.enter_context(EmbeddedBroker(config=ssl_listeners() | pem_stores(files, node) | changed))

        yield start
    assert not [each for each in events if each.level in ("WARN", "ERROR", "FATAL")]
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING], "the loop logged a traceback"


def connect(bootstrap: str) -> socket.socket:
    host, port = bootstrap.split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_SECONDS)


def read_to_the_end(connection: socket.socket) -> bytes:
    read = b""
    with suppress(ConnectionResetError, BrokenPipeError):
        while more := connection.recv(65536):
            read += more
    return read


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def until_given_back(before: int) -> None:
    until(lambda: descriptors() <= before + OF_THE_BROKER_MAX, "the descriptors are given back")


def attack(bootstrap: str, sent: bytes) -> bytes:
    with connect(bootstrap) as connection:
        with suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(sent)
        return read_to_the_end(connection)


def refusals(events: Events) -> list[str]:
    return [str(each.values["reason"]) for each in events.named("connection refused")]


@pytest.mark.parametrize("sent", GARBAGE.values(), ids=GARBAGE)
def test_bytes_that_are_not_tls_are_one_event_and_at_most_an_alert(
    broker: Callable[..., EmbeddedBroker], events: Events, sent: bytes
) -> None:
    kafka = broker()
    before = descriptors()
    for _ in range(TIMES):
        answer = attack(kafka.bootstrap, sent)
        assert len(answer) <= 7, answer
    until(lambda: len(refusals(events)) == TIMES, "every refusal is logged")
    (reason,) = set(refusals(events))
    assert reason.startswith("the TLS handshake failed: ")
    assert len(reason) <= REASON_LENGTH_MAX
    until_given_back(before)


def test_tls_on_a_plaintext_port_is_one_event(events: Events, files: Files) -> None:
    with EmbeddedBroker() as kafka:
        before = descriptors()
        context = ssl.create_default_context(cafile=str(files.trusted))
        for _ in range(TIMES):
            with connect(kafka.bootstrap) as plain, pytest.raises(OSError, match=r"EOF|reset|closed"):
                context.wrap_socket(plain, server_hostname="127.0.0.1")
        until(lambda: len(refusals(events)) == TIMES, "every refusal is logged")
        assert all(len(each) <= REASON_LENGTH_MAX for each in refusals(events))
        until_given_back(before)


@pytest.mark.parametrize("certificate", ["none", "expired", "of another authority"])
def test_a_client_certificate_that_is_not_good_is_one_event(
    broker: Callable[..., EmbeddedBroker], events: Events, files: Files, authority: CertificateAuthority, certificate: str
) -> None:
    kafka = broker(ssl_client_auth="required")
    before = descriptors()
    context = ssl.create_default_context(cafile=str(files.trusted))
    if certificate != "none":
        signer = authority if certificate == "expired" else CertificateAuthority.make("another", now=NOW)
        shown = signer.issue("mallory", now=NOW, days=-1 if certificate == "expired" else 1)
        context.load_cert_chain(files.store(shown, "mallory"))
    for _ in range(TIMES):
        with connect(kafka.bootstrap) as plain, suppress(OSError), context.wrap_socket(plain, server_hostname="127.0.0.1") as tls:
            # With TLS 1.3 a client learns of the refusal with its first read.
            tls.recv(1)
    until(lambda: len(refusals(events)) == TIMES, "every refusal is logged")
    (reason,) = set(refusals(events))
    assert len(reason) <= REASON_LENGTH_MAX
    until_given_back(before)


def test_a_slow_handshake_ends_at_its_time_limit(
    broker: Callable[..., EmbeddedBroker], events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listener_module, "HANDSHAKE_SECONDS_MAX", 0.3)
    kafka = broker()
    before = descriptors()
    silent = [connect(kafka.bootstrap) for _ in range(TIMES)]
    hello = client_hello(TLS_1_2)
    for position, each in enumerate(silent):
        each.sendall(hello[:position])
    for each in silent:
        read_to_the_end(each)
        each.close()
    until(lambda: len(refusals(events)) == len(silent), "every refusal is logged")
    assert all(len(each) <= REASON_LENGTH_MAX for each in refusals(events))
    until_given_back(before)


def test_connections_that_end_during_the_handshake_leave_nothing_behind(broker: Callable[..., EmbeddedBroker], events: Events) -> None:
    kafka = broker()
    before = descriptors()
    for number in range(200):
        connection = connect(kafka.bootstrap)
        connection.sendall(client_hello(TLS_1_2)[: number % 50])
        if number % 2:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    until_given_back(before)


def test_a_renegotiation_is_refused(broker: Callable[..., EmbeddedBroker], files: Files) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    kafka = broker()
    words = ["openssl", "s_client", "-connect", kafka.bootstrap, "-tls1_2", "-CAfile", str(files.trusted)]
    done = subprocess.run(words, input=b"R\n", capture_output=True, timeout=PATIENCE_SECONDS, check=False)
    assert b"RENEGOTIATING" in done.stdout + done.stderr
    assert b"no renegotiation" in done.stderr or done.returncode != 0, done


def test_a_host_name_that_the_certificate_does_not_have_is_refused_by_our_own_connections(
    files: Files, authority: CertificateAuthority
) -> None:
    stranger = authority.issue("node", ["example.org"], now=NOW)
    reports: list[str] = []
    with EmbeddedBroker(config=ssl_listeners() | pem_stores(files, stranger)) as kafka:
        settings = parse_broker_config(development_properties(data_dir="/data", overrides=pem_stores(files, stranger)))
        host, port = kafka.bootstrap.split(":")

        async def ask() -> object:
            peers = Peers("test", tls=ClientTls(tls_settings(settings, "SSL")), report=lambda _, reason: reports.append(reason))
            request = ApiVersionsRequest(client_software_name="test", client_software_version="1")
            try:
                return await awaited(peers.at(host, int(port)).send(request, timeout_ms=10_000))
            finally:
                peers.close()

        assert run_loop(ask()) is ErrorCode.NETWORK_EXCEPTION
    (reason,) = reports
    assert "not valid for '127.0.0.1'" in reason
