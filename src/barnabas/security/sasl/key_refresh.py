"""When the keys of an identity provider are fetched again.

    refresh_ms after a good fetch          backoff after a failed one, doubling up to its limit
    at once for a key id that is missing   but once per id and minute, and once a second at most

Keys that were fetched stay in use while the provider cannot be reached. Times are monotonic.
"""

from __future__ import annotations

from barnabas.security.sasl.signing_keys import SigningKeys

# Kafka's numbers. A client chooses the key ids of its tokens, so neither their number nor their
# length may cost memory.
MISSING_IDS_MAX = 16
MISSING_ID_MS = 60_000
ID_LENGTH_MAX = 1000
# A client that invents a new id for every token would otherwise make this node flood the provider.
FETCH_INTERVAL_MS_MIN = 1000


class KeyRefresh:
    def __init__(self, *, refresh_ms: int, backoff_ms: int, backoff_ms_max: int, now_ms: int) -> None:
        self.keys: SigningKeys | None = None
        self.due_ms = now_ms
        self._refresh_ms = max(refresh_ms, FETCH_INTERVAL_MS_MIN)
        self._backoff_ms = max(backoff_ms, 1)
        self._backoff_ms_max = max(backoff_ms_max, backoff_ms, 1)
        self._next_backoff_ms = self._backoff_ms
        self._fetched_ms: int | None = None
        # When each id may cause a fetch again, the oldest first.
        self._missing: dict[str, int] = {}

    def succeeded(self, keys: SigningKeys, now_ms: int) -> None:
        self.keys = keys
        self._next_backoff_ms = self._backoff_ms
        self._fetched_ms = now_ms
        self.due_ms = now_ms + self._refresh_ms

    def failed(self, now_ms: int) -> None:
        self._fetched_ms = now_ms
        self.due_ms = now_ms + self._next_backoff_ms
        self._next_backoff_ms = min(2 * self._next_backoff_ms, self._backoff_ms_max)

    def missing(self, key_id: str, now_ms: int) -> bool:
        """A token names a key that is not there. Returns whether :attr:`due_ms` moved."""
        if len(key_id) > ID_LENGTH_MAX or self._missing.get(key_id, now_ms) > now_ms:
            return False
        self._missing.pop(key_id, None)
        self._missing[key_id] = now_ms + MISSING_ID_MS
        while len(self._missing) > MISSING_IDS_MAX:
            del self._missing[next(iter(self._missing))]
        early_ms = now_ms if self._fetched_ms is None else max(now_ms, self._fetched_ms + FETCH_INTERVAL_MS_MIN)
        if early_ms >= self.due_ms:
            return False
        self.due_ms = early_ms
        return True
