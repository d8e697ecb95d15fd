"""PLAIN: the password itself, so only for connections that TLS encrypts."""

from __future__ import annotations

from collections.abc import Callable
from hmac import compare_digest

from barnabas.security.principal import Principal
from barnabas.security.sasl.exchange import Authenticated, Failed, Step

_NUL = b"\x00"
_REFUSED = "Authentication failed: Invalid username or password"

# Whether a user has this password.
CheckPassword = Callable[[str, str], bool]


class PlainServer:
    def __init__(self, check: CheckPassword) -> None:
        self._check = check

    def step(self, token: bytes) -> Step:
        parts = token.split(_NUL)
        if len(parts) != 3:
            return Failed(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        try:
            authorization_id, user, password = (each.decode("utf-8") for each in parts)
        except UnicodeDecodeError:
            return Failed("Invalid SASL/PLAIN response: it is not UTF-8")
        if not user:
            return Failed("Authentication failed: username not specified")
        if not password:
            return Failed("Authentication failed: password not specified")
        if not self._check(user, password):
            return Failed(_REFUSED, f"wrong user or password of {user!r}")
        if authorization_id not in ("", user):
            return Failed("Authentication failed: Client requested an authorization id that is different from username")
        return Authenticated(b"", Principal("User", user))


class PlainUsers:
    """The users of a JAAS configuration: ``user_NAME="PASSWORD"``."""

    def __init__(self, passwords: dict[str, str]) -> None:
        self._passwords = {name: password.encode() for name, password in passwords.items()}

    def check(self, user: str, password: str) -> bool:
        """Takes the same time for an unknown user as for a wrong password."""
        known = self._passwords.get(user)
        same = compare_digest(known if known is not None else b"\x00", password.encode())
        return same and known is not None


class PlainClient:
    def __init__(self, user: str, password: str) -> None:
        self._token = _NUL.join((b"", user.encode(), password.encode()))

    def first(self) -> bytes:
        return self._token

    def step(self, token: bytes) -> bytes | None:
        return None
