"""The keys that a SCRAM server stores instead of a password (RFC 5802)."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import field
from enum import Enum

from barnabas.model.dataclass import dataclass

ITERATIONS_MIN = 4096
ITERATIONS_MAX = 16384
# Of the salts that are made here.
SALT_BYTES = 32


class ScramMechanism(Enum):
    """The numbers are Kafka's, in requests and in the metadata log."""

    SHA_256 = (1, "SCRAM-SHA-256", "sha256")
    SHA_512 = (2, "SCRAM-SHA-512", "sha512")

    def __init__(self, number: int, title: str, digest: str) -> None:
        self.number = number
        self.title = title
        self.digest = digest

    def hash(self, data: bytes) -> bytes:
        return hashlib.new(self.digest, data).digest()

    def mac(self, key: bytes, data: bytes) -> bytes:
        return hmac.digest(key, data, self.digest)

    def salted(self, password: str, salt: bytes, iterations: int) -> bytes:
        """The result that a client sends to AlterUserScramCredentials. Slow by intention."""
        return hashlib.pbkdf2_hmac(self.digest, password.encode("utf-8"), salt, iterations)


@dataclass(frozen=True, slots=True)
class ScramKeys:
    salt: bytes = field(repr=False)
    stored_key: bytes = field(repr=False)
    server_key: bytes = field(repr=False)
    iterations: int


def keys_of(mechanism: ScramMechanism, salted_password: bytes, salt: bytes, iterations: int) -> ScramKeys:
    client_key = mechanism.mac(salted_password, b"Client Key")
    return ScramKeys(salt, mechanism.hash(client_key), mechanism.mac(salted_password, b"Server Key"), iterations)


def invented_keys(mechanism: ScramMechanism, secret: bytes, user: str, like: ScramKeys | None = None) -> ScramKeys:
    """Keys for a user that does not exist: always the same ones, and no password fits them.

    The exchange with an unknown user then looks and lasts like one with a wrong password. Kafka
    answers an unknown user at once, which tells an attacker which users exist. The salt and the
    iterations resemble those of ``like``, a user that exists.
    """
    salt, stored, server = (mechanism.mac(secret, label + user.encode()) for label in (b"salt:", b"stored:", b"server:"))
    if like is None:
        return ScramKeys(salt[:SALT_BYTES], stored, server, ITERATIONS_MIN)
    # One hash is long enough for the salts that clients make; a longer one is filled up.
    longer = salt * (len(like.salt) // len(salt) + 1)
    return ScramKeys(longer[: len(like.salt)], stored, server, like.iterations)
