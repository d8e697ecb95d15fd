"""The TLS settings of one listener, or of this node's connections to others."""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from typing import Final

from barnabas.config.keys import ConfigError, Value
from barnabas.config.settings import BrokerSettings
from barnabas.model.dataclass import dataclass

PROTOCOL_VERSIONS: Final = ("TLSv1.2", "TLSv1.3")
STORE_TYPES: Final = ("JKS", "PKCS12", "PEM")


class ClientAuth(StrEnum):
    NONE = "none"
    REQUESTED = "requested"
    REQUIRED = "required"


@dataclass(frozen=True, slots=True)
class Store:
    """Keys or certificates, in a file or inline."""

    type: str
    location: str | None = None
    password: str | None = field(default=None, repr=False)
    key: str | None = field(default=None, repr=False)  # inline, PEM
    certificates: str | None = None  # inline, PEM: a chain, or those to trust

    @property
    def given(self) -> bool:
        return self.location is not None or self.key is not None or self.certificates is not None


@dataclass(frozen=True, slots=True)
class TlsSettings:
    keys: Store
    trust: Store
    key_password: str | None = field(repr=False)
    client_auth: ClientAuth
    versions: tuple[str, ...]
    cipher_suites: tuple[str, ...]
    checks_host_name: bool
    mapping_rules: str


def tls_settings(settings: BrokerSettings, listener: str) -> TlsSettings:
    """``listener`` is a name in upper case. A setting of the listener comes before one of the
    node."""
    own = settings.of_listeners.get(listener, {})

    def value(name: str) -> Value:
        return own[name] if name in own else settings[name]

    def text(name: str) -> str | None:
        found = value(name)
        return None if found is None else str(found)

    def strings(name: str) -> tuple[str, ...]:
        found = value(name)
        assert found is None or isinstance(found, tuple), name
        return found or ()

    versions = strings("ssl.enabled.protocols")
    for each in versions:
        if each not in PROTOCOL_VERSIONS:
            raise ConfigError(f"ssl.enabled.protocols has {each}, but only {' and '.join(PROTOCOL_VERSIONS)} are supported.")
    return TlsSettings(
        keys=Store(
            (text("ssl.keystore.type") or "JKS").upper(),
            text("ssl.keystore.location"),
            text("ssl.keystore.password"),
            text("ssl.keystore.key"),
            text("ssl.keystore.certificate.chain"),
        ),
        trust=Store(
            (text("ssl.truststore.type") or "JKS").upper(),
            text("ssl.truststore.location"),
            text("ssl.truststore.password"),
            None,
            text("ssl.truststore.certificates"),
        ),
        key_password=text("ssl.key.password"),
        client_auth=ClientAuth(str(value("ssl.client.auth"))),
        versions=versions or PROTOCOL_VERSIONS,
        cipher_suites=strings("ssl.cipher.suites"),
        checks_host_name=bool((text("ssl.endpoint.identification.algorithm") or "").strip()),
        mapping_rules=text("ssl.principal.mapping.rules") or "DEFAULT",
    )
