"""How clients reach a cluster: its addresses, and the password and certificates for SASL_SSL.

Every client of these tests takes its connection settings from here, so that a test of a plaintext
cluster runs in a secured one too. Requests that the test itself sends, to look at the cluster, are
those of a super user.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.scenarios.client import Client

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


@dataclass(frozen=True)
class Login:
    user: str
    password: str
    mechanism: str = "PLAIN"


@dataclass(frozen=True)
class Security:
    """SASL_SSL. ``trusted`` are the certificates of authorities, and ``client`` is the user of the
    clients under test; ``admin`` is a super user, with PLAIN."""

    trusted: Path
    client: Login
    admin: Login

    @property
    def librdkafka(self) -> dict[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.trusted),
            "sasl.mechanism": self.client.mechanism,
            "sasl.username": self.client.user,
            "sasl.password": self.client.password,
        }

    @property
    def java(self) -> dict[str, str]:
        login = self.client
        return {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.trusted),
            "sasl.mechanism": login.mechanism,
            "sasl.jaas.config": f'{_MODULES[login.mechanism]} required username="{login.user}" password="{login.password}";',
        }

    def connect(self, address: str, timeout: float) -> Client:
        client = Client(address, timeout=timeout, tls=ssl.create_default_context(cafile=str(self.trusted)))
        try:
            client.log_in(self.admin.user, self.admin.password)
        except BaseException:
            client.close()
            raise
        return client


@dataclass(frozen=True)
class Access:
    bootstrap: str
    security: Security | None = None

    @cached_property
    def librdkafka(self) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap, **(self.security.librdkafka if self.security is not None else {})}

    @property
    def java(self) -> dict[str, str]:
        """Without the addresses."""
        return self.security.java if self.security is not None else {}

    @property
    def as_admin(self) -> Access:
        return self if self.security is None else replace(self, security=replace(self.security, client=self.security.admin))

    def connect(self, address: str, timeout: float) -> Client:
        """Raises ``OSError``."""
        return Client(address, timeout=timeout) if self.security is None else self.security.connect(address, timeout)
