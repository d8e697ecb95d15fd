"""The keys, certificates and passwords of a secured development cluster, in ``DIR/secure``.

=========================  ==============================================================
``ca.pem``                 the certificate of the cluster's own authority
``ca-key.pem``             its private key
``node-1.pem`` ...         a key and a certificate for each node
``client.pem``             a key and a certificate for a client, for listeners that ask for one
``passwords.json``         of the nodes among themselves, and of the user ``admin``
``client.properties``      what a client needs, for Java's clients and for ``--config-file``
``librdkafka.properties``  the same for clients that are made with librdkafka
=========================  ==============================================================

All files but the first can be read by their owner only. The next start finds them again; it makes a
new certificate only for a node whose certificate does not name the host, or soon expires.

Every connection uses SASL_SSL. Nodes log in to each other with PLAIN, because the users of SCRAM
are in the metadata log, which a node can read only after it has logged in. Clients use
SCRAM-SHA-512. ACLs are on: other users than ``admin`` may do nothing until an ACL allows it.
"""

from __future__ import annotations

import datetime
import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from cryptography import x509

from barnabas.config.broker_keys.security import STANDARD_AUTHORIZER
from barnabas.devcluster.certificates import CertificateAuthority
from barnabas.devcluster.development import SECURE_LISTENER
from barnabas.devcluster.private_files import PUBLIC, make_private_directory, replace
from barnabas.model.cannot_start import CannotStart
from barnabas.security.sasl.scram_credentials import ScramMechanism

ADMIN: Final = "admin"
ADMIN_MECHANISM: Final = ScramMechanism.SHA_512
NODE_USER: Final = "node"
CLIENT_FILE: Final = "client.properties"
# A certificate that expires within this time is replaced at a start.
RENEWED_BEFORE: Final = datetime.timedelta(days=30)
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
_ANY_ADDRESS = ("", "0.0.0.0", "::")  # noqa: S104 - recognised, not listened on
_PASSWORD_BYTES = 24
_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"


