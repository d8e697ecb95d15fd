"""This node's own tokens, for its connections to other nodes.

A token comes from a file, which another program renews, or from the provider's token endpoint with
a client id and secret (RFC 6749, 4.4). Connections that log in at the same time share one fetch.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from urllib.parse import urlencode

from barnabas.env.clock import Clock
from barnabas.env.worker import Worker
from barnabas.model.promise import Promise
from barnabas.network.oauth.fetching import Fetch, FetchFailed, fetched
from barnabas.security.sasl.bearer_claims import seconds_in_ms
from barnabas.security.sasl.token_cache import LIFE_MS_UNKNOWN, OwnToken, TokenCache, TokenUnavailable
from barnabas.security.sasl.unsecured_tokens import unverified_claims


class TokenSource:
    def __init__(self, fetch: Fetch, cache: TokenCache, worker: Worker, clock: Clock, read: Callable[[Fetch], bytes] = fetched) -> None:
        self._fetch = fetch
        self._read = read
        self._cache = cache
        self._worker = worker
        self._clock = clock
        self._fetching: Promise[OwnToken | TokenUnavailable] | None = None

    def token(self) -> Promise[OwnToken | TokenUnavailable]:
        usable = self._cache.usable(self._clock.wall_ms())
        if usable is not None:
            return Promise.kept(usable)
        if self._fetching is None:
            self._fetching = self._worker.run(self._ask).map(self._took)
        return self._fetching

    def _ask(self) -> str | tuple[str, int | None]:
        """A failure, or a token and how long it lives."""
        try:
            document = self._read(self._fetch)
        except FetchFailed as error:
            return str(error)
        if self._fetch.body is None:
            text = document.decode("ascii", "replace").strip()
            return (text, None) if text else f"{self._fetch.url} has no token"
        return token_in_answer(document) or f"{self._fetch.url} answered without a token"

    def _took(self, outcome: str | tuple[str, int | None]) -> OwnToken | TokenUnavailable:
        self._fetching = None
        now_ms = self._clock.wall_ms()
        if isinstance(outcome, str):
            return self._cache.failed(outcome, now_ms)
        text, life_ms = outcome
        claims = unverified_claims(text) or {}
        expires_ms = seconds_in_ms(claims.get("exp"))
        if expires_ms is None:
            expires_ms = now_ms + (life_ms if life_ms is not None else LIFE_MS_UNKNOWN)
        if expires_ms <= now_ms:
            return self._cache.failed("the token that this node got has expired", now_ms)
        return self._cache.succeeded(OwnToken(text, now_ms, expires_ms))


def client_credentials(client_id: str, client_secret: str, scope: str | None) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a request for a token."""
    asked = {"grant_type": "client_credentials", **({"scope": scope} if scope else {})}
    identity = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode("ascii")
    headers = {"Authorization": f"Basic {identity}", "Content-Type": "application/x-www-form-urlencoded", "Cache-Control": "no-cache"}
    return urlencode(asked).encode(), headers


def token_in_answer(document: bytes) -> tuple[str, int | None] | None:
    try:
        answer = json.loads(document)
    except (ValueError, RecursionError):
        return None
    if not isinstance(answer, dict):
        return None
    token = answer.get("access_token") or answer.get("id_token")
    return (token, seconds_in_ms(answer.get("expires_in"))) if isinstance(token, str) and token else None
