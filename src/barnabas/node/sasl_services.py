"""The parts of SASL that live as long as the node: threads, keys of identity providers, and this
node's own tokens.

Listeners with the same settings share them. All of it is made while the node starts, and only where
a mechanism needs it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from barnabas.env.awaiting import awaited
from barnabas.env.clock import Clock
from barnabas.env.entropy import Entropy
from barnabas.env.worker import Worker
from barnabas.telemetry.logs import EventLog

if TYPE_CHECKING:
    from barnabas.network.oauth.fetching import Fetch
    from barnabas.network.oauth.key_source import KeySource

# Steps of clients' exchanges; each takes about a millisecond.
_SERVER_THREADS = 2
# This node's own logins, which may hang for as long as a KDC or an identity provider does. They
# have threads of their own, so that clients do not wait for them.
_CLIENT_THREADS = 4
_KEY_THREADS = 2
# A node that cannot fetch keys starts anyway and goes on trying: its provider may need this
# cluster.
FIRST_KEYS_SECONDS_MAX = 15.0


class SaslServices:
    def __init__(self, clock: Clock, entropy: Entropy, log: EventLog) -> None:
        self.clock = clock
        self.entropy = entropy
        self.log = log
        self.exchanges = Worker("sasl-exchange", _SERVER_THREADS)
        self.logins = Worker("sasl-login", _CLIENT_THREADS)
        self._key_worker = Worker("signing-keys", _KEY_THREADS)
        self._key_sources: dict[str, KeySource] = {}

    def key_source(self, fetch: Fetch, *, refresh_ms: int, backoff_ms: int, backoff_ms_max: int) -> KeySource:
        """One for each URL; the settings of the first listener count."""
        source = self._key_sources.get(fetch.url)
        if source is None:
            # The libraries for tokens are loaded only by a node that uses them.
            from barnabas.network.oauth.key_source import KeySource

            source = self._key_sources[fetch.url] = KeySource(
                fetch,
                self._key_worker,
                self.clock,
                self.log,
                refresh_ms=refresh_ms,
                backoff_ms=backoff_ms,
                backoff_ms_max=backoff_ms_max,
            )
        return source

    async def start(self) -> None:
        """Waits until all keys were fetched once, so that the first client is not refused."""
        sources = list(self._key_sources.values())
        for source in sources:
            source.start()
        if sources:
            await asyncio.wait([awaited(source.tried) for source in sources], timeout=FIRST_KEYS_SECONDS_MAX)

    def stop(self) -> None:
        for source in self._key_sources.values():
            source.stop()
        for worker in (self.exchanges, self.logins, self._key_worker):
            worker.close()
