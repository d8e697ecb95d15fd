"""This node's own token: kept for a part of its life, then asked for again.

While the identity provider cannot be reached, the old token is used until it ends; without one,
logins fail at once until the backoff is over. Times are those of the wall clock, since tokens are.
"""

from __future__ import annotations

from dataclasses import field

from barnabas.model.dataclass import dataclass

# A token that does not say when it ends is asked for again after this time.
LIFE_MS_UNKNOWN = 60_000


@dataclass(frozen=True, slots=True)
class OwnToken:
    text: str = field(repr=False)
    obtained_ms: int
    expires_ms: int


@dataclass(frozen=True, slots=True)
class TokenUnavailable:
    reason: str


class TokenCache:
    def __init__(self, *, part_used: float, backoff_ms: int, backoff_ms_max: int) -> None:
        """``part_used`` of its life a token is used before another one is asked for."""
        self._part_used = part_used
        self._backoff_ms = max(1, backoff_ms)
        self._backoff_ms_max = max(1, backoff_ms, backoff_ms_max)
        self._next_backoff_ms = self._backoff_ms
        self._token: OwnToken | None = None
        self._failure = TokenUnavailable("no token was asked for yet")
        self._retry_ms = 0

    def usable(self, now_ms: int) -> OwnToken | TokenUnavailable | None:
        """None asks the caller to fetch one."""
        token = self._token
        fresh_until_ms = token.obtained_ms + (token.expires_ms - token.obtained_ms) * self._part_used if token is not None else 0
        if token is not None and now_ms < fresh_until_ms:
            return token
        return None if now_ms >= self._retry_ms else self._rest(now_ms)

    def succeeded(self, token: OwnToken) -> OwnToken:
        self._token = token
        self._next_backoff_ms = self._backoff_ms
        return token

    def failed(self, reason: str, now_ms: int) -> OwnToken | TokenUnavailable:
        """What a login uses instead."""
        self._failure = TokenUnavailable(reason)
        self._retry_ms = now_ms + self._next_backoff_ms
        self._next_backoff_ms = min(2 * self._next_backoff_ms, self._backoff_ms_max)
        return self._rest(now_ms)

    def _rest(self, now_ms: int) -> OwnToken | TokenUnavailable:
        return self._token if self._token is not None and now_ms < self._token.expires_ms else self._failure
