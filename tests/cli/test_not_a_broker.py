"""Ports at which something else than a Kafka broker listens."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that answers each connection on a thread of its own."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    connection = server.accept()[0]
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        def serve(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                answer(connection)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.getsockname()[1]}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    file = tmp_path / "server.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    subprocess.run([*command, "-keyout", file, "-out", tmp_path / "c", "-subj", "/CN=localhost"], check=True, capture_output=True)
    file.write_bytes(file.read_bytes() + (tmp_path / "c").read_bytes())
    return file


def tls_answer(certificate: Path) -> Callable[[socket.socket], None]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    def answer(connection: socket.socket) -> None:
        with suppress(ssl.SSLError), context.wrap_socket(connection, server_side=True) as wrapped:
            wrapped.recv(1)

    return answer


def test_a_web_server_that_waits_for_a_line_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python's server answers nothing to bytes without a line break, and one connection at a time,
    so it has a short timeout here."""
    monkeypatch.setattr("barnabas.cli.cluster.probe.SILENCE_SECONDS_MAX", 0.3)
    server = HTTPServer(("127.0.0.1", 0), type("Quiet", (BaseHTTPRequestHandler,), {"log_message": lambda *_: None, "timeout": 0.1}))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        address = f"127.0.0.1:{server.server_port}"
        assert Cli(address)("topics", "list").complaint == f"{address} is a web server (it speaks HTTP), not a Kafka broker."
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_web_server_that_refuses_at_once_is_recognised() -> None:
    def answer(connection: socket.socket) -> None:
        connection.recv(100)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    with serving(answer) as address:
        for words in (("topics", "list"), ("produce", "t"), ("groups", "list")):
            assert Cli(address)(*words).complaint == f"{address} is a web server (it speaks HTTP), not a Kafka broker."


def test_a_listener_with_tls_is_recognised_by_a_client_without(certificate: Path) -> None:
    with serving(tls_answer(certificate)) as address:
        sentence = "expects TLS, but this client does not use it: set security.protocol to ssl or sasl_ssl."
        assert Cli(address)("topics", "list").complaint == f"{address} {sentence}"


def test_a_web_server_without_tls_is_recognised_by_a_client_with_tls() -> None:
    def answer(connection: socket.socket) -> None:
        connection.recv(1000)
        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

    with serving(answer) as address:
        done = Cli(address)("topics", "list", "-X", "security.protocol=ssl")
        assert done.complaint == f"{address} is a web server without TLS (it speaks HTTP), not a Kafka broker."


def test_a_server_that_greets_first_is_named_by_its_greeting() -> None:
    def answer(connection: socket.socket) -> None:
        connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")
        connection.recv(100)

    with serving(answer) as address:
        assert Cli(address)("topics", "list").complaint == f"{address} is not a Kafka broker: its answer begins with b'SSH-2.0-'."


def test_a_server_that_closes_every_connection_is_no_broker() -> None:
    with serving(lambda connection: None) as address:
        assert f"{address} takes connections, but does not answer like a Kafka broker" in Cli(address)("topics", "list").complaint


def test_a_broker_behind_another_server_is_still_found(kafka: EmbeddedBroker) -> None:
    with serving(lambda connection: None) as address:
        assert Cli(f"{address},{kafka.bootstrap}")("topics", "list").text == ""


@pytest.mark.parametrize("protocol", ["http", "https"])
def test_the_address_of_a_web_page_is_refused(protocol: str) -> None:
    sentence = f"{protocol}://localhost:9092 is the address of a web server: --bootstrap takes a broker's host:port, without {protocol}://."
    assert Cli()("topics", "list", "-b", f"{protocol}://localhost:9092").complaint == sentence


@pytest.mark.parametrize("text", ["", " "])
def test_an_empty_address_is_refused(text: str) -> None:
    sentence = "--bootstrap is empty: it takes host:port, several separated by commas."
    assert Cli()("topics", "list", "--bootstrap", text).complaint == sentence
    assert Cli()("topics", "list", "-X", f"bootstrap.servers={text}").complaint == sentence


def test_a_certificate_that_cannot_be_verified_is_refused_at_once(certificate: Path) -> None:
    with serving(tls_answer(certificate)) as address:
        sentence = Cli(address)("topics", "list", "-X", "security.protocol=ssl").complaint
    assert sentence == f"The certificate of {address} is refused: self-signed certificate."


def test_a_login_that_the_broker_does_not_offer_is_refused_at_once(kafka: EmbeddedBroker) -> None:
    login = ("-X", "security.protocol=sasl_plaintext", "-X", "sasl.mechanism=PLAIN", "-X", "sasl.username=a", "-X", "sasl.password=b")
    sentence = Cli(kafka.bootstrap)("topics", "list", *login).complaint
    assert sentence == f"{kafka.bootstrap} does not offer the login PLAIN; it offers none."


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("nope", "-X takes name=value, but was given 'nope'."),
        ("no.such.thing=1", "no.such.thing"),
        ("socket.timeout.ms=soon", "socket.timeout.ms"),
    ],
)
def test_a_wrong_property_is_one_sentence(given: str, told: str, kafka: EmbeddedBroker) -> None:
    assert told in Cli(kafka.bootstrap)("topics", "list", "-X", given).complaint
