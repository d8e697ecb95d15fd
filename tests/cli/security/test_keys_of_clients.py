"""The forms in which a client may have its private key and certificate."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509 import load_pem_x509_certificates

from barnabas.config.properties import write_properties
from barnabas.devcluster.certificates import Issued
from tests.cli.running import Cli
from tests.cli.security.secured import USER, Secured
from tests.scenarios.security.certificates import NOW

Form = Callable[[Path, Issued], dict[str, str]]
PASSWORD = "of the store"


def one_pem_file(folder: Path, issued: Issued) -> dict[str, str]:
    path = folder / "both.pem"
    path.write_text(issued.key_pem + issued.chain_pem)
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(path)}


def pkcs12_store(folder: Path, issued: Issued) -> dict[str, str]:
    key = serialization.load_pem_private_key(issued.key_pem.encode(), None)
    certificate, *others = load_pem_x509_certificates(issued.chain_pem.encode())
    encryption = serialization.BestAvailableEncryption(PASSWORD.encode())
    path = folder / "store.p12"
    path.write_bytes(pkcs12.serialize_key_and_certificates(b"client", key, certificate, others, encryption))  # type: ignore[arg-type]
    return {"ssl.keystore.location": str(path), "ssl.keystore.password": PASSWORD}


def inline(_: Path, issued: Issued) -> dict[str, str]:
    return {"ssl.keystore.type": "PEM", "ssl.keystore.key": issued.key_pem, "ssl.keystore.certificate.chain": issued.chain_pem}


def files_of_librdkafka(folder: Path, issued: Issued) -> dict[str, str]:
    (folder / "key.pem").write_text(issued.key_pem)
    (folder / "chain.pem").write_text(issued.chain_pem)
    return {"ssl.key.location": str(folder / "key.pem"), "ssl.certificate.location": str(folder / "chain.pem")}


def encrypted_key(folder: Path, issued: Issued) -> dict[str, str]:
    key = serialization.load_pem_private_key(issued.key_pem.encode(), None)
    encryption = serialization.BestAvailableEncryption(PASSWORD.encode())
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    (folder / "encrypted.pem").write_text(text.decode() + issued.chain_pem)
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(folder / "encrypted.pem"), "ssl.key.password": PASSWORD}


@pytest.mark.parametrize("form", [one_pem_file, pkcs12_store, inline, files_of_librdkafka, encrypted_key])
def test_both_librdkafka_and_requests_of_our_own_read_it(form: Form, mutual: Secured, tmp_path: Path) -> None:
    own = form(tmp_path, mutual.files.authority.issue(USER, now=NOW))
    trusted = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(mutual.files.trusted)}
    file = tmp_path / "client.properties"
    file.write_text(write_properties({"bootstrap.servers": mutual.bootstrap, "security.protocol": "SSL", **own, **trusted}))
    Cli()("groups", "list", "--command-config", file).worked()
    Cli()("topics", "create", form.__name__, "--command-config", file).worked()


def test_a_wrong_password_of_a_store_is_refused_in_a_sentence(mutual: Secured, tmp_path: Path) -> None:
    own = pkcs12_store(tmp_path, mutual.files.authority.issue(USER, now=NOW)) | {"ssl.keystore.password": "mistaken"}
    file = tmp_path / "client.properties"
    file.write_text(write_properties({"bootstrap.servers": mutual.bootstrap, "security.protocol": "SSL", **own}))
    complaint = Cli()("groups", "list", "--command-config", file).complaint
    assert "store.p12" in complaint
    assert "mistaken" not in complaint
