"""A private certificate authority, for development and tests.

It signs certificates for nodes and clients. Keys are on the curve P-256: they are made in a
millisecond, and every client of Kafka accepts them.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

AUTHORITY_DAYS = 3650
CERTIFICATE_DAYS = 825  # the most that Apple's clients accept
# Clocks of two machines differ.
_BEFORE = datetime.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Issued:
    """A private key and the certificate for it."""

    private_key: ec.EllipticCurvePrivateKey = field(repr=False)
    certificate: x509.Certificate
    authority: x509.Certificate

    @property
    def key_pem(self) -> str:
        return self._key_pem(serialization.NoEncryption())

    def encrypted_key_pem(self, password: str) -> str:
        return self._key_pem(serialization.BestAvailableEncryption(password.encode()))

    @property
    def chain_pem(self) -> str:
        return _pem(self.certificate)

    def pkcs12(self, password: str) -> bytes:
        """A store for Java: the key, its certificate, and the authority's."""
        encryption = serialization.BestAvailableEncryption(password.encode())
        return pkcs12.serialize_key_and_certificates(b"barnabas", self.private_key, self.certificate, [self.authority], encryption)

    def _key_pem(self, encryption: serialization.KeySerializationEncryption) -> str:
        return self.private_key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption).decode("ascii")


class CertificateAuthority:
    def __init__(self, key: ec.EllipticCurvePrivateKey, certificate: x509.Certificate) -> None:
        self._key = key
        self.certificate = certificate

    @classmethod
    def make(cls, name: str, *, now: datetime.datetime, days: float = AUTHORITY_DAYS) -> CertificateAuthority:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = _name(name)
        usage = x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=True,
            crl_sign=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )
        builder = _builder(subject, subject, key, now, days)
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        builder = builder.add_extension(usage, critical=True)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        return cls(key, builder.sign(key, hashes.SHA256()))

    @classmethod
    def load(cls, key_pem: bytes, certificate_pem: bytes) -> CertificateAuthority:
        """Raises ``ValueError`` for text that is not such a key or certificate."""
        key = serialization.load_pem_private_key(key_pem, None)
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError("the authority's key is not one that barnabas made")
        return cls(key, x509.load_pem_x509_certificate(certificate_pem))

    @property
    def key_pem(self) -> str:
        return Issued(self._key, self.certificate, self.certificate).key_pem

    @property
    def certificate_pem(self) -> str:
        return _pem(self.certificate)

    def issue(
        self, name: str, hosts: Iterable[str] = (), *, now: datetime.datetime, days: float = CERTIFICATE_DAYS, organization: str = ""
    ) -> Issued:
        """A certificate for both ends of a connection: nodes also connect to each other. ``hosts``
        are names and addresses under which a node is reached; a client needs none."""
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(name, organization), self.certificate.subject, key, now, days)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        usages = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = builder.add_extension(usages, critical=False)
        identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        builder = builder.add_extension(identifier, critical=False)
        reached = [_host(each) for each in hosts]
        if reached:
            builder = builder.add_extension(x509.SubjectAlternativeName(reached), critical=False)
        return Issued(key, builder.sign(self._key, hashes.SHA256()), self.certificate)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime.datetime, days: float
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _BEFORE if days > 0 else now + datetime.timedelta(days=days) - _BEFORE)
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _name(common_name: str, organization: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _host(text: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(text))
    except ValueError:
        return x509.DNSName(text)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")
