"""OAUTHBEARER (RFC 7628): a token of an identity provider instead of a password.

A token that is refused does not end the exchange at once: the server answers with a JSON document,
the client acknowledges it with one byte, and only then the server reports the failure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping

from barnabas.model.dataclass import dataclass
from barnabas.security.principal import Principal
from barnabas.security.sasl.exchange import Authenticated, Challenge, Failed, ServerRefused, Step

_END = "\x01"
_FIRST = re.compile(
    r"n,(?:a=(?P<authzid>(?:[\x01-\x2b\x2d-\x3c\x3e-\x7f]|=2C|=3D)+))?,\x01(?P<pairs>(?:[A-Za-z]+=[\x21-\x7e \t\r\n]+\x01)*)\x01"
)
_BEARER = re.compile(r"(?P<scheme>\w+) +(?P<token>[-_~+/.a-zA-Z0-9]+=*)")
_EXTENSION_NAME = re.compile(r"[A-Za-z]+")
_EXTENSION_VALUE = re.compile(r"[\x21-\x7e \t\r\n]+")
# RFC 7628: the client's answer to a server that refused its token.
ACKNOWLEDGEMENT = b"\x01"
_MALFORMED = "Invalid OAUTHBEARER client first message"


@dataclass(frozen=True, slots=True)
class BearerToken:
    """A token that was verified."""

    name: str
    expires_ms: int


@dataclass(frozen=True, slots=True)
class TokenRefused:
    reason: str  # for the log of this server
    status: str = "invalid_token"


VerifyToken = Callable[[str], BearerToken | TokenRefused]


class OAuthBearerServer:
    def __init__(self, verify: VerifyToken) -> None:
        self._verify = verify
        self._refusal: tuple[str, str] | None = None

    def step(self, token: bytes) -> Step:
        if token == ACKNOWLEDGEMENT and self._refusal is not None:
            return Failed(*self._refusal)
        try:
            found = _FIRST.fullmatch(token.decode("utf-8"))
        except UnicodeDecodeError:
            found = None
        if found is None:
            return Failed(_MALFORMED)
        pairs = dict(each.split("=", 1) for each in found["pairs"].split(_END)[:-1])
        bearer = _BEARER.fullmatch(pairs.get("auth", ""))
        if bearer is None or bearer["scheme"].lower() != "bearer":
            return Failed(f"{_MALFORMED}: it has no bearer token")
        verified = self._verify(bearer["token"])
        if isinstance(verified, TokenRefused):
            document = json.dumps({"status": verified.status}, separators=(",", ":"))
            self._refusal = (document, verified.reason)
            return Challenge(document.encode())
        if found["authzid"] and found["authzid"] != verified.name:
            return Failed("Authentication failed: Client requested an authorization id that is different from the token's principal name")
        return Authenticated(b"", Principal("User", verified.name), verified.expires_ms)


class OAuthBearerClient:
    def __init__(self, token: str, extensions: Mapping[str, str] | None = None) -> None:
        pairs = {"auth": f"Bearer {token}", **(extensions or {})}
        for name, value in pairs.items():
            if not _EXTENSION_NAME.fullmatch(name) or not _EXTENSION_VALUE.fullmatch(value):
                raise ValueError(f"the extension {name!r} has a name or value that OAUTHBEARER cannot carry")
        self._first = "n,," + _END + "".join(f"{name}={value}{_END}" for name, value in pairs.items()) + _END
        self._refused: str | None = None

    def first(self) -> bytes:
        return self._first.encode()

    def step(self, token: bytes) -> bytes | None:
        if not token:
            return None
        if self._refused is not None:
            raise ServerRefused(f"the server refused the token: {self._refused}")
        self._refused = token.decode("utf-8", "replace")
        return ACKNOWLEDGEMENT
