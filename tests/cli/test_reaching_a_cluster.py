from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli

# Every command that connects to a cluster, with its required arguments.
COMMANDS = [
    ("topics", "list"),
    ("topics", "create", "t"),
    ("topics", "describe"),
    ("topics", "alter", "t", "--partitions", "2"),
    ("topics", "delete", "t"),
    ("configs", "describe", "--topic", "t"),
    ("configs", "describe", "--client-metrics", "m"),
    ("configs", "alter", "--topic", "t", "--set", "a=b"),
    ("configs", "alter", "--broker-defaults", "--set", "a=b"),
    ("produce", "t"),
    ("consume", "t"),
    ("perf", "produce", "t"),
    ("perf", "consume", "t"),
    ("perf", "latency", "t"),
]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_an_address_without_a_listener_is_refused_at_once(words: tuple[str, ...]) -> None:
    assert Cli("127.0.0.1:1")(*words).complaint == "No broker can be reached at 127.0.0.1:1 (connection refused)."


@pytest.fixture
def silent_server() -> Iterator[str]:
    """It accepts every connection and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        held: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    held.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
        for each in held:
            each.close()


@pytest.mark.parametrize(
    "words", [("topics", "list"), ("topics", "create", "t"), ("configs", "describe", "--client-metrics", "m"), ("produce", "t")]
)
def test_a_server_that_never_answers_is_recognised_as_no_broker(
    words: tuple[str, ...], silent_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.cli.cluster.probe.SILENCE_SECONDS_MAX", 0.5)
    sentence = f"{silent_server} takes connections, but does not answer like a Kafka broker within 0.5 seconds."
    assert Cli(silent_server)(*words).complaint == sentence


def test_the_first_address_that_answers_is_enough(kafka: EmbeddedBroker) -> None:
    assert Cli(f"127.0.0.1:1,{kafka.bootstrap}")("topics", "list").text == ""


def test_all_unreachable_addresses_are_named() -> None:
    sentence = Cli("127.0.0.1:1,nohost.invalid:2")("topics", "list").complaint
    assert "127.0.0.1:1 (connection refused), nohost.invalid:2 (" in sentence


def test_an_address_is_a_host_and_a_port() -> None:
    for text in ("localhost", "localhost:", ":9092", "localhost:99999", "a b:1"):
        assert "--bootstrap takes host:port" in Cli()("topics", "list", "--bootstrap", text).complaint


def test_typed_options_override_the_environment(kafka: EmbeddedBroker, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(f"bootstrap.servers={kafka.bootstrap}\nclient.id=me\n")
    assert Cli()("topics", "list", "--config-file", file).text == ""
    assert Cli("127.0.0.1:1")("topics", "list", "--config-file", file).text == ""
    assert "127.0.0.1:1" in Cli()("topics", "list", "--config-file", file, "--bootstrap", "127.0.0.1:1").complaint
    assert Cli("127.0.0.1:1")("topics", "list", "--bootstrap", kafka.bootstrap).text == ""


def test_the_default_address_is_localhost(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def remember(address: tuple[str, int], timeout: float) -> socket.socket:
        asked.append(f"{address[0]}:{address[1]}")
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "create_connection", remember)
    monkeypatch.delenv("BARNABAS_BOOTSTRAP", raising=False)
    assert "localhost:9092 (connection refused)" in Cli()("topics", "list").complaint
    assert asked == ["localhost:9092"]


def test_a_bad_config_file_is_one_sentence(kafka: EmbeddedBroker, tmp_path: Path) -> None:
    cli = Cli(kafka.bootstrap)
    assert cli("topics", "list", "--config-file", tmp_path / "nope").complaint == f"{tmp_path}/nope: No such file or directory."
    file = tmp_path / "client.properties"
    for text, told in (
        ("no.such.setting=1\n", "no.such.setting"),
        ("socket.timeout.ms=soon\n", "socket.timeout.ms"),
        ("a=\\u12\n", "is not a properties file"),
    ):
        file.write_text(text)
        assert told in cli("topics", "list", "--config-file", file).complaint


def test_requests_of_our_own_are_refused_with_other_logins(kafka: EmbeddedBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.cli.cluster.reach.probe", lambda place, *, tls: None)
    monkeypatch.setattr("barnabas.cli.cluster.client.check_login", lambda cluster: None)
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=sasl_ssl\nsasl.mechanism=OAUTHBEARER\n")
    done = Cli(kafka.bootstrap)("configs", "describe", "--client-metrics", "m", "--config-file", file)
    assert done.complaint.startswith("This request logs in with PLAIN, SCRAM, OAUTHBEARER with a token")


def test_a_broker_without_tls_is_recognised_by_a_client_with_tls(kafka: EmbeddedBroker) -> None:
    sentence = "is a broker without TLS, but security.protocol asks for TLS: set it to plaintext or sasl_plaintext."
    assert Cli(kafka.bootstrap)("topics", "list", "-X", "security.protocol=ssl").complaint == f"{kafka.bootstrap} {sentence}"