class SecureFiles:
    def __init__(self, directory: Path, *, nodes: Sequence[int], host: str, now: datetime.datetime) -> None:
        """Makes the files that are missing. Raises ``CannotStart``."""
        self.directory = (directory / "secure").absolute()
        try:
            make_private_directory(self.directory)
            self._authority = self._find_authority(now)
            self._passwords = self._find_passwords()
            hosts = list(dict.fromkeys([*_LOCAL_HOSTS, *([host] if host not in _ANY_ADDRESS else [])]))
            for node_id in nodes:
                self._ensure_certificate(self.node_store(node_id), f"node-{node_id}", hosts, now)
            self._ensure_certificate(self.directory / "client.pem", "client", [], now)
        except OSError as error:
            raise CannotStart(f"cannot write the certificates in {self.directory}: {error.strerror}.") from error
        except (ValueError, KeyError) as error:
            raise CannotStart(f"{self.directory} cannot be used: {error}. Remove it, and the next start makes new certificates.") from error

    @property
    def trusted(self) -> Path:
        return self.directory / "ca.pem"

    @property
    def client_file(self) -> Path:
        return self.directory / CLIENT_FILE

    @property
    def librdkafka_file(self) -> Path:
        return self.directory / "librdkafka.properties"

    @property
    def admin_password(self) -> str:
        return self._passwords[ADMIN]

    @property
    def node_password(self) -> str:
        """Of the user as which nodes log in to each other."""
        return self._passwords[NODE_USER]

    def node_store(self, node_id: int) -> Path:
        return self.directory / f"node-{node_id}.pem"

    # -- settings ----------------------------------------------------------------------------------

    def node_properties(self, node_id: int) -> dict[str, str]:
        password = self.node_password
        jaas = f'{_PLAIN_MODULE} required username="{NODE_USER}" password="{password}" user_{NODE_USER}="{password}";'
        return {
            "listener.security.protocol.map": f"{SECURE_LISTENER}:SASL_SSL,CONTROLLER:SASL_SSL",
            "inter.broker.listener.name": SECURE_LISTENER,
            "sasl.enabled.mechanisms": f"{ADMIN_MECHANISM.title},PLAIN",
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            f"listener.name.{SECURE_LISTENER.lower()}.plain.sasl.jaas.config": jaas,
            f"listener.name.{SECURE_LISTENER.lower()}.{ADMIN_MECHANISM.title.lower()}.sasl.jaas.config": f"{_SCRAM_MODULE} required;",
            "listener.name.controller.plain.sasl.jaas.config": jaas,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.node_store(node_id)),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.trusted),
            "authorizer.class.name": STANDARD_AUTHORIZER,
            "super.users": f"User:{NODE_USER};User:{ADMIN}",
        }

    def java_properties(self, bootstrap: str, user: str, password: str) -> dict[str, str]:
        return {
            **_shared(bootstrap),
            "sasl.jaas.config": f'{_SCRAM_MODULE} required username="{user}" password="{password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.trusted),
        }

    def librdkafka_properties(self, bootstrap: str, user: str, password: str) -> dict[str, str]:
        return {**_shared(bootstrap), "sasl.username": user, "sasl.password": password, "ssl.ca.location": str(self.trusted)}

    def write_client_files(self, bootstrap: str) -> None:
        """Ports change from start to start, so these files are written again. Raises
        ``CannotStart``."""
        java = self.java_properties(bootstrap, ADMIN, self.admin_password)
        librdkafka = self.librdkafka_properties(bootstrap, ADMIN, self.admin_password)
        try:
            for path, properties in ((self.client_file, java), (self.librdkafka_file, librdkafka)):
                replace(path, "".join(f"{name}={value}\n" for name, value in properties.items()).encode())
        except OSError as error:
            raise CannotStart(f"cannot write the files for clients in {self.directory}: {error.strerror}.") from error

    # -- files -------------------------------------------------------------------------------------

    def _find_authority(self, now: datetime.datetime) -> CertificateAuthority:
        key, certificate = self.directory / "ca-key.pem", self.trusted
        if key.exists() and certificate.exists():
            return CertificateAuthority.load(key.read_bytes(), certificate.read_bytes())
        made = CertificateAuthority.make("Barnabas development", now=now)
        replace(key, made.key_pem.encode())
        replace(certificate, made.certificate_pem.encode(), mode=PUBLIC)
        return made

    def _find_passwords(self) -> dict[str, str]:
        path = self.directory / "passwords.json"
        if path.exists():
            found = json.loads(path.read_bytes())
            return {user: str(found[user]) for user in (NODE_USER, ADMIN)}
        # URL-safe text needs no escape in a properties file or a JAAS entry.
        made = {user: secrets.token_urlsafe(_PASSWORD_BYTES) for user in (NODE_USER, ADMIN)}
        replace(path, json.dumps(made).encode())
        return made

    def _ensure_certificate(self, path: Path, name: str, hosts: Sequence[str], now: datetime.datetime) -> None:
        if not path.exists() or not _serves(x509.load_pem_x509_certificate(path.read_bytes()), self._authority, hosts, now):
            issued = self._authority.issue(name, hosts, now=now)
            replace(path, (issued.key_pem + issued.chain_pem).encode())


def _shared(bootstrap: str) -> dict[str, str]:
    return {"bootstrap.servers": bootstrap, "security.protocol": "SASL_SSL", "sasl.mechanism": ADMIN_MECHANISM.title}


def _serves(certificate: x509.Certificate, authority: CertificateAuthority, hosts: Sequence[str], now: datetime.datetime) -> bool:
    if certificate.not_valid_after_utc - now < RENEWED_BEFORE or certificate.issuer != authority.certificate.subject:
        return False
    if not hosts:
        return True
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return set(hosts) <= {str(each.value) for each in names}
