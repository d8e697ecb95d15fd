"""``barnabas certs``: the files are those that OpenSSL, Java and a node accept."""

from __future__ import annotations

import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient

from barnabas.testing import EmbeddedBroker
from tests.cli.running import Cli
from tests.waiting import PATIENCE_SECONDS

CERTS = Cli()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("certs") / "ca"
    CERTS("certs", "ca", made).worked()
    CERTS("certs", "node", made, "--host", "127.0.0.1", "--host", "localhost", "--name", "node-1").worked()
    CERTS("certs", "client", made, "--user", "alice").worked()
    return made


def test_keys_can_be_read_by_their_owner_only(directory: Path) -> None:
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in directory.iterdir()}
    assert modes == {"ca.pem": 0o644, "ca-key.pem": 0o600, "node-1.pem": 0o600, "alice.pem": 0o600}


def test_no_file_is_overwritten(directory: Path) -> None:
    before = {each.name: each.read_bytes() for each in directory.iterdir()}
    for words in (("ca", directory), ("node", directory, "--host", "other", "--name", "node-1"), ("client", directory, "--user", "alice")):
        assert "exists already" in CERTS("certs", *words).complaint
    assert {each.name: each.read_bytes() for each in directory.iterdir()} == before


def test_openssl_verifies_the_certificates(directory: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    for name in ("node-1.pem", "alice.pem"):
        done = subprocess.run(["openssl", "verify", "-x509_strict", "-CAfile", directory / "ca.pem", directory / name], capture_output=True)
        assert done.returncode == 0, done


def test_a_node_and_a_client_use_them(directory: Path) -> None:
    config = {
        "listeners": "SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "listener.security.protocol.map": "SSL:SSL,CONTROLLER:SSL",
        "security.inter.broker.protocol": "SSL",
        "ssl.client.auth": "required",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(directory / "node-1.pem"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(directory / "ca.pem"),
    }
    with EmbeddedBroker(config=config) as kafka:
        client: dict[str, Any] = {
            "bootstrap.servers": kafka.bootstrap,
            "security.protocol": "SSL",
            "ssl.ca.location": str(directory / "ca.pem"),
            "ssl.key.location": str(directory / "alice.pem"),
            "ssl.certificate.location": str(directory / "alice.pem"),
        }
        assert AdminClient(client).list_topics(timeout=PATIENCE_SECONDS).brokers


def test_show_prints_a_table_and_json_without_keys(directory: Path) -> None:
    ((subject, issuer, hosts, until, state),) = CERTS("certs", "show", directory / "node-1.pem").rows
    assert (subject, issuer, hosts, state) == ("CN=node-1", "CN=Barnabas development", "127.0.0.1, localhost", "valid")
    (shown,) = CERTS("certs", "show", directory / "node-1.pem", "--json").json
    assert shown["valid_until"] == until
    assert shown["hosts"] == ["127.0.0.1", "localhost"]
    assert "PRIVATE" not in CERTS("certs", "show", directory / "ca.pem").text


def test_a_pkcs12_store_is_made_and_shown_with_its_password(directory: Path, tmp_path: Path) -> None:
    password = tmp_path / "password"
    password.write_text("secret\n")
    (written,) = CERTS("certs", "client", directory, "--user", "bob", "--pkcs12", "--password-file", password, "--json").json["files"]
    rows = CERTS("certs", "show", written, "--password-file", password).rows
    assert [row[0] for row in rows] == ["CN=bob", "CN=Barnabas development"]
    assert "PKCS12" in CERTS("certs", "show", written).complaint
    if shutil.which("keytool"):
        words = ["keytool", "-list", "-keystore", written, "-storepass:file", password, "-storetype", "PKCS12"]
        listed = subprocess.run(words, capture_output=True, text=True, check=True)
        assert "PrivateKeyEntry" in listed.stdout
    Path(written).unlink()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("client", "{dir}", "--user", "../evil"), "cannot be the name of a file"),
        (("client", "{dir}", "--user", "ca"), "cannot be the name of a file"),
        (("client", "{dir}", "--user", "x", "--pkcs12"), "go together"),
        (("client", "{dir}", "--user", "x", "--pkcs12", "--password-file", "{empty}"), "no password"),
        (("node", "{empty}", "--host", "x"), "cannot be read"),
        (("node", "{nowhere}", "--host", "x"), "certs ca"),
        (("show", "{empty}"), "no certificate"),
        (("show", "{nowhere}"), "cannot be read"),
    ],
)
def test_mistakes_are_a_sentence(directory: Path, tmp_path: Path, words: tuple[str, ...], sentence: str) -> None:
    (tmp_path / "empty").write_text("")
    paths = {"dir": directory, "empty": tmp_path / "empty", "nowhere": tmp_path / "nowhere"}
    assert sentence in CERTS("certs", *(each.format(**paths) for each in words)).complaint
