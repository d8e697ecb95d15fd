"""Clusters that a client reaches only with a login or a certificate, and the client files for them.

The files have Java's names and PEM stores, as users of Kafka's own tools have them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas.config.properties import write_properties
from barnabas.devcluster.certificates import CertificateAuthority
from barnabas.testing import EmbeddedBroker
from tests.scenarios.security.certificates import HOSTS, NOW, Files, pem_stores, ssl_listeners
from tests.scenarios.security.sasl import sasl_listeners
from tests.waiting import PATIENCE_SECONDS

USER = "ann"
# It has every character that a notation could trip over, and a part that appears nowhere else.
MARK = "unguessed"
PASSWORD = f'p\\w"x, =;#{MARK}'
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class Secured(NamedTuple):
    bootstrap: str
    client_file: Path
    files: Files


@contextmanager
def scram_over_tls(directory: Path, *, process: bool = False) -> Iterator[Secured]:
    """SASL_SSL with SCRAM-SHA-512 for clients, under a private authority."""
    files = Files(directory, CertificateAuthority.make("Tests of the commands", now=NOW))
    config = sasl_listeners("SASL_SSL") | pem_stores(files, files.authority.issue("node", HOSTS, now=NOW))
    config |= {
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{_SCRAM_MODULE} required;",
    }
    with EmbeddedBroker(process=process, config=config) as kafka:
        _add_user(kafka.bootstrap, files)
        escaped = PASSWORD.replace("\\", "\\\\").replace('"', '\\"')
        login = {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{_SCRAM_MODULE} required username="{USER}" password="{escaped}";',
        }
        yield Secured(kafka.bootstrap, _client_file(kafka.bootstrap, files, login), files)


@contextmanager
def mutual_tls(directory: Path, *, process: bool = False) -> Iterator[Secured]:
    """SSL where the certificate of a client is its login."""
    files = Files(directory, CertificateAuthority.make("Tests of the commands", now=NOW))
    config = ssl_listeners() | pem_stores(files, files.authority.issue("node", HOSTS, now=NOW)) | {"ssl.client.auth": "required"}
    with EmbeddedBroker(process=process, config=config) as kafka:
        key = files.store(files.authority.issue(USER, now=NOW), USER)
        own = {"security.protocol": "SSL", "ssl.keystore.type": "PEM", "ssl.keystore.location": str(key)}
        yield Secured(kafka.bootstrap, _client_file(kafka.bootstrap, files, own), files)


def _client_file(bootstrap: str, files: Files, own: dict[str, str]) -> Path:
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(files.trusted)}
    path = files.directory / "client.properties"
    path.write_text(write_properties({"bootstrap.servers": bootstrap, **own, **trust}))
    return path


def _add_user(bootstrap: str, files: Files) -> None:
    login = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "admin", "sasl.password": "admins"}
    admin = AdminClient({"bootstrap.servers": bootstrap, "ssl.ca.location": str(files.trusted), **login})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    (future,) = admin.alter_user_scram_credentials([UserScramCredentialUpsertion(USER, info, PASSWORD.encode())]).values()
    future.result(PATIENCE_SECONDS)
