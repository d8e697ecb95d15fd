"""The keys of an identity provider, kept fresh in the background.

Verifying a token never waits: it uses the keys that are there. A token with an unknown key id is
refused and makes the keys be fetched early, so that the client's next attempt succeeds after the
provider changed its keys.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

from barnabas.env.clock import Clock
from barnabas.env.worker import Worker
from barnabas.model.promise import Promise
from barnabas.network.oauth.fetching import Fetch, FetchFailed, fetched
from barnabas.security.sasl.key_refresh import KeyRefresh
from barnabas.security.sasl.signing_keys import SigningKeys, Unverified, parse_signing_keys
from barnabas.telemetry.logs import EventLog


class KeySource:
    def __init__(
        self,
        fetch: Fetch,
        worker: Worker,
        clock: Clock,
        log: EventLog,
        *,
        refresh_ms: int,
        backoff_ms: int,
        backoff_ms_max: int,
        read: Callable[[Fetch], bytes] = fetched,
    ) -> None:
        self._fetch = fetch
        self._read = read
        self._worker = worker
        self._clock = clock
        self._log = log
        self._refresh = KeyRefresh(refresh_ms=refresh_ms, backoff_ms=backoff_ms, backoff_ms_max=backoff_ms_max, now_ms=clock.monotonic_ms())
        self._timer: asyncio.TimerHandle | None = None
        self._fetching = False
        self._stopped = False
        # Resolved when the first fetch has ended, with the reason if it failed.
        self.tried: Promise[str | None] = Promise()

    def start(self) -> None:
        self._begin()

    def stop(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def claims(self, token: str) -> Mapping[str, object] | Unverified:
        keys = self._refresh.keys
        if keys is None:
            return Unverified("the keys of the identity provider were not fetched yet")
        found = keys.claims(token)
        if isinstance(found, Unverified) and found.missing is not None and self._refresh.missing(found.missing, self._clock.monotonic_ms()):
            self._schedule()
        return found

    def _schedule(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._stopped or self._fetching:
            return
        wait_ms = max(0, self._refresh.due_ms - self._clock.monotonic_ms())
        self._timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self._begin)

    def _begin(self) -> None:
        self._fetching = True
        self._worker.run(self._fetch_keys).then(self._took)

    def _fetch_keys(self) -> SigningKeys | str:
        try:
            return parse_signing_keys(self._read(self._fetch))
        except (FetchFailed, ValueError) as error:
            return str(error)

    def _took(self, outcome: SigningKeys | str) -> None:
        self._fetching = False
        now_ms = self._clock.monotonic_ms()
        if isinstance(outcome, str):
            self._refresh.failed(now_ms)
            in_use = len(self._refresh.keys) if self._refresh.keys is not None else 0
            self._log.warning("keys of the identity provider not fetched", url=self._fetch.url, reason=outcome, keys_in_use=in_use)
        else:
            self._refresh.succeeded(outcome, now_ms)
        if not self.tried.done:
            self.tried.resolve(outcome if isinstance(outcome, str) else None)
        self._schedule()
