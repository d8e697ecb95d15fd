"""Servers of their own for the rows over TLS, because the long-running ones have none.

Both systems get the same certificate and the same settings: a key on P-256, TLS 1.3, and PLAIN for
the login.
"""

from __future__ import annotations

import datetime
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.systems import Server, System

PROTOCOLS = ("SSL", "SASL_SSL")
ADMIN, USER, PASSWORD = "admin", "bench", "bench-password"
_JAAS = (
    f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{ADMIN}" password="{PASSWORD}" '
    f'user_{ADMIN}="{PASSWORD}" user_{USER}="{PASSWORD}";'
)
# Nodes reach the controller without a login here.
_ACLS_ON = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": f"User:{ADMIN};User:ANONYMOUS",
}


@contextmanager
def secured_server(system: System, protocol: str, *, acls: bool = False) -> Iterator[Server]:
    """With a login its clients are the administrator, who may do everything; with ``acls`` others
    may do nothing."""
    # Only these rows need the library for certificates.
    from barnabas.devcluster.certificates import CertificateAuthority

    now = datetime.datetime.now(datetime.UTC)
    authority = CertificateAuthority.make("bench", now=now)
    issued = authority.issue("node", ["localhost", "127.0.0.1"], now=now)
    with tempfile.TemporaryDirectory(prefix="bench-tls-") as directory:
        keys, trusted = Path(directory, "node.pem"), Path(directory, "ca.pem")
        keys.write_text(issued.key_pem + issued.chain_pem)
        trusted.write_text(authority.certificate_pem)
        settings = {
            "listener.security.protocol.map": f"PLAINTEXT:{protocol},CONTROLLER:PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keys),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(trusted),
            **(_ACLS_ON if acls else {}),
        }
        client = {"security.protocol": protocol, "ssl.ca.location": str(trusted)}
        if protocol == "SASL_SSL":
            settings |= {
                "sasl.enabled.mechanisms": "PLAIN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "listener.name.plaintext.plain.sasl.jaas.config": _JAAS,
            }
            client |= {"sasl.mechanism": "PLAIN", "sasl.username": ADMIN, "sasl.password": PASSWORD}
        with system.fresh_server(settings) as server:
            server.client = client
            server.await_port()
            yield server
