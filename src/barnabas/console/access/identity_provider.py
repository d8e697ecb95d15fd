"""Requests to the identity provider. All functions block, and run on threads of the console."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

from barnabas.console.core.oidc import Endpoints, check_claims, client_authorization, expiry_of, read_endpoints, read_tokens, token_body
from barnabas.console.errors import ClusterRefused, Forbidden
from barnabas.console.settings import OidcSettings
from barnabas.console.web.sessions import Identity, PendingLogin
from barnabas.network.oauth.fetching import Fetch, FetchFailed, fetched
from barnabas.security.sasl.signing_keys import Unverified, parse_signing_keys

_DESCRIPTION: Final = "/.well-known/openid-configuration"


def endpoints_of(settings: OidcSettings) -> Endpoints:
    """Asked for each login: people log in seldom, and a provider may move."""
    return read_endpoints(_fetch(Fetch(settings.issuer.rstrip("/") + _DESCRIPTION)), settings.issuer)


def identity_of_code(settings: OidcSettings, code: str, pending: PendingLogin) -> Identity:
    """The person behind a code. Raises :class:`Forbidden` for tokens that are not what the login
    asked for."""
    endpoints = endpoints_of(settings)
    answer = _fetch(Fetch(endpoints.token, token_body(settings, code, pending.verifier), client_authorization(settings)))
    access, identity = read_tokens(answer)
    name = check_claims(_verified(identity, endpoints), settings, pending.nonce, time.time())
    return Identity(f"User:{name}", access, expiry_of(access))


def _verified(token: str, endpoints: Endpoints) -> Mapping[str, Any]:
    try:
        keys = parse_signing_keys(_fetch(Fetch(endpoints.keys)))
    except ValueError as error:
        raise ClusterRefused(f"The keys of the identity provider cannot be used: {error}.") from error
    claims = keys.claims(token)
    if isinstance(claims, Unverified):
        raise Forbidden(f"The ID token is refused: {claims.reason}.")
    return claims


def _fetch(fetch: Fetch) -> bytes:
    try:
        return fetched(fetch)
    except FetchFailed as failed:
        raise ClusterRefused(f"The identity provider does not answer: {failed}.") from failed
