"""TLS of the client: trusted authorities, and the certificate that it shows."""

from __future__ import annotations

import ssl
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12KeyAndCertificates, load_pkcs12

from barnabas.registry_client.errors import RegistrySettingsRefused
from barnabas.registry_client.settings import RegistrySettings

_PKCS12_SUFFIXES: Final = (".p12", ".pfx", ".pkcs12")


def tls_context(settings: RegistrySettings) -> ssl.SSLContext:
    """Raises :class:`RegistrySettingsRefused` for a file that cannot be used."""
    context = ssl.create_default_context()
    context.check_hostname = settings.checks_names
    if settings.trusted is not None:
        _trust(context, settings.trusted, settings.trusted_password)
    if settings.keystore is not None:
        _show_store(context, settings.keystore, settings.keystore_password, settings.key_password)
    elif settings.certificate is not None:
        _show(context, settings.certificate, settings.key, settings.key_password)
    return context


def _trust(context: ssl.SSLContext, path: str, password: str | None) -> None:
    try:
        if path.endswith(_PKCS12_SUFFIXES):
            store = _pkcs12(path, password)
            certificates = [*([store.cert] if store.cert is not None else []), *store.additional_certs]
            context.load_verify_locations(cadata="\n".join(each.certificate.public_bytes(Encoding.PEM).decode() for each in certificates))
        else:
            context.load_verify_locations(cafile=path)
    except (OSError, ValueError) as error:
        raise _unusable(path, error) from error


def _show(context: ssl.SSLContext, certificate: str, key: str | None, password: str | None) -> None:
    try:
        context.load_cert_chain(certificate, key, password)
    except (OSError, ValueError) as error:
        raise _unusable(certificate, error) from error


def _show_store(context: ssl.SSLContext, path: str, password: str | None, key_password: str | None) -> None:
    if not path.endswith(_PKCS12_SUFFIXES):
        _show(context, path, None, key_password or password)
        return
    try:
        store = _pkcs12(path, password)
    except (OSError, ValueError) as error:
        raise _unusable(path, error) from error
    if store.key is None or store.cert is None:
        raise RegistrySettingsRefused(f"{path} has no certificate with a key.")
    # Python takes certificates only from files.
    with TemporaryDirectory(prefix="barnabas-tls-") as directory:
        file = Path(directory) / "store.pem"
        file.touch(mode=0o600)
        file.write_bytes(
            store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
            + b"".join(each.certificate.public_bytes(Encoding.PEM) for each in (store.cert, *store.additional_certs))
        )
        context.load_cert_chain(file)


def _pkcs12(path: str, password: str | None) -> PKCS12KeyAndCertificates:
    return load_pkcs12(Path(path).read_bytes(), password.encode() if password is not None else None)


def _unusable(path: str, error: Exception) -> RegistrySettingsRefused:
    reason = (error.strerror if isinstance(error, OSError) else None) or "it is no PEM file, or the password is another one"
    if path.endswith(".jks"):
        reason = "JKS files are not supported; convert it to PKCS12"
    return RegistrySettingsRefused(f"{path}: {reason}.")
