"""Requests to the identity provider. All functions block, and run on threads of the console."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.error import HTTPError

from barnabas.console.core.oidc import (
    Endpoints,
    check_claims,
    client_authorization,
    end_of,
    read_endpoints,
    read_tokens,
    refresh_body,
    token_body,
)
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
    tokens = read_tokens(answer)
    if tokens.identity is None:
        raise ClusterRefused("The identity provider answers without tokens.")
    name = check_claims(_verified(tokens.identity, endpoints), settings, pending.nonce, time.time())
    return Identity(f"User:{name}", tokens.access, end_of(tokens, time.time()), tokens.refresh)


def renewed_identity(settings: OidcSettings, identity: Identity) -> Identity:
    """The same person with a new token. A provider that rotates refresh tokens sends a new one, and
    the old one is worth nothing then. Raises :class:`Forbidden` when the provider refuses."""
    assert identity.refresh_token is not None
    endpoints = endpoints_of(settings)
    body = refresh_body(settings, identity.refresh_token)
    try:
        answer = fetched(Fetch(endpoints.token, body, client_authorization(settings)))
    except FetchFailed as failed:
        sentence = f"The identity provider does not go on with the login: {failed}."
        # A status of the provider is its decision; anything else is a provider that is away.
        raise Forbidden(sentence) if isinstance(failed.__cause__, HTTPError) else ClusterRefused(sentence) from failed
    tokens = read_tokens(answer)
    if tokens.identity is not None:
        name = check_claims(_verified(tokens.identity, endpoints), settings, None, time.time())
        if f"User:{name}" != identity.principal:
            raise Forbidden("The identity provider goes on with the login of another person.")
    return Identity(identity.principal, tokens.access, end_of(tokens, time.time()), tokens.refresh or identity.refresh_token)


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
