"""The authorization code flow with PKCE: addresses, bodies and checks of OpenID Connect. Pure."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from barnabas.console.errors import ClusterRefused, Forbidden
from barnabas.console.settings import OidcSettings

# Clocks of two machines differ by less.
LEEWAY_SECONDS: Final = 60
# Longer than a request of the console takes, and much shorter than tokens live.
REFRESH_BEFORE_SECONDS: Final = 30


@dataclass(frozen=True, slots=True)
class Endpoints:
    authorization: str
    token: str
    keys: str


def read_endpoints(document: bytes, issuer: str) -> Endpoints:
    """From the provider's own description, which must be of the issuer that was asked."""
    found = _object(document)
    if str(found.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
        raise ClusterRefused("The identity provider describes another issuer.")
    names = ("authorization_endpoint", "token_endpoint", "jwks_uri")
    addresses = [str(found.get(name, "")) for name in names]
    if not all(each.startswith(("https://", "http://")) for each in addresses):
        raise ClusterRefused("The description of the identity provider lacks an address.")
    return Endpoints(*addresses)


def authorization_address(settings: OidcSettings, endpoints: Endpoints, *, state: str, nonce: str, verifier: str) -> str:
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code",
        "client_id": settings.client_id,
        "redirect_uri": settings.redirect_url,
        "scope": " ".join(settings.scopes),
        "state": state,
        "nonce": nonce,
        "code_challenge": challenge,
        "code_challenge_method": "S256",
        **({"audience": settings.audience} if settings.audience is not None else {}),
    }
    return f"{endpoints.authorization}{'&' if '?' in endpoints.authorization else '?'}{urlencode(query)}"


def token_body(settings: OidcSettings, code: str, verifier: str) -> bytes:
    return urlencode(
        {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": settings.redirect_url,
            "client_id": settings.client_id,
            "code_verifier": verifier,
        }
    ).encode()


def refresh_body(settings: OidcSettings, refresh_token: str) -> bytes:
    return urlencode({"grant_type": "refresh_token", "refresh_token": refresh_token, "client_id": settings.client_id}).encode()


def client_authorization(settings: OidcSettings) -> dict[str, str]:
    pair = f"{settings.client_id}:{settings.client_secret}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode()}", "Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, slots=True)
class Tokens:
    access: str
    identity: str | None
    refresh: str | None
    expires_seconds: float | None
    """From now on, if the provider tells it."""


def read_tokens(document: bytes) -> Tokens:
    """The answer of the token endpoint, to a code or to a refresh token."""
    found = _object(document)
    access, lifetime = found.get("access_token"), found.get("expires_in")
    if not isinstance(access, str):
        raise ClusterRefused("The identity provider answers without tokens.")
    identity, refresh = (found.get(name) if isinstance(found.get(name), str) else None for name in ("id_token", "refresh_token"))
    return Tokens(access, identity, refresh, float(lifetime) if isinstance(lifetime, int | float) else None)


def end_of(tokens: Tokens, now: float) -> float | None:
    """When the access token ends: as it says itself, or as the provider said beside it."""
    said = None if tokens.expires_seconds is None else now + tokens.expires_seconds
    return expiry_of(tokens.access) or said


def is_due(expires: float | None, now: float) -> bool:
    """Whether a token is renewed now: before it ends, so that no request carries one that ends on
    its way."""
    return expires is not None and expires - REFRESH_BEFORE_SECONDS <= now


def check_claims(claims: Mapping[str, Any], settings: OidcSettings, nonce: str | None, now: float) -> str:
    """The name of the person in an ID token whose signature is good. An ID token of a refresh has
    no nonce, so None checks none."""
    audience = claims.get("aud")
    audiences = audience if isinstance(audience, list) else [audience]
    expires = claims.get("exp")
    if str(claims.get("iss", "")).rstrip("/") != settings.issuer.rstrip("/"):
        raise Forbidden("The ID token is of another issuer.")
    if settings.client_id not in audiences:
        raise Forbidden("The ID token is for another client.")
    if not isinstance(expires, int | float) or expires + LEEWAY_SECONDS < now:
        raise Forbidden("The ID token has expired.")
    if nonce is not None and not hmac.compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()):
        raise Forbidden("The ID token is of another login.")
    name = claims.get(settings.principal_claim)
    if not isinstance(name, str) or not name:
        raise Forbidden(f"The ID token has no claim {settings.principal_claim}.")
    return name


def expiry_of(token: str) -> float | None:
    """The end of a token that is a JWT. It is not verified here: brokers do that."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, RecursionError):
        return None
    end = claims.get("exp") if isinstance(claims, dict) else None
    return float(end) if isinstance(end, int | float) else None


def _object(document: bytes) -> dict[str, Any]:
    try:
        found = json.loads(document)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ClusterRefused("The identity provider answers with no JSON object.")
    return found
