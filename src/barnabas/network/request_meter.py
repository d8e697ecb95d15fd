"""The use of one request by a client that has quotas, and how long the client waits for it.

The dispatcher makes one for each request of such a client, and none for any other client. Handlers
report what only they know: how much data a fetch would return, and how many partitions a request
created on the way. Everything else is recorded when the response is complete.
"""

from __future__ import annotations

from time import thread_time_ns
from typing import Any

from barnabas.env.clock import Clock
from barnabas.security.quotas.client_quotas import FETCHED, MUTATIONS, PRODUCED, REQUESTS, ClientLimits, ClientQuotas


class RequestMeter:
    __slots__ = ("_clock", "_counted_ns", "_limits", "_quotas", "_started_ns", "_user_and_client", "_wait_ms", "_waits_for", "exempt")

    def __init__(self, quotas: ClientQuotas, limits: ClientLimits, clock: Clock, user: str, client_id: str) -> None:
        self._quotas = quotas
        self._limits = limits
        self._clock = clock
        self._user_and_client = (user, client_id)
        self._started_ns = thread_time_ns() if limits.requests is not None else 0
        self._counted_ns = 0
        self._wait_ms = 0
        self._waits_for = REQUESTS
        # Set for requests of brokers, which no quota may slow down.
        self.exempt = False

    # -- what handlers report ----------------------------------------------------------------------

    def fetch_bytes_max(self) -> int:
        return self._quotas.fetch_bytes_max(self._limits)

    def fetched(self, size_bytes: int) -> bool:
        """Whether a response of this size may carry its data now."""
        self._count_processor()
        wait_ms, passes = self._quotas.fetched(self._limits, size_bytes, self._clock.monotonic_ms(), must_wait=self._wait_ms > 0)
        self._wait(FETCHED, wait_ms)
        return passes

    def delivered(self, size_bytes: int) -> None:
        """Data that the response carries in any case; the client waits afterwards."""
        self._count_processor()
        self._wait(FETCHED, self._quotas.delivered(self._limits, size_bytes, self._clock.monotonic_ms()))

    def mutated(self, partitions: int) -> None:
        """Partitions that were created although the client did not ask for them by CreateTopics."""
        now_ms = self._clock.monotonic_ms()
        quota = self._quotas.mutation_quota(*self._user_and_client, strict=False, now_ms=now_ms)
        if quota is not None:
            quota.take(partitions)
            self._wait(MUTATIONS, quota.throttle_ms)

    # -- the handler has returned, and the response is complete ------------------------------------

    def pause(self) -> None:
        """The handler has returned a promise: until the response, other requests use the
        processor."""
        if self._started_ns:
            self._counted_ns += thread_time_ns() - self._started_ns
            self._started_ns = 0

    def resume(self) -> None:
        if self._limits.requests is not None:
            self._started_ns = thread_time_ns()

    def produced(self, size_bytes: int) -> None:
        self._wait(PRODUCED, self._quotas.produced(self._limits, size_bytes, self._clock.monotonic_ms()))

    def finish(self, response: Any) -> int:
        """How long the client must wait, in milliseconds; the response says so where it can.

        A response that already has a wait was made by the controller. A request without a response
        does not use the quota of the processor, as in Kafka.
        """
        if self.exempt:
            return 0
        if response is not None:
            self._wait(MUTATIONS, getattr(response, "throttle_time_ms", 0))
            self._count_processor()
        wait_ms = self._wait_ms
        if wait_ms:
            self._quotas.waited(self._waits_for, self._limits, wait_ms, self._clock.monotonic_ms())
            if hasattr(response, "throttle_time_ms"):
                response.throttle_time_ms = wait_ms
        return wait_ms

    def _count_processor(self) -> None:
        if self._limits.requests is None:
            return
        self.pause()
        used_ns, self._counted_ns = self._counted_ns, 0
        if used_ns:
            self._wait(REQUESTS, self._quotas.used(self._limits, used_ns, self._clock.monotonic_ms()))

    def _wait(self, kind: str, wait_ms: int) -> None:
        """The longest of all waits counts, as the reason for it."""
        if wait_ms > self._wait_ms:
            self._wait_ms, self._waits_for = wait_ms, kind
