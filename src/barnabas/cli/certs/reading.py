"""The certificates in a file, for people and programs."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import pkcs12

from barnabas.cli.errors import Refused
from barnabas.network.tls.subjects import name_text

FILE_BYTES_MAX = 16 * 1024 * 1024  # as a node reads at most
SOON = datetime.timedelta(days=30)


class Shown(NamedTuple):
    subject: str
    issuer: str
    hosts: list[str]
    valid_from: str
    valid_until: str
    state: str
    authority: bool
    serial: str
    sha256: str


def read_certificates(path: Path, password: str | None) -> list[Shown]:
    try:
        with path.open("rb") as file:
            data = file.read(FILE_BYTES_MAX)
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from error
    try:
        if b"-----BEGIN " in data:
            found = x509.load_pem_x509_certificates(data)
        else:
            _, own, others = pkcs12.load_key_and_certificates(data, password.encode() if password is not None else None)
            found = [*([own] if own is not None else []), *others]
    except ValueError as error:
        wanted = "the password opens" if password is not None else "opens without --password-file"
        raise Refused(f"{path} has no certificate in PEM, and is not a PKCS12 store that {wanted}.") from error
    now = datetime.datetime.now(datetime.UTC)
    return [_shown(each, now) for each in found]


def _shown(certificate: x509.Certificate, now: datetime.datetime) -> Shown:
    return Shown(
        subject=name_text(certificate.subject),
        issuer=name_text(certificate.issuer),
        hosts=_hosts(certificate),
        valid_from=certificate.not_valid_before_utc.isoformat(),
        valid_until=certificate.not_valid_after_utc.isoformat(),
        state=_state(certificate, now),
        authority=_is_authority(certificate),
        serial=f"{certificate.serial_number:x}",
        sha256=certificate.fingerprint(hashes.SHA256()).hex(),
    )


def _state(certificate: x509.Certificate, now: datetime.datetime) -> str:
    if now < certificate.not_valid_before_utc:
        return "not valid yet"
    left = certificate.not_valid_after_utc - now
    if left <= datetime.timedelta(0):
        return "expired"
    return f"expires in {left.days} days" if left < SOON else "valid"


def _hosts(certificate: x509.Certificate) -> list[str]:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return []
    return [str(each.value) for each in names]


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False
