"""Private keys and certificates, from files or from settings, as PEM.

The type of a store is a setting, but files are recognised by their first bytes: since Java 9 a
store that is called JKS usually is PKCS12, and Java reads both under either name.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509 import Certificate, load_pem_x509_certificates

from barnabas.config.tls import Store, TlsSettings
from barnabas.model.dataclass import dataclass

# Far more than any store of a node; a device or a log given by mistake ends here.
STORE_BYTES_MAX = 16 * 1024 * 1024
_JKS_MAGIC = b"\xfe\xed\xfe\xed"
_DER_SEQUENCE = b"\x30"


class StoreUnreadable(Exception):
    """The text is one sentence for the user. It contains no secret."""


@dataclass(frozen=True, slots=True)
class Identity:
    """A private key and its certificate chain, as PEM without a password."""

    key: bytes = field(repr=False)
    chain: bytes
    certificate: Certificate


@dataclass(frozen=True, slots=True)
class Stores:
    """The content of a key store and of a trust store, as it was when they were read."""

    identity: Identity | None
    trusted: str | None


def read_stores(tls: TlsSettings) -> Stores:
    """Raises :class:`StoreUnreadable`."""
    return Stores(read_identity(tls.keys, tls.key_password), read_trusted(tls.trust))


def read_identity(store: Store, key_password: str | None) -> Identity | None:
    """None if there is no key store. Raises :class:`StoreUnreadable`."""
    if not store.given:
        return None
    if store.key is not None or store.certificates is not None:
        if store.key is None or store.certificates is None:
            raise StoreUnreadable("ssl.keystore.key and ssl.keystore.certificate.chain go together, and one of them is missing.")
        return _identity_of_pem(store.key.encode(), store.certificates.encode(), key_password, "ssl.keystore.key")
    data, place = _read(store)
    if _is_pem(data):
        if store.password is not None:
            raise StoreUnreadable("ssl.keystore.password does not apply to PEM; the password of the key is ssl.key.password.")
        return _identity_of_pem(data, data, key_password, place)
    key, certificate, others = _pkcs12(data, store.password, place)
    if key is None or certificate is None:
        raise StoreUnreadable(f"{place} has no private key with a certificate.")
    chain = b"".join(each.public_bytes(serialization.Encoding.PEM) for each in (certificate, *others))
    return Identity(_plain(key), chain, certificate)


def read_trusted(store: Store) -> str | None:
    """The certificates to trust, as PEM; None if there is no trust store, which means the
    system's."""
    if not store.given:
        return None
    if store.certificates is not None:
        data, place = store.certificates.encode(), "ssl.truststore.certificates"
    else:
        data, place = _read(store)
    if _is_pem(data):
        if store.password is not None:
            raise StoreUnreadable("ssl.truststore.password does not apply to PEM.")
        return "".join(_pem(each) for each in _certificates(data, place))
    _, certificate, others = _pkcs12(data, store.password, place)
    trusted = [*([certificate] if certificate is not None else []), *others]
    if not trusted:
        raise StoreUnreadable(f"{place} has no certificates.")
    return "".join(_pem(each) for each in trusted)


def _read(store: Store) -> tuple[bytes, str]:
    assert store.location is not None
    place = store.location
    try:
        with Path(place).open("rb") as file:
            data = file.read(STORE_BYTES_MAX + 1)
    except OSError as error:
        raise StoreUnreadable(f"{place}: {error.strerror}.") from error
    if len(data) > STORE_BYTES_MAX:
        raise StoreUnreadable(f"{place} has more than {STORE_BYTES_MAX} bytes, so it is not a store of keys.")
    if data.startswith(_JKS_MAGIC):
        raise StoreUnreadable(
            f"{place} is a JKS store, which only Java can read. Convert it: "
            f"keytool -importkeystore -srckeystore {place} -destkeystore {Path(place).with_suffix('.p12').name} -deststoretype PKCS12"
        )
    return data, place


def _is_pem(data: bytes) -> bool:
    return b"-----BEGIN " in data and not data.startswith(_DER_SEQUENCE)


def _identity_of_pem(keys: bytes, chain: bytes, password: str | None, place: str) -> Identity:
    try:
        key = serialization.load_pem_private_key(keys, password.encode() if password is not None else None)
    except (ValueError, TypeError) as error:
        raise StoreUnreadable(f"The private key in {place} cannot be read: {_reason(error, password)}.") from error
    certificates = _certificates(chain, place)
    if certificates[0].public_key() != key.public_key():
        raise StoreUnreadable(f"The private key in {place} does not belong to the first certificate.")
    return Identity(_plain(key), "".join(_pem(each) for each in certificates).encode(), certificates[0])


def _reason(error: Exception, password: str | None) -> str:
    if isinstance(error, TypeError):
        return (
            "it is encrypted, and ssl.key.password is not set" if password is None else "it is not encrypted, but ssl.key.password is set"
        )
    return "ssl.key.password is wrong" if password is not None else "it is not a PKCS#8 private key in PEM"


def _certificates(data: bytes, place: str) -> list[Certificate]:
    try:
        return load_pem_x509_certificates(data)
    except ValueError as error:
        raise StoreUnreadable(f"{place} has no certificate in PEM that can be read.") from error


def _pkcs12(data: bytes, password: str | None, place: str) -> tuple[PrivateKeyTypes | None, Certificate | None, list[Certificate]]:
    try:
        return pkcs12.load_key_and_certificates(data, password.encode() if password is not None else None)
    except ValueError as error:
        raise StoreUnreadable(f"{place} is neither PEM nor a PKCS12 store that its password opens.") from error


def _plain(key: PrivateKeyTypes) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def _pem(certificate: Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")
