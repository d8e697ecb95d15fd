"""The TLS context of requests of our own, by the properties that librdkafka takes.

Stores are read as a node reads its own, so that the same files work on both sides.
"""

from __future__ import annotations

import os
import ssl
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from barnabas.config.tls import Store
from barnabas.direct_requests.errors import RequestRefused
from barnabas.network.tls.stores import StoreUnreadable, read_identity, read_trusted

_NOTHING = Store("PEM")


def tls_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    verifies = properties.get("enable.ssl.certificate.verification", "true").lower() != "false"
    checks_host = properties.get("ssl.endpoint.identification.algorithm", "https").lower() != "none"
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = verifies and checks_host
    context.verify_mode = ssl.CERT_REQUIRED if verifies else ssl.CERT_NONE
    try:
        _load_trusted(context, properties.get("ssl.ca.location"), properties.get("ssl.ca.pem"))
        identity = read_identity(_identity(properties), properties.get("ssl.key.password"))
        if identity is not None:
            with _file_of(identity.key + identity.chain) as path:
                context.load_cert_chain(path)
    except StoreUnreadable as unreadable:
        raise RequestRefused(str(unreadable)) from unreadable
    except OSError as error:
        raise RequestRefused(f"The certificates cannot be read: {error.strerror or error}.") from error
    return context


def _load_trusted(context: ssl.SSLContext, place: str | None, inline: str | None) -> None:
    if inline is not None:
        context.load_verify_locations(cadata=read_trusted(Store("PEM", certificates=inline)))
    elif place is None or place == "probe":
        # librdkafka looks for the system's certificates when it gets this word; Python always does.
        context.load_default_certs()
    elif os.path.isdir(place):
        context.load_verify_locations(capath=place)
    else:
        context.load_verify_locations(cadata=read_trusted(Store("PEM", place)))


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
        raise RequestRefused(f"{location}: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise RequestRefused(f"{location} is not a PEM file.") from error


@contextmanager
def _file_of(data: bytes) -> Iterator[str]:
    """A path for OpenSSL, which reads keys from files alone. On Linux the file is in memory, where
    no other process finds it; elsewhere only its owner can read it, and it is removed at once."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("barnabas-client-key", os.MFD_CLOEXEC)
        path = f"/proc/self/fd/{descriptor}"
    else:
        descriptor, path = tempfile.mkstemp()
    try:
        os.write(descriptor, data)
        yield path
    finally:
        os.close(descriptor)
        if not path.startswith("/proc/"):
            os.unlink(path)
