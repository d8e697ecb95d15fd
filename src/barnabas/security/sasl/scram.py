"""SCRAM (RFC 5802, 7677): both sides prove that they know the password, and neither sends it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from hmac import compare_digest
from typing import NamedTuple

from barnabas.model.dataclass import dataclass
from barnabas.security.principal import Principal
from barnabas.security.sasl.exchange import Authenticated, Challenge, Failed, ServerRefused, Step
from barnabas.security.sasl.scram_credentials import ITERATIONS_MIN, ScramKeys, ScramMechanism, keys_of

# RFC 5802's grammar. Channel binding is not supported, as in Kafka: TLS ends in the same process.
_CLIENT_FIRST = re.compile(
    r"(?P<gs2>[ny],(?:a=(?P<authzid>(?:[^,=]|=2C|=3D)*))?,)(?P<bare>n=(?P<user>(?:[^,=]|=2C|=3D)+),r=(?P<nonce>[!-+\--~]+)(?:,(?P<extensions>.+))?)"
)
_CLIENT_FINAL = re.compile(
    r"(?P<unsigned>c=(?P<binding>[A-Za-z0-9+/=]+),r=(?P<nonce>[!-+\--~]+)(?:,[^p].*?)?),p=(?P<proof>[A-Za-z0-9+/=]+)"
)
_SERVER_FIRST = re.compile(r"(?:m=[^,]*,)?r=(?P<nonce>[!-+\--~]+),s=(?P<salt>[A-Za-z0-9+/=]+),i=(?P<iterations>\d{1,9})(?:,.*)?")
_SERVER_FINAL = re.compile(r"(?:v=(?P<signature>[A-Za-z0-9+/=]+)|e=(?P<error>[^,]*))(?:,.*)?")
_BY_TOKEN = "tokenauth=true"  # noqa: S105 - an extension, not a secret

_REFUSED = "Authentication failed during authentication due to invalid credentials with SASL mechanism {}"


class Account(NamedTuple):
    """What a server knows of the user of an exchange."""

    keys: ScramKeys
    principal: Principal
    exists: bool  # False for invented keys, which no proof may fit
    expires_ms: int | None = None


# Finds the account of a user name; the flag says that the name is the id of a delegation token.
FindAccount = Callable[[str, bool], Account]


@dataclass(slots=True)
class _Begun:
    account: Account
    header: str
    nonce: str
    transcript: str  # client-first-bare , server-first


class ScramServer:
    def __init__(self, mechanism: ScramMechanism, find: FindAccount, nonce: str) -> None:
        self._mechanism = mechanism
        self._find = find
        self._nonce = nonce
        self._begun: _Begun | None = None

    def step(self, token: bytes) -> Step:
        try:
            text = token.decode("utf-8")
        except UnicodeDecodeError:
            return self._failed("a token that is not UTF-8")
        return self._first(text) if self._begun is None else self._final(self._begun, text)

    def _first(self, text: str) -> Step:
        found = _CLIENT_FIRST.fullmatch(text)
        if found is None:
            return self._failed("a first message that is not SCRAM")
        user = _unescaped(found["user"])
        if found["authzid"] and _unescaped(found["authzid"]) != user:
            return Failed("Authentication failed: Client requested an authorization id that is different from username")
        by_token = _BY_TOKEN in (found["extensions"] or "").split(",")
        account = self._find(user, by_token)
        nonce = found["nonce"] + self._nonce
        answer = f"r={nonce},s={_base64(account.keys.salt)},i={account.keys.iterations}"
        self._begun = _Begun(account, found["gs2"], nonce, f"{found['bare']},{answer}")
        return Challenge(answer.encode())

    def _final(self, begun: _Begun, text: str) -> Step:
        found = _CLIENT_FINAL.fullmatch(text)
        if found is None:
            return self._failed("a final message that is not SCRAM")
        binding, proof = _decoded(found["binding"]), _decoded(found["proof"])
        if binding != begun.header.encode() or found["nonce"] != begun.nonce:
            return self._failed("a final message of another exchange")
        keys, mechanism = begun.account.keys, self._mechanism
        signed = f"{begun.transcript},{found['unsigned']}".encode()
        signature = mechanism.mac(keys.stored_key, signed)
        if proof is None or len(proof) != len(signature):
            return self._failed("a proof of a wrong length")
        fits = compare_digest(mechanism.hash(_xor(proof, signature)), keys.stored_key)
        if not fits or not begun.account.exists:
            return self._failed(f"a wrong user or password of {begun.account.principal.name!r}")
        token = f"v={_base64(mechanism.mac(keys.server_key, signed))}".encode()
        return Authenticated(token, begun.account.principal, begun.account.expires_ms)

    def _failed(self, reason: str) -> Failed:
        return Failed(_REFUSED.format(self._mechanism.title), reason)


class ScramClient:
    def __init__(self, mechanism: ScramMechanism, user: str, password: str, nonce: str, *, by_token: bool = False) -> None:
        """``by_token`` says that the user is the id of a delegation token, and the password its
        HMAC."""
        self._mechanism = mechanism
        self._password = password
        self._nonce = nonce
        self._bare = f"n={_escaped(user)},r={nonce}{f',{_BY_TOKEN}' if by_token else ''}"
        self._expected: bytes | None = None  # the server's signature

    def first(self) -> bytes:
        return f"n,,{self._bare}".encode()

    def step(self, token: bytes) -> bytes | None:
        text = token.decode("utf-8", "replace")
        if self._expected is None:
            return self._final(text)
        self._check(text, self._expected)
        return None

    def _final(self, text: str) -> bytes:
        found = _SERVER_FIRST.fullmatch(text)
        if found is None or not found["nonce"].startswith(self._nonce) or found["nonce"] == self._nonce:
            raise ServerRefused("the server's first message is not an answer to ours")
        iterations, salt = int(found["iterations"]), _decoded(found["salt"])
        if iterations < ITERATIONS_MIN or salt is None:
            raise ServerRefused(f"the server asks for {iterations} iterations, fewer than {ITERATIONS_MIN}")
        mechanism = self._mechanism
        salted = mechanism.salted(self._password, salt, iterations)
        keys = keys_of(mechanism, salted, salt, iterations)
        unsigned = f"c={_base64(b'n,,')},r={found['nonce']}"
        signed = f"{self._bare},{text},{unsigned}".encode()
        proof = _xor(mechanism.mac(salted, b"Client Key"), mechanism.mac(keys.stored_key, signed))
        self._expected = mechanism.mac(keys.server_key, signed)
        return f"{unsigned},p={_base64(proof)}".encode()

    def _check(self, text: str, expected: bytes) -> None:
        found = _SERVER_FINAL.fullmatch(text)
        signature = _decoded(found["signature"]) if found is not None and found["signature"] else None
        if signature is None or not compare_digest(signature, expected):
            raise ServerRefused("the server does not know the password either")


def _xor(left: bytes, right: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _decoded(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _escaped(name: str) -> str:
    return name.replace("=", "=3D").replace(",", "=2C")


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")
