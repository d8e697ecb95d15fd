"""TLS with a registry: authorities, certificates of clients, PEM and PKCS12."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import serialize_key_and_certificates
from cryptography.x509.oid import NameOID

from barnabas.registry_client import RegistryClient, RegistryUnreachable
from barnabas.registry_client.errors import RegistrySettingsRefused

PASSWORD = "secret"


class Identity(NamedTuple):
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    def pem(self) -> bytes:
        key = self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return key + self.certificate.public_bytes(Encoding.PEM)


def issued(name: str, by: Identity | None = None, address: str = "127.0.0.1") -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(by.certificate.subject if by is not None else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=by is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
    )
    return Identity(made.sign((by or Identity(None, key)).key, SHA256()), key)  # type: ignore[arg-type]


class Files(NamedTuple):
    url: str
    folder: Path

    def path(self, name: str) -> str:
        return str(self.folder / name)


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        content = json.dumps({"schema": '"string"'}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A refused client is what some tests are about."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Files]:
    """A server that wants certificates of clients, and the files of both sides."""
    folder = tmp_path_factory.mktemp("tls")
    authority = issued("authority")
    server, client, stranger = issued("server", authority), issued("client", authority), issued("stranger")
    secret = BestAvailableEncryption(PASSWORD.encode())
    for name, content in {
        "ca.pem": authority.certificate.public_bytes(Encoding.PEM),
        "ca.p12": serialize_key_and_certificates(None, None, None, [authority.certificate], secret),
        "server.pem": server.pem(),
        "client.pem": client.pem(),
        "client.crt": client.certificate.public_bytes(Encoding.PEM),
        "client.key": client.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret),
        "client.p12": serialize_key_and_certificates(b"client", client.key, client.certificate, None, secret),
        "stranger.pem": stranger.pem(),
        "no.pem": b"nothing",
    }.items():
        (folder / name).write_bytes(content)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    context.load_verify_locations(folder / "ca.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    listening = _Server(("127.0.0.1", 0), _Handler)
    listening.socket = context.wrap_socket(listening.socket, server_side=True)
    thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    yield Files(f"https://127.0.0.1:{listening.server_address[1]}", folder)
    listening.shutdown()
    listening.server_close()
    thread.join()


def asked(files: Files, **settings: str) -> Any:
    named = {f"schema.registry.ssl.{name.replace('_', '.')}": value for name, value in settings.items()}
    with RegistryClient({"schema.registry.url": files.url, **named}) as client:
        return client.schema_by_id(1).text


def test_pem_files_of_both_sides(files: Files) -> None:
    settings = {"certificate_location": files.path("client.crt"), "key_location": files.path("client.key"), "key_password": PASSWORD}
    assert asked(files, ca_location=files.path("ca.pem"), **settings) == '"string"'
    assert asked(files, truststore_location=files.path("ca.pem"), keystore_location=files.path("client.pem")) == '"string"'


def test_pkcs12_files_of_both_sides(files: Files) -> None:
    stores = {"truststore_location": files.path("ca.p12"), "keystore_location": files.path("client.p12")}
    assert asked(files, **stores, truststore_password=PASSWORD, keystore_password=PASSWORD) == '"string"'
    with pytest.raises(RegistrySettingsRefused, match="the password is another one"):
        asked(files, **stores, truststore_password="wrong", keystore_password=PASSWORD)


def test_server_of_an_unknown_authority_is_not_asked(files: Files) -> None:
    with pytest.raises(RegistryUnreachable, match="CERTIFICATE_VERIFY_FAILED"):
        asked(files, ca_location=files.path("stranger.pem"), keystore_location=files.path("client.pem"))


def test_client_of_an_unknown_authority_is_refused(files: Files) -> None:
    with pytest.raises(RegistryUnreachable):
        asked(files, ca_location=files.path("ca.pem"), keystore_location=files.path("stranger.pem"))


def test_file_that_cannot_be_used_is_named(files: Files) -> None:
    with pytest.raises(RegistrySettingsRefused, match=r"no\.pem"):
        asked(files, ca_location=files.path("no.pem"))
    with pytest.raises(RegistrySettingsRefused, match="No such file"):
        asked(files, ca_location=files.path("missing.pem"))
    with pytest.raises(RegistrySettingsRefused, match="convert it to PKCS12"):
        asked(files, truststore_location=files.path("missing.jks"))
