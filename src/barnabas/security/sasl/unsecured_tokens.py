"""Tokens without a signature: Kafka's own, for development.

Anyone can make such a token, so a server that accepts it believes every name. A node does so only
when its operator sets Kafka's class for it by name (``sasl.server.callback.handler.class``).
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from barnabas.security.sasl.signing_keys import TOKEN_LENGTH_MAX, Unverified

_NONE = "none"


def unsecured_claims(token: str) -> Mapping[str, object] | Unverified:
    """The claims of a token whose algorithm is ``none`` and whose signature is empty. A signed
    token is refused: its signature could not be checked."""
    parts = token.split(".")
    if len(token) > TOKEN_LENGTH_MAX or len(parts) != 3 or parts[2]:
        return Unverified("the token is not an unsecured JWT")
    header, claims = _object(parts[0]), _object(parts[1])
    if header is None or claims is None or header.get("alg") != _NONE:
        return Unverified("the token is not an unsecured JWT")
    return claims


def make_unsecured_token(claims: Mapping[str, object]) -> str:
    return f"{_encoded({'alg': _NONE})}.{_encoded(claims)}."


def unverified_claims(token: str) -> Mapping[str, object] | None:
    """The claims of a token, its signature unchecked. For this node's own tokens, which it got from
    the provider itself; None if they are not JWTs."""
    parts = token.split(".")
    return _object(parts[1]) if len(parts) == 3 and len(token) <= TOKEN_LENGTH_MAX else None


def _object(part: str) -> dict[str, Any] | None:
    try:
        found = json.loads(base64.b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _encoded(value: Mapping[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).decode("ascii").rstrip("=")
