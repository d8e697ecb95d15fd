"""The TLS context of requests of our own, by the properties that librdkafka takes.

Stores are read as a node reads its own, so that the same files work on both sides.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path

from barnabas.cli.errors import Refused
from barnabas.config.tls import PROTOCOL_VERSIONS, ClientAuth, Store, TlsSettings
from barnabas.network.tls.contexts import client_context
from barnabas.network.tls.stores import StoreUnreadable

_NOTHING = Store("PEM")


def tls_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    verifies = properties.get("enable.ssl.certificate.verification", "true").lower() != "false"
    place = properties.get("ssl.ca.location")
    is_directory = place is not None and os.path.isdir(place)
    settings = TlsSettings(
        keys=_identity(properties),
        trust=_NOTHING if is_directory else _trusted(place, properties.get("ssl.ca.pem")),
        key_password=properties.get("ssl.key.password"),
        client_auth=ClientAuth.NONE,
        versions=PROTOCOL_VERSIONS,
        cipher_suites=(),
        checks_host_name=verifies and properties.get("ssl.endpoint.identification.algorithm", "https").lower() != "none",
        mapping_rules="",
    )
    try:
        context = client_context(settings)
        if is_directory:
            context.load_verify_locations(capath=place)
    except StoreUnreadable as unreadable:
        raise Refused(str(unreadable)) from unreadable
    except OSError as error:
        raise Refused(f"The certificates cannot be read: {error.strerror or error}.") from error
    if not verifies:
        context.verify_mode = ssl.CERT_NONE
    return context


def _trusted(place: str | None, inline: str | None) -> Store:
    if inline is not None:
        return Store("PEM", certificates=inline)
    # librdkafka looks for the system's certificates when it gets this word; Python always does.
    return _NOTHING if place in (None, "probe") else Store("PEM", place)


def _identity(properties: Mapping[str, str]) -> Store:
    if (location := properties.get("ssl.keystore.location")) is not None:
        return Store("PKCS12", location, properties.get("ssl.keystore.password"))
    certificate = _text(properties, "ssl.certificate")
    return _NOTHING if certificate is None else Store("PEM", key=_text(properties, "ssl.key"), certificates=certificate)


def _text(properties: Mapping[str, str], name: str) -> str | None:
    if (inline := properties.get(f"{name}.pem")) is not None:
        return inline
    location = properties.get(f"{name}.location")
    try:
        return None if location is None else Path(location).read_text("ascii")
    except OSError as error:
        raise Refused(f"{location}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise Refused(f"{location} is not a PEM file.") from error
