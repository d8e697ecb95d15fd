"""Certificates for the tests: one authority for a session, and files for librdkafka."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from pathlib import Path

from barnabas.devcluster.certificates import CertificateAuthority, Issued

NOW = datetime.datetime.now(datetime.UTC)
HOSTS = ("localhost", "127.0.0.1")


@dataclass(frozen=True, slots=True)
class Files:
    """The authority's certificate, and a key with its certificate, in a directory."""

    directory: Path
    authority: CertificateAuthority

    @property
    def trusted(self) -> Path:
        path = self.directory / "ca.pem"
        # Brokers look at the file while tests ask for its path.
        if not path.exists():
            path.write_text(self.authority.certificate_pem)
        return path

    def store(self, issued: Issued, name: str = "node") -> Path:
        path = self.directory / f"{name}.pem"
        path.write_text(issued.key_pem + issued.chain_pem)
        return path

    def client(self, issued: Issued | None = None) -> dict[str, str]:
        """librdkafka's settings."""
        settings = {"security.protocol": "SSL", "ssl.ca.location": str(self.trusted)}
        if issued is not None:
            settings |= {"ssl.key.pem": issued.key_pem, "ssl.certificate.pem": issued.chain_pem}
        return settings


def ssl_listeners() -> dict[str, str]:
    """Every listener of a node with TLS, that of controllers too."""
    return {
        "listeners": "SSL://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "listener.security.protocol.map": "SSL:SSL,CONTROLLER:SSL",
        "security.inter.broker.protocol": "SSL",
    }


def pem_stores(files: Files, issued: Issued) -> dict[str, str]:
    return {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(files.store(issued)),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(files.trusted),
    }
