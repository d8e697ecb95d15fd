"""Writes the keys and certificates of an authority. No file is ever overwritten: a lost key cannot
be made again."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from pathlib import Path

from barnabas.cli.errors import Refused
from barnabas.devcluster.certificates import CertificateAuthority
from barnabas.devcluster.private_files import PRIVATE, PUBLIC, make_private_directory, write_new

_KEY, _CERTIFICATE = "ca-key.pem", "ca.pem"
# Names of files that need no quotes in a shell, and cannot leave the directory.
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def make_authority(directory: Path, name: str, days: int) -> list[Path]:
    made = CertificateAuthority.make(name, now=_now(), days=days)
    try:
        make_private_directory(directory)
    except OSError as error:
        raise Refused(f"{directory} cannot be made: {error.strerror}.") from error
    return _write(directory, {_KEY: (made.key_pem.encode(), PRIVATE), _CERTIFICATE: (made.certificate_pem.encode(), PUBLIC)})


def issue(directory: Path, name: str, *, hosts: Sequence[str], days: int, pkcs12_password: str | None = None) -> list[Path]:
    if _FILE_NAME.fullmatch(name) is None or name in ("ca", "ca-key"):
        raise Refused(f"{name!r} cannot be the name of a file: use letters, digits, dots, dashes and underscores, and not ca or ca-key.")
    authority = _read_authority(directory)
    try:
        issued = authority.issue(name, hosts, now=_now(), days=days)
    except ValueError as error:
        raise Refused(f"A certificate cannot be made for these names: {error}.") from error
    if pkcs12_password is not None:
        return _write(directory, {f"{name}.p12": (issued.pkcs12(pkcs12_password), PRIVATE)})
    return _write(directory, {f"{name}.pem": ((issued.key_pem + issued.chain_pem).encode(), PRIVATE)})


def read_password(path: Path) -> str:
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"The password cannot be read from {path}: {getattr(error, 'strerror', None) or 'it is not UTF-8'}.") from error
    if not lines or not lines[0]:
        raise Refused(f"The first line of {path} is empty, so there is no password.")
    return lines[0]


def _read_authority(directory: Path) -> CertificateAuthority:
    try:
        return CertificateAuthority.load((directory / _KEY).read_bytes(), (directory / _CERTIFICATE).read_bytes())
    except FileNotFoundError as error:
        raise Refused(f"{directory} has no certificate authority; `barnabas certs ca {directory}` makes one.") from error
    except OSError as error:
        raise Refused(f"{error.filename} cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError) as error:
        raise Refused(f"The certificate authority in {directory} cannot be used: {error}.") from error


def _write(directory: Path, files: dict[str, tuple[bytes, int]]) -> list[Path]:
    paths = {directory / name: content for name, content in files.items()}
    present = next((path for path in paths if path.exists()), None)
    if present is not None:
        raise Refused(f"{present} exists already. Remove it first if it is no longer needed.")
    try:
        for path, (data, mode) in paths.items():
            write_new(path, data, mode=mode)
    except OSError as error:
        raise Refused(f"{error.filename or directory} cannot be written: {error.strerror}.") from error
    return list(paths)


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
