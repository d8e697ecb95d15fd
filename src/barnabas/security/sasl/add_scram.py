"""The users of ``storage format --add-scram``, in Kafka's notation:

    SCRAM-SHA-256=[name=alice,password=secret]
    SCRAM-SHA-512=[name=bob,iterations=8192,salt="base64",saltedpassword="base64"]

Values may stand in double quotes. A password cannot contain a comma. Errors name the part that is
missing or wrong and never quote the text, because it contains a password.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import field

from barnabas.model.dataclass import dataclass
from barnabas.security.sasl.scram_credentials import ITERATIONS_MAX, ITERATIONS_MIN, ScramMechanism, keys_of
from barnabas.wire.metadata_records import UserScramCredentialRecord

SALT_BYTES = 24
_MECHANISMS = {each.title: each for each in ScramMechanism}
_PARTS = ("name", "salt", "iterations", "password", "saltedpassword")


@dataclass(frozen=True, slots=True)
class ScramUserToAdd:
    mechanism: ScramMechanism
    name: str
    iterations: int
    salt: bytes | None = field(repr=False)
    password: str | None = field(repr=False)
    salted_password: bytes | None = field(repr=False)

    def record(self, random_salt: bytes) -> UserScramCredentialRecord:
        """``random_salt`` is used when the user did not give one."""
        salt = random_salt if self.salt is None else self.salt
        salted = self.salted_password
        if salted is None:
            assert self.password is not None
            salted = self.mechanism.salted(self.password, salt, self.iterations)
        keys = keys_of(self.mechanism, salted, salt, self.iterations)
        return UserScramCredentialRecord(
            name=self.name,
            mechanism=self.mechanism.number,
            salt=keys.salt,
            stored_key=keys.stored_key,
            server_key=keys.server_key,
            iterations=keys.iterations,
        )


def parse_add_scram(text: str) -> ScramUserToAdd:
    """Raises ``ValueError`` with a sentence."""
    mechanism_name, equals, rest = text.strip().partition("=")
    if not equals:
        raise ValueError("a SCRAM user is written as SCRAM-SHA-256=[name=...,password=...]")
    mechanism = _MECHANISMS.get(mechanism_name)
    if mechanism is None:
        raise ValueError(f"the mechanism must be one of {', '.join(_MECHANISMS)}")
    if not (rest.startswith("[") and rest.endswith("]")):
        raise ValueError(f"the parts of a user stand in brackets: {mechanism_name}=[name=...,password=...]")
    return _user(mechanism, _parts(rest[1:-1]))


def _parts(text: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for number, part in enumerate(text.split(","), 1):
        name, equals, value = part.partition("=")
        if not equals:
            raise ValueError(f"part {number} has no equals sign (a value cannot contain a comma)")
        if name not in _PARTS:
            raise ValueError(f"part {number} is none of {', '.join(_PARTS)}")
        quoted = len(value) >= 2 and value[0] == value[-1] == '"'
        parts[name] = value[1:-1] if quoted else value
    return parts


def _user(mechanism: ScramMechanism, parts: dict[str, str]) -> ScramUserToAdd:
    name = parts.get("name")
    if not name:
        raise ValueError("a user needs a name")
    if "password" not in parts and "saltedpassword" not in parts:
        raise ValueError("a user needs a password or a saltedpassword")
    salt = _decoded(parts, "salt")
    if "password" not in parts and salt is None:
        raise ValueError("a saltedpassword needs its salt")
    return ScramUserToAdd(
        mechanism=mechanism,
        name=name,
        iterations=_iterations(parts),
        salt=salt,
        password=parts.get("password"),
        salted_password=None if "password" in parts else _decoded(parts, "saltedpassword"),
    )


def _iterations(parts: dict[str, str]) -> int:
    text = parts.get("iterations", str(ITERATIONS_MIN))
    if not text.isdecimal() or not ITERATIONS_MIN <= int(text) <= ITERATIONS_MAX:
        raise ValueError(f"iterations must be a number from {ITERATIONS_MIN} to {ITERATIONS_MAX}")
    return int(text)


def _decoded(parts: dict[str, str], name: str) -> bytes | None:
    if name not in parts:
        return None
    try:
        return base64.b64decode(parts[name], validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"the {name} must be base64") from None
